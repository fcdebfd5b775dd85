//! How files are called where several bugs, or several lines, are shown together: by their base names, and by just as
//! much more of their paths as it takes to tell them apart.
//!
//! A name stands for one file in the whole list, also where the lines would differ: nobody should have to guess whether
//! `util.c:12` and `util.c:30` are in one file. Such a name can be written into `unravel.toml` as it is; only the name of
//! a file without a folder (`util.c` beside `d1/util.c`) means both there.

use std::collections::BTreeSet;
use std::sync::Arc;

use unravel_results::{Causes, Explanation, Hunt};
use unravel_trace::{BugId, Failure, Place, SourceLine};

/// The files that are shown together. Others are called by their base names.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    files: BTreeSet<Arc<str>>,
}

impl FileNames {
    pub fn of(lines: impl IntoIterator<Item = SourceLine>) -> FileNames {
        let lines = lines.into_iter().filter(|line| line.line != 0);
        FileNames { files: lines.map(|line| line.file).collect() }
    }

    /// For the ids of bugs, whose text says no more than their places.
    pub fn of_bugs<'a>(bugs: impl IntoIterator<Item = &'a BugId>) -> FileNames {
        FileNames::of(bugs.into_iter().flat_map(|bug| bug.places.iter().cloned()))
    }

    /// For failures with all calls that led to them. The headers of the system, which lists leave out, lengthen no name.
    pub fn of_failures<'a>(failures: impl IntoIterator<Item = &'a Failure>) -> FileNames {
        let places = failures.into_iter().flat_map(|failure| {
            let related = failure.related.iter().flat_map(|related| &related.stack);
            failure.stack.iter().chain(related)
        });
        FileNames::of(places.filter(|place| !place.is_system()).map(SourceLine::from))
    }

    /// `bank.c:31`, or `d1/util.c:12` where `d2/util.c` is shown too.
    pub fn line(&self, line: &SourceLine) -> String {
        line.shown(self.file(&line.file))
    }

    /// The same of a place, also of one that nothing is known of.
    pub fn place(&self, place: &Place) -> String {
        match (place.line, place.function.is_empty()) {
            (0, true) => "(no line information)".to_owned(),
            _ => self.line(&place.into()),
        }
    }

    /// A bug in words.
    pub fn bug(&self, bug: &BugId) -> String {
        bug.shown(|line| self.line(line))
    }

    fn file<'f>(&self, file: &'f str) -> &'f str {
        let others = || self.files.iter().filter(|other| ***other != *file);
        let tells = |parts: &usize| others().all(|other| end(other, *parts) != end(file, *parts));
        let enough = (1..=file.split('/').count()).find(tells);
        enough.map_or(file, |parts| end(file, parts))
    }
}

/// The last parts of a path.
fn end(file: &str, parts: usize) -> &str {
    file.rmatch_indices('/').nth(parts - 1).map_or(file, |(at, _)| &file[at + 1..])
}

/// For the bugs of an explanation.
pub fn of_explanation(explanation: &Explanation) -> FileNames {
    FileNames::of_bugs(explanation.bugs.iter().map(|bug| &bug.id))
}

/// For the bugs of causes.
pub fn of_causes(causes: &Causes) -> FileNames {
    FileNames::of_bugs(causes.bugs.iter().map(|bug| &bug.id))
}

/// For the lines of causes that are listed together.
pub fn of_orders(causes: &Causes) -> FileNames {
    let unique = causes.unique.iter().map(|order| (order.first.clone(), order.second.clone()));
    let classes = causes.classes.iter().flat_map(|class| &class.causes);
    let all = unique.chain(classes.flat_map(|cause| cause.orders.iter().map(|o| o.lines())));
    FileNames::of(all.flat_map(|(first, second)| [first, second]))
}

/// For the failures of a hunt.
pub fn of_hunt(hunt: &Hunt) -> FileNames {
    let ids: Vec<BugId> = hunt.exposed.iter().map(|exposed| exposed.failure.id()).collect();
    FileNames::of_bugs(&ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::FailureKind;

    fn line(file: &str, line: u32) -> SourceLine {
        SourceLine { file: file.into(), line, function: "".into() }
    }

    fn shown(files: &[&str]) -> Vec<String> {
        let lines: Vec<SourceLine> = files.iter().map(|file| line(file, 12)).collect();
        let names = FileNames::of(lines.clone());
        lines.iter().map(|line| names.line(line)).collect()
    }

    #[test]
    fn a_name_is_as_long_as_it_has_to_be() {
        assert_eq!(shown(&["src/bank.c", "src/main.c"]), ["bank.c:12", "main.c:12"]);
        assert_eq!(shown(&["d1/util.c", "d2/util.c"]), ["d1/util.c:12", "d2/util.c:12"]);
        assert_eq!(shown(&["/p/d1/util.c", "/p/d2/util.c"]), ["d1/util.c:12", "d2/util.c:12"]);
        assert_eq!(shown(&["a/x/util.c", "b/x/util.c"]), ["a/x/util.c:12", "b/x/util.c:12"]);
        assert_eq!(shown(&["util.c", "d1/util.c"]), ["util.c:12", "d1/util.c:12"]);
        assert_eq!(shown(&["/util.c", "d1/util.c"]), ["/util.c:12", "d1/util.c:12"]);
        assert_eq!(shown(&["til.c", "util.c"]), ["til.c:12", "util.c:12"]);
    }

    #[test]
    fn a_bug_at_two_files_of_one_name_shows_both() {
        let places = vec![line("d1/util.c", 12), line("d2/util.c", 12)];
        let bug = BugId { kind: FailureKind::Deadlock, places };
        let names = FileNames::of_bugs([&bug]);
        assert_eq!(names.bug(&bug), "deadlock at d1/util.c:12 and d2/util.c:12");
        assert_eq!(names.line(&line("d3/util.c", 4)), "d3/util.c:4", "not of the list");
    }
}
