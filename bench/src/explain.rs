//! `cargo xtask bench explain`: how long a user waits for a report once the bug was found.
//!
//! The whole command as users have it, with the search limits of the corpus tests. What counts is the time after the
//! search, which goes on for a moment after its first bug: compiling (from the cache), diagnosing every bug, writing the
//! files. Searches have one worker.

use xtask::corpus::{self, Measured};
use xtask::error::Error;
use xtask::workspace::{self, Profile};

pub fn run(filter: Option<&str>) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let (mut cases, mut confirmed) = (0, 0);
    let mut slowest = (0.0, String::new());
    println!("{:32} {:>5} {:>10} {:>9} {:>9}", "program", "bugs", "confirmed", "search", "after");
    for path in corpus::cases(filter)? {
        let name = corpus::name(&path);
        let scratch = tempfile::tempdir()
            .map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
        cases += 1;
        // The first time fills the cache of compiled programs.
        let measured = corpus::measure(&tool, &path, scratch.path())
            .and_then(|_| corpus::measure(&tool, &path, scratch.path()));
        let Measured { bugs, confirmed: good, whole, search, .. } = match measured {
            Ok(measured) => measured,
            Err(problem) => {
                println!("{name}: {problem}");
                continue;
            }
        };
        let after = whole - search;
        println!("{name:32} {bugs:>5} {good:>10} {search:>7.2} s {after:>7.2} s");
        confirmed += u32::from(bugs > 0 && bugs == good);
        if after > slowest.0 {
            slowest = (after, name);
        }
    }
    let (seconds, name) = slowest;
    println!(
        "explain: {confirmed} of {cases} confirmed, slowest {name} {seconds:.2} s after its search"
    );
    Ok(())
}
