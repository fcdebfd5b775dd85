//! One file: marks, events, conditions. Names are taken apart here; expressions stay text.
//!
//! What is no event, no mark and no condition is passed over and counted ([`ThreadFile::unknown`]), but for lines that would be an
//! operation on memory or on a sync object: without them an order would be computed that never was possible.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unravel_trace::Place;

use super::ImportError;
use super::number::{ThreadNumber, number};

/// What one file says.
#[derive(Debug)]
pub(super) struct ThreadFile {
    pub id: ThreadNumber,
    pub path: PathBuf,
    /// Whether the assertion is this thread's, and how it went.
    pub assertion: Option<Assertion>,
    pub events: Vec<Line>,
    pub conditions: Vec<Text>,
    /// By branch: how many of the events come before it.
    pub branches: Vec<usize>,
    /// Which way the thread went at each of its branches, if the file says so.
    pub outcomes: Option<Vec<u32>>,
    /// Lines that nobody understands.
    pub unknown: Vec<usize>,
}

impl ThreadFile {
    pub fn error(&self, line: usize, what: impl Into<String>) -> ImportError {
        ImportError::Line { file: self.path.clone(), line, what: what.into() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Assertion {
    /// The thread's last condition is the bug.
    Fails,
    /// Its negation is.
    Holds,
}

#[derive(Debug)]
pub(super) struct Line {
    /// Where in the file.
    pub number: usize,
    /// Where in the program.
    pub place: Place,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Start,
    Exit,
    Lock(String),
    Unlock(String),
    Fork(ThreadNumber),
    Join(ThreadNumber),
    Wait {
        object: String,
        timed: bool,
    },
    Signal(String),
    Broadcast(String),
    /// `symbol` is the whole name, without `R-`.
    Read {
        variable: String,
        symbol: String,
    },
    Write {
        variable: String,
        value: Text,
    },
}

/// An expression, not yet read.
#[derive(Debug)]
pub(super) struct Text {
    pub line: usize,
    pub form: Form,
    pub text: String,
    /// Parentheses that are still to be closed.
    open: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Infix,
    KQuery,
    /// A value: what it looks like.
    Either,
}

#[derive(Clone, Copy)]
enum Section {
    Events,
    Conditions(Form),
}

pub(super) fn read(
    id: &ThreadNumber,
    path: &Path,
    bytes: &[u8],
) -> Result<ThreadFile, ImportError> {
    let mut file = ThreadFile {
        id: id.clone(),
        path: path.to_owned(),
        assertion: None,
        events: Vec::new(),
        conditions: Vec::new(),
        branches: Vec::new(),
        outcomes: None,
        unknown: Vec::new(),
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = bytes[..error.valid_up_to()].split(|b| *b == b'\n').count();
            return Err(file.error(line, "this is not text"));
        }
    };
    let mut section = Section::Events;
    let mut lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    while let Some((number, line)) = lines.next() {
        match (line, section) {
            ("<assertThread_fail>", _) => file.assertion = Some(Assertion::Fails),
            ("<assertThread_ok>", _) => file.assertion = Some(Assertion::Holds),
            ("<readwrite>", _) => section = Section::Events,
            ("<path>", _) => section = Section::Conditions(Form::KQuery),
            ("<pathjpf>", _) => section = Section::Conditions(Form::Infix),
            (line, _) if line.starts_with("branch-") => branch(&mut file, number, line),
            (line, _) if line.starts_with("pathid-") => outcomes(&mut file, number, line),
            (line, Section::Conditions(form)) => condition(&mut file, number, line, form)?,
            (line, Section::Events) => match split(line) {
                Some((_, what)) if what.starts_with("CS-") => {
                    // A call; the next line says where it goes, which is no event either.
                    lines.next();
                }
                Some((place, what)) if is_operation(what) => {
                    let mut value = || value(&mut lines, number);
                    let what =
                        event(id, what, &mut value).map_err(|what| file.error(number, what))?;
                    file.events.push(Line { number, place, what });
                }
                None if line.split_once(':').is_some_and(|(_, what)| is_operation(what)) => {
                    let what = format!("'{line}' is no event: file@line:event expected");
                    return Err(file.error(number, what));
                }
                _ => file.unknown.push(number),
            },
        }
    }
    Ok(file)
}

/// Whether it would be an operation on memory or on a sync object: orders depend on those.
fn is_operation(what: &str) -> bool {
    matches!(what.split('-').next(), Some("S" | "R" | "W"))
}

/// `branch-1`: the thread is at a branch.
fn branch(file: &mut ThreadFile, number: usize, line: &str) {
    match line.strip_prefix("branch-").and_then(ThreadNumber::parse) {
        Some(thread) if thread == file.id => file.branches.push(file.events.len()),
        _ => file.unknown.push(number),
    }
}

/// `pathid-1011`: the root of all paths, then which way the thread went at each branch.
fn outcomes(file: &mut ThreadFile, number: usize, line: &str) {
    let digits = line.strip_prefix("pathid-").and_then(|id| id.strip_prefix('1'));
    let bits = digits.map(|digits| digits.chars().map(|c| c.to_digit(2)).collect());
    match bits {
        Some(Some(bits)) => file.outcomes = Some(bits),
        _ => file.unknown.push(number),
    }
}

/// `file@line:what`.
fn split(line: &str) -> Option<(Place, &str)> {
    let (file, rest) = line.split_once('@')?;
    let (at, what) = rest.split_once(':')?;
    let place = Place {
        function: Arc::from(""),
        file: Arc::from(file),
        line: number(at)?,
        column: 0,
        wrapper: false,
    };
    Some((place, what))
}

/// What stands between `$` and `$`, over as many lines as it takes.
fn value<'t>(
    lines: &mut impl Iterator<Item = (usize, &'t str)>,
    after: usize,
) -> Result<Text, String> {
    let missing = || "the value of this write is missing: a line $…$ expected after it".to_owned();
    let (line, first) = lines.next().ok_or_else(missing)?;
    let mut text = first.strip_prefix('$').ok_or_else(missing)?.to_owned();
    while !text.ends_with('$') {
        let Some((_, more)) = lines.next() else {
            return Err(format!("the value after line {after} has no end: $ expected"));
        };
        text.push('\n');
        text.push_str(more);
    }
    text.pop();
    Ok(Text::new(line, Form::Either, &text))
}

/// `S-lock_265-1` and its kin, in the file of thread `own`.
fn event(
    own: &ThreadNumber,
    text: &str,
    value: &mut dyn FnMut() -> Result<Text, String>,
) -> Result<What, String> {
    let unknown = || format!("'{text}' is no event of this format");
    let (kind, name) = text.split_once('-').ok_or_else(unknown)?;
    let (front, last) = name.rsplit_once('-').ok_or_else(unknown)?;
    let last =
        ThreadNumber::parse(last).ok_or_else(|| format!("'{text}' does not end in a number"))?;
    let mine = |thread: ThreadNumber| match thread == *own {
        true => Ok(()),
        false => Err(format!("an event of thread {thread} in the file of thread {own}")),
    };
    // The thread before the count, if there is a count.
    let counted = front
        .rsplit_once('-')
        .filter(|_| last.plain().is_some())
        .and_then(|(name, t)| Some((name, ThreadNumber::parse(t)?)));
    match kind {
        "S" => {
            mine(last)?;
            sync(front).ok_or_else(unknown)
        }
        "R" => {
            let (variable, thread) = counted
                .filter(|(variable, _)| !variable.is_empty())
                .ok_or_else(|| format!("'{text}' is no read: R-variable-thread-count expected"))?;
            mine(thread)?;
            Ok(What::Read { variable: variable.to_owned(), symbol: name.to_owned() })
        }
        "W" => {
            // The number before the last may be part of the variable's name.
            let counted = counted.filter(|(_, thread)| thread == own || last != *own);
            let (variable, thread) = counted.unwrap_or((front, last));
            mine(thread)?;
            if variable.is_empty() {
                return Err(unknown());
            }
            Ok(What::Write { variable: variable.to_owned(), value: value()? })
        }
        _ => Err(unknown()),
    }
}

fn sync(text: &str) -> Option<What> {
    let (op, object) = text.split_once('_').unwrap_or((text, ""));
    match op {
        "start" if object.is_empty() => return Some(What::Start),
        "exit" if object.is_empty() => return Some(What::Exit),
        _ if object.is_empty() => return None,
        "fork" => return ThreadNumber::parse(object).map(What::Fork),
        "join" => return ThreadNumber::parse(object).map(What::Join),
        _ => {}
    }
    let object = object.to_owned();
    match op {
        "lock" => Some(What::Lock(object)),
        "unlock" => Some(What::Unlock(object)),
        "wait" => Some(What::Wait { object, timed: false }),
        "timedwait" => Some(What::Wait { object, timed: true }),
        "signal" => Some(What::Signal(object)),
        "signalall" => Some(What::Broadcast(object)),
        _ => None,
    }
}

/// `T1:(…)`, or more of the one before, if that has not come to its end.
fn condition(
    file: &mut ThreadFile,
    line: usize,
    text: &str,
    form: Form,
) -> Result<(), ImportError> {
    let thread = text.strip_prefix('T').and_then(|rest| {
        let (thread, condition) = rest.split_once(':')?;
        let (id, _path) = thread.split_once('_').unwrap_or((thread, ""));
        Some((ThreadNumber::parse(id)?, condition))
    });
    match (thread, file.conditions.last_mut()) {
        (Some((thread, _)), _) if thread != file.id => {
            let what = format!("a condition of thread {thread} in the file of thread {}", file.id);
            Err(file.error(line, what))
        }
        (Some((_, condition)), _) => {
            file.conditions.push(Text::new(line, form, condition));
            Ok(())
        }
        (None, Some(last)) if last.form == form && last.is_open() => {
            last.extend(text);
            Ok(())
        }
        // A condition that cannot be read would be missing from the path.
        (None, _) if text.starts_with('(') => {
            let what = format!("'{text}' is no condition: T{}:(…) expected", file.id);
            Err(file.error(line, what))
        }
        (None, _) => {
            file.unknown.push(line);
            Ok(())
        }
    }
}

impl Text {
    fn new(line: usize, form: Form, text: &str) -> Text {
        Text { line, form, text: text.to_owned(), open: open(text) }
    }

    fn extend(&mut self, text: &str) {
        self.text.push('\n');
        self.text.push_str(text);
        self.open += open(text);
    }

    /// Whether more is to come.
    fn is_open(&self) -> bool {
        self.text.trim().is_empty() || self.open > 0
    }
}

fn open(text: &str) -> i64 {
    text.chars().map(|c| i64::from(c == '(') - i64::from(c == ')')).sum()
}
