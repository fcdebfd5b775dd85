//! The table as a page. A table of the whole corpus takes an hour, so it is made in slices: rows that were measured now replace those of
//! the same programs, all others stay, and what is said above the table is counted anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use xtask::error::Error;

use super::{Became, Row};

const TITLE: &str = "# From native failures to confirmed ones\n";
const HEAD: &str = "| program | native runs | how it ended | from its log alone | seconds |\n|---|---|---|---|---|\n";

const SILENT: &str = "did not fail";
const LEFT: &str = "not run";

/// Replaces the rows of these programs.
pub fn update(path: &Path, rows: &[(String, Row)]) -> Result<(), Error> {
    let file = |source| Error::File { path: path.to_owned(), source };
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(file(error)),
    };
    let mut all = lines(&old);
    all.extend(rows.iter().map(|(name, row)| (name.clone(), line(name, row))));
    std::fs::write(path, page(&all)).map_err(file)
}

/// The rows of a page, by program.
fn lines(page: &str) -> BTreeMap<String, String> {
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let name = |row: &str| row.split('|').nth(1).unwrap_or_default().trim().to_owned();
    rows.map(|row| (name(row), row.to_owned())).collect()
}

fn line(name: &str, row: &Row) -> String {
    match row {
        Row::Left(why) => format!("| {name} | – | {LEFT}: {} | – | – |", why.replace('|', "/")),
        Row::Silent { runs } => format!("| {name} | {runs} | {SILENT} | – | – |"),
        Row::Failed { runs, status, became, took } => {
            let told = match became {
                Became::Same(what) => format!("same: {what}"),
                Became::Other(what) => format!("**other**: {what}"),
                Became::Not(why) => format!("**not**: {}", why.replace('|', "/")),
            };
            format!("| {name} | {runs} | {status} | {told} | {:.1} |", took.as_secs_f64())
        }
    }
}

fn page(rows: &BTreeMap<String, String>) -> String {
    let with = |text: &str| rows.values().filter(|row| row.contains(text)).count();
    let (same, other, not) = (with("| same: "), with("| **other**: "), with("| **not**: "));
    let (silent, left) = (with(&format!("| {SILENT} |")), with(&format!("| {LEFT}: ")));
    let failed = same + other + not;
    let mut text = format!(
        "{TITLE}\n`cargo xtask bench rebuild --page docs/rebuilding.md [FILTER]` makes this page, or renews its rows of some programs. Every program of \
         the corpus is built by\n`unravel-cc -O2` and runs natively, recorded, with random delays from a preloaded library, until it fails by an \
         assertion, a crash or a hang\n(SIGQUIT closes the log of a hang after two seconds). Then `unravel diagnose LOG` gets the log and the inputs, and \
         nothing else. *Same*: a run of\nthe machine keeps to every recorded branch and ends as recorded, with a failure of the kind and at a line that the corpus \
         expects. *Other*: it ends\nas recorded, at another line or by what the corpus calls otherwise. Exit codes are no native failure here, and memory errors that the \
         system does\nnot notice are none either: such programs are among those that did not fail.\n\n"
    );
    let _ = writeln!(
        text,
        "**Of {failed} programs that failed natively {same} are the same failure from the log alone, {other} another; {not} not rebuilt.** {silent} did not fail, \
         {left} cannot be run so.\n"
    );
    text.push_str(HEAD);
    rows.values().for_each(|row| text.extend([row, "\n"]));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_replaces_its_own_rows_and_is_counted() {
        let silent = line("a/b", &Row::Silent { runs: 7 });
        let first = page(&BTreeMap::from([
            ("a/b".to_owned(), silent.clone()),
            ("c/d".to_owned(), line("c/d", &Row::Left("no | compiler".to_owned()))),
        ]));
        let mut rows = lines(&first);
        assert_eq!(rows.get("a/b"), Some(&silent));
        assert_eq!(rows.len(), 2);
        let status = std::os::unix::process::ExitStatusExt::from_raw(6);
        let (became, took) = (Became::Same("x at y.c:1".to_owned()), std::time::Duration::ZERO);
        rows.insert("a/b".to_owned(), line("a/b", &Row::Failed { runs: 2, status, became, took }));
        let second = page(&rows);
        assert!(second.contains("Of 1 programs that failed natively 1 are"), "{second}");
        assert!(second.contains("0 did not fail, 1 cannot"), "{second}");
    }
}
