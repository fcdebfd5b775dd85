//! Programs that use everything: nothing of it traps, whatever the optimisation.

mod support;

use support::{OBSERVED, OPTIMISED, VECTORISED, load_file, source, traps};

#[test]
fn c_at_every_level() {
    for flags in [OBSERVED, OPTIMISED, VECTORISED] {
        let program = load_file(&source("features.c"), flags);
        assert_eq!(traps(&program), Vec::<String>::new(), "with {flags:?}");
        assert!(program.main.is_some());
    }
}

#[test]
fn cpp_at_every_level() {
    for flags in [OBSERVED, OPTIMISED, VECTORISED] {
        let program = load_file(&source("features.cpp"), flags);
        assert_eq!(traps(&program), Vec::<String>::new(), "with {flags:?}");
        assert!(program.main.is_some());
    }
}

#[test]
fn vectors_of_the_widest_machine() {
    let flags = ["-O3", "-g", "-mcx16", "-mavx2", "-w"];
    let program = load_file(&source("features.c"), &flags);
    assert_eq!(traps(&program), Vec::<String>::new());
}
