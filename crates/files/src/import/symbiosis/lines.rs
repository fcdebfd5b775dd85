//! One file: marks, events, conditions. Names are taken apart here; expressions stay text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unravel_trace::Place;

use super::ImportError;

/// What one file says.
#[derive(Debug)]
pub(super) struct ThreadFile {
    pub id: u32,
    pub path: PathBuf,
    /// Whether the assertion is this thread's, and how it went.
    pub assertion: Option<Assertion>,
    pub events: Vec<Line>,
    pub conditions: Vec<Text>,
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
    Fork(u32),
    Join(u32),
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

/// A number that is nothing but digits.
pub(super) fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

pub(super) fn read(id: u32, path: &Path, bytes: &[u8]) -> Result<ThreadFile, ImportError> {
    let mut file = ThreadFile {
        id,
        path: path.to_owned(),
        assertion: None,
        events: Vec::new(),
        conditions: Vec::new(),
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
            (mark, _) if mark.starts_with('<') && mark.ends_with('>') => {
                return Err(file.error(number, format!("{mark} is no mark of this format")));
            }
            (line, Section::Conditions(form)) => condition(&mut file, number, line, form)?,
            (line, Section::Events) => {
                let (place, what) = split(line).ok_or_else(|| {
                    file.error(number, format!("'{line}' is no event: file@line:event expected"))
                })?;
                if what.starts_with("CS-") {
                    // A call; the next line says where it goes, which is no event either.
                    lines.next();
                    continue;
                }
                let mut value = || value(&mut lines, number);
                let what = event(id, what, &mut value).map_err(|what| file.error(number, what))?;
                file.events.push(Line { number, place, what });
            }
        }
    }
    Ok(file)
}

/// `file@line:what`.
fn split(line: &str) -> Option<(Place, &str)> {
    let (file, rest) = line.split_once('@')?;
    let (at, what) = rest.split_once(':')?;
    let place =
        Place { function: Arc::from(""), file: Arc::from(file), line: number(at)?, column: 0 };
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
    Ok(Text { line, form: Form::Either, text })
}

/// `S-lock_265-1` and its kin, in the file of thread `own`.
fn event(
    own: u32,
    text: &str,
    value: &mut dyn FnMut() -> Result<Text, String>,
) -> Result<What, String> {
    let unknown = || format!("'{text}' is no event of this format");
    let (kind, name) = text.split_once('-').ok_or_else(unknown)?;
    let (front, last) = name.rsplit_once('-').ok_or_else(unknown)?;
    let last = number(last).ok_or_else(|| format!("'{text}' does not end in a number"))?;
    let mine = |thread: u32| match thread == own {
        true => Ok(()),
        false => Err(format!("an event of thread {thread} in the file of thread {own}")),
    };
    // The thread before the count, if there is a count.
    let counted = front.rsplit_once('-').and_then(|(name, t)| Some((name, number(t)?)));
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
            let counted = counted.filter(|(_, thread)| *thread == own || last != own);
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
        "fork" => return number(object).map(What::Fork),
        "join" => return number(object).map(What::Join),
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

/// `T1:(…)`, or more of the one before.
fn condition(
    file: &mut ThreadFile,
    line: usize,
    text: &str,
    form: Form,
) -> Result<(), ImportError> {
    let thread = text.strip_prefix('T').and_then(|rest| {
        let (thread, condition) = rest.split_once(':')?;
        let (id, _path) = thread.split_once('_').unwrap_or((thread, ""));
        Some((number(id)?, condition))
    });
    match (thread, file.conditions.last_mut()) {
        (Some((thread, _)), _) if thread != file.id => {
            let own = file.id;
            let what = format!("a condition of thread {thread} in the file of thread {own}");
            Err(file.error(line, what))
        }
        (Some((_, condition)), _) => {
            file.conditions.push(Text { line, form, text: condition.to_owned() });
            Ok(())
        }
        (None, Some(last)) if last.form == form => {
            last.text.push('\n');
            last.text.push_str(text);
            Ok(())
        }
        (None, _) => {
            let what = format!("'{text}' is no condition: T{}:(…) expected", file.id);
            Err(file.error(line, what))
        }
    }
}
