//! Compiles the runtime of recorded programs to one object file, which is embedded in the binary.
//!
//! It is compiled by `rustc` itself, not as a dependency: an object, unlike a static library, has nothing of `core` with it, and needs
//! nothing, because the runtime has no code that could panic. Whether that holds is checked here, so that a change which breaks it does
//! not show as a linker's error in some user's build.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("crates/").to_path_buf();
    let source = crates.join("runtime/src");
    println!("cargo:rerun-if-changed={}", source.display());
    for shared in ["recording/src/layout.rs", "recording/src/vectors.rs"] {
        println!("cargo:rerun-if-changed={}", crates.join(shared).display());
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    compile(&source, &out.join("runtime.o"), &[]);
    compile(&source, &out.join("runtime-vectors.o"), &["--cfg", "feature=\"vectors\""]);
}

fn compile(source: &Path, object: &Path, more: &[&str]) {
    let rustc = std::env::var_os("RUSTC").expect("cargo sets it");
    let status = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--crate-name",
            "unravel_runtime",
            "--emit",
            "obj",
        ])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "relocation-model=pic"])
        .args([
            "-C",
            "codegen-units=1",
            "-C",
            "force-unwind-tables=yes",
            "--target",
            "x86_64-unknown-linux-gnu",
        ])
        .args(more)
        .arg("-o")
        .arg(object)
        .arg(source.join("lib.rs"))
        .status()
        .expect("rustc can be started");
    assert!(status.success(), "the runtime does not compile");
    assert_needs_only_c(object);
}

/// Symbols of Rust's own libraries begin with `_R` or `_ZN4core`.
fn assert_needs_only_c(object: &Path) {
    let bytes = std::fs::read(object).expect("it was just written");
    for needle in [&b"_RNvNt"[..], b"_ZN4core", b"rust_eh_personality", b"rust_begin_unwind"] {
        let found = bytes.windows(needle.len()).any(|window| window == needle);
        let name = String::from_utf8_lossy(needle);
        assert!(!found || name == "_RNvNt" && !mentions_core(&bytes), "the runtime needs {name}…");
    }
}

/// Its own functions have such names too; those of `core` have its name in them.
fn mentions_core(bytes: &[u8]) -> bool {
    let panics = b"4core9panicking";
    bytes.windows(panics.len()).any(|window| window == panics)
}
