//! What is and is not a program.

mod support;

use support::{OBSERVED, bitcode, load_c, source};
use unravel_program::{LoadError, load};

#[test]
fn rejects_what_is_not_bitcode() {
    for bytes in [&b""[..], b"\x7fELF\x02\x01\x01", b"int main() {}", b"BC"] {
        let error = load(bytes).expect_err("not a program");
        assert!(matches!(error, LoadError::NotBitcode { .. }), "{error}");
        assert!(error.to_string().contains("-emit-llvm"), "{error}");
    }
}

#[test]
fn rejects_broken_bitcode_with_llvm_s_reason() {
    let whole = bitcode(&source("names.c"), OBSERVED);
    for length in [8, 100, whole.len() / 2, whole.len() - 100] {
        match load(&whole[..length & !3]) {
            Err(LoadError::Unreadable { message }) => assert!(!message.is_empty()),
            Err(other) => panic!("cut to {length}: {other}"),
            Ok(_) => panic!("cut to {length} bytes it still loads"),
        }
    }
    let mut garbage = whole[..16].to_vec();
    garbage.extend((0..4096u32).flat_map(|i| (i.wrapping_mul(0x9e37_79b9)).to_le_bytes()));
    assert!(load(&garbage).is_err());
}

#[test]
fn rejects_other_targets() {
    for target in ["aarch64-linux-gnu", "i686-linux-gnu", "x86_64-pc-windows-msvc"] {
        let target = format!("--target={target}");
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("other.c");
        std::fs::write(&file, "int main(void) { return 0; }").expect("written");
        let error = load(&bitcode(&file, &[&target])).expect_err("cannot run here");
        assert!(matches!(error, LoadError::Target { .. }), "{error}");
        assert!(error.to_string().contains("x86"), "{error}");
    }
}

#[test]
fn fingerprint_depends_on_the_bitcode_alone() {
    let text = "int main(void) { return 0; }";
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("same.c");
    std::fs::write(&file, text).expect("written");
    let bytes = bitcode(&file, OBSERVED);
    let one = load(&bytes).expect("loads").fingerprint;
    assert_eq!(one, load(&bytes).expect("loads").fingerprint);
    assert_ne!(one, load_c("int main(void) { return 1; }", OBSERVED).fingerprint);
}

#[test]
fn several_threads_may_load_at_once() {
    let bytes = bitcode(&source("names.c"), OBSERVED);
    std::thread::scope(|scope| {
        let loads: Vec<_> = (0..4).map(|_| scope.spawn(|| load(&bytes).expect("loads"))).collect();
        for program in loads {
            let program = program.join().expect("no panic");
            assert!(program.main.is_some());
        }
    });
}
