//! Compiles the C++ shim.

fn main() {
    println!("cargo:rerun-if-changed=src/shim.cpp");
    cc::Build::new().cpp(true).file("src/shim.cpp").opt_level(2).compile("unravel_shim");
}
