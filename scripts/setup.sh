# Sourced by ./demo, ./test and .ci/run: makes sure that everything needed to build and run is here, and with
# want_tests=yes what the tests need besides.
#
# Installs the Debian packages that are missing, as root or with a sudo that asks for no password. Without
# either it prints the one line to type and ends with exit code 2. Quiet if there is nothing to do.

# What a machine with only Rust and gcc lacks.
packages=(
  clang-19    # compiles the programs under test to bitcode
  llvm-19-dev # libLLVM, which reads it, and llvm-link
  libffi-dev  # calls of native functions
  libz3-dev   # the reference solver of diagnoses
  g++         # a small C++ part of the machine, and the headers for C++ programs
  libbz2-dev  # for corpus/real/pbzip2 only
)
# What only the tests need; `./demo` does without.
if [ "${want_tests:-}" = yes ]; then
  packages+=(
    chromium # looks at the HTML report
    make     # builds the projects that are tried
  )
fi
# The oldest Rust that compiles the project.
oldest_rust=1.88

say() { printf '%s\n' "$*" >&2; }

check_rust() {
  if ! command -v cargo >/dev/null && [ -x "${HOME:-}/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
  fi
  if ! command -v cargo >/dev/null; then
    say "Rust is not installed. Install it with rustup, then try again."
    exit 2
  fi
  local version
  version=$(cargo --version | cut -d' ' -f2)
  if [ "$(printf '%s\n' "$oldest_rust" "$version" | sort -V | head -n 1)" != "$oldest_rust" ]; then
    say "Rust $version is too old, $oldest_rust or newer is needed: rustup update"
    exit 2
  fi
}

# Prints the packages that are not installed.
missing_packages() {
  local package
  for package in "${packages[@]}"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s ' "$package"
    fi
  done
}

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is no Debian or Ubuntu, so nothing is installed by itself. Needed: LLVM 19 with clang and"
    say "headers, libffi, libz3, a C++ compiler, libbz2, for the tests Chromium; and LLVM_SYS_191_PREFIX in .cargo/config.toml set to it."
    return
  fi
  local missing line root=()
  missing=$(missing_packages)
  missing=${missing% }
  if [ -z "$missing" ]; then
    return
  fi
  line="apt-get update && apt-get install -y --no-install-recommends $missing"
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      root=(sudo -n)
    else
      say "Some packages are missing, and installing them needs root:"
      say "  sudo sh -c '$line'"
      exit 2
    fi
  fi
  say "==> installing $missing"
  local log
  log=$(mktemp)
  if ! "${root[@]}" apt-get update -q >"$log" 2>&1; then
    say "apt-get update reports a problem (going on):"
    tail -n 3 "$log" >&2
  fi
  if [ -z "$(apt-cache madison clang-19 2>/dev/null)" ]; then
    no_clang "$missing"
    rm -f "$log"
    exit 2
  fi
  # shellcheck disable=SC2086 # the names are words
  if ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends $missing >"$log" 2>&1; then
    say "apt-get could not install them:"
    tail -n 15 "$log" >&2
    rm -f "$log"
    exit 2
  fi
  rm -f "$log"
}

# For releases that are too old to have the package.
no_clang() {
  local name
  name=$(. /etc/os-release 2>/dev/null && printf '%s' "${PRETTY_NAME:-}")
  say "${name:-This release} has no package clang-19. Debian 12 and later and Ubuntu 24.04 and later have it"
  say "(Ubuntu in 'universe'). For other releases, install LLVM 19 from its own packages, and then:"
  say "  sudo apt-get install -y $1"
}

check_rust
install_packages
