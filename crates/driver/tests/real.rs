//! Real programs, whose sources are not ours to keep here: decoded exactly. `UNRAVEL_REAL_BUILD` has the compiler's arguments,
//! `UNRAVEL_REAL_RUN` the program's, both separated by white space.

mod support;

use support::build;

#[test]
#[ignore = "needs the sources of a program, named by UNRAVEL_REAL_BUILD"]
fn a_real_program_decodes_exactly() {
    let words = |name: &str| -> Vec<String> {
        let value = std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
        value.split_whitespace().map(str::to_owned).collect()
    };
    let (sources, arguments) = (words("UNRAVEL_REAL_BUILD"), words("UNRAVEL_REAL_RUN"));
    let built = build(&sources.iter().map(String::as_str).collect::<Vec<_>>());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let status = built.run(&arguments, 0);
    assert!(status.success(), "{status}");
    let begun = std::time::Instant::now();
    let branches = built.assert_exact("the program");
    println!("{branches} branches, exact, compared in {:.1} s", begun.elapsed().as_secs_f64());
}
