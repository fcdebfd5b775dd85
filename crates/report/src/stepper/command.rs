//! The commands: their names, as in gdb and rr where those have one, and what is said of them by `help`.

use super::breakpoints::On;

/// A command, understood. Counts are at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    Next(usize),
    Back(usize),
    Continue(usize),
    ReverseContinue(usize),
    Goto(Target),
    Until(String),
    /// To the next event of a thread; of the current one if none is named.
    Thread(Option<String>, usize),
    ThreadBack(usize),
    Switch(usize),
    SwitchBack(usize),
    Break(String),
    Watch(On, String),
    Delete(Option<usize>),
    Info(Topic),
    Print(String),
    Display(Option<String>),
    Undisplay(Option<usize>),
    List(Option<String>),
    Where,
    Help(Option<String>),
    Quit,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Start,
    /// This event, counted from 1.
    Event(usize),
    End,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Topic {
    Breaks,
    Threads,
    Locks,
    Values(Option<String>),
    Events,
}

/// A command as `help` knows it. The first name is the one that is shown.
pub struct Entry {
    pub names: &'static [&'static str],
    pub arguments: &'static str,
    pub about: &'static str,
    /// More about it; may be empty.
    pub more: &'static str,
}

const fn entry(
    names: &'static [&'static str],
    arguments: &'static str,
    about: &'static str,
    more: &'static str,
) -> Entry {
    Entry { names, arguments, about, more }
}

/// All commands, in the order of `help`.
pub const COMMANDS: &[Entry] = &[
    entry(
        &["next", "n", "step", "s", "nexti", "ni", "stepi", "si"],
        "[N]",
        "execute the next event, or N events",
        "A step is an event of whichever thread was next in this run. `tn` stays with one thread.",
    ),
    entry(
        &["back", "rn", "reverse-next", "reverse-step", "rs", "reverse-stepi", "rsi"],
        "[N]",
        "undo the last event, or N events",
        "",
    ),
    entry(
        &["continue", "c"],
        "[N]",
        "go on to the next breakpoint or watchpoint (the Nth), or to the end",
        "",
    ),
    entry(
        &["reverse-continue", "rc"],
        "[N]",
        "go back to the last breakpoint or watchpoint, or to the start",
        "",
    ),
    entry(
        &["until", "u", "advance"],
        "WHERE",
        "go on to WHERE (as in `break`), without a breakpoint",
        "",
    ),
    entry(
        &["goto", "g"],
        "N",
        "go to just before event N, forward or back; also `start`, `end`",
        "",
    ),
    entry(&["start"], "", "go to the start of the run", ""),
    entry(&["end", "failure"], "", "go to the end of the run: the failure", ""),
    entry(&["thread", "t"], "THREAD", "go on to the next event of a thread: thread T0.1", ""),
    entry(&["tn"], "[N]", "go on to the next event of the same thread", ""),
    entry(&["rtn", "tb"], "[N]", "go back to the last event of the same thread", ""),
    entry(&["tc", "switch"], "[N]", "go on to the next context switch", ""),
    entry(&["rtc", "reverse-switch"], "[N]", "go back to the last context switch", ""),
    entry(
        &["break", "b", "br"],
        "WHERE [thread T]",
        "stop at a line, a function or a variable",
        "WHERE is LINE (of the file shown), FILE:LINE, a function (where a thread enters it), or a \
         variable: then it is a watchpoint, as `watch` sets. `thread T0.1` stops only that thread.",
    ),
    entry(
        &["watch", "w"],
        "NAME [thread T]",
        "stop before a variable is written, or a lock is used",
        "A name with * or ? is a pattern; a name that is none itself stands for all that begin with it.",
    ),
    entry(&["rwatch", "rw"], "NAME [thread T]", "stop before a variable is read", ""),
    entry(&["awatch", "aw"], "NAME [thread T]", "stop before a variable is read or written", ""),
    entry(&["delete", "d"], "[N]", "remove breakpoint N, or all of them", ""),
    entry(
        &["print", "p", "inspect"],
        "NAME",
        "what a variable holds here, who wrote it, who is next; who holds a lock",
        "Known are the variables that events touch: those that two threads touch. A name with * or ? is a \
         pattern; a name that is none itself stands for all that begin with it.",
    ),
    entry(&["display"], "[NAME]", "print a variable at every stop", ""),
    entry(&["undisplay"], "[N]", "stop doing that", ""),
    entry(
        &["info", "i"],
        "TOPIC",
        "breaks, threads, locks, values, or the events around here",
        "`info threads` says where every thread is and what it waits for, `info locks` who holds what, `info \
         values PATTERN` shows some of the values.",
    ),
    entry(
        &["list", "l"],
        "[LINE|FILE:LINE]",
        "the source around here, or around a line; again: what follows",
        "",
    ),
    entry(
        &["where", "bt", "backtrace"],
        "",
        "where this is in the source; at the failure, its stack",
        "A trace has the place of each event and the calls that were inlined there, no stacks: only the \
         failure has one.",
    ),
    entry(&["help", "h", "?"], "[COMMAND]", "this, or more about a command", ""),
    entry(&["quit", "q", "exit"], "", "leave (so does the end of the input)", ""),
];

/// The command of this name, or the only one that begins with it.
pub fn find(name: &str) -> Result<&'static Entry, String> {
    if let Some(entry) = COMMANDS.iter().find(|entry| entry.names.contains(&name)) {
        return Ok(entry);
    }
    let begins: Vec<&Entry> =
        COMMANDS.iter().filter(|entry| entry.names.iter().any(|n| n.starts_with(name))).collect();
    match begins.as_slice() {
        [entry] => Ok(entry),
        [] => Err(format!("there is no command '{name}': `help` lists them")),
        several => {
            let names: Vec<&str> = several.iter().map(|entry| entry.names[0]).collect();
            Err(format!("'{name}' may be {}", names.join(", ")))
        }
    }
}

/// Reads a command. Never empty: that is the caller's to repeat.
pub fn parse(text: &str) -> Result<Command, String> {
    let (name, rest) = split(text);
    let entry = find(name)?;
    let given = (!rest.is_empty()).then(|| rest.to_owned());
    let needed = || {
        let usage = || format!("{} needs {}", entry.names[0], entry.arguments);
        given.clone().ok_or_else(usage)
    };
    if entry.arguments.is_empty() && given.is_some() {
        return Err(format!("{} takes no argument", entry.names[0]));
    }
    Ok(match entry.names[0] {
        "next" => Command::Next(count(rest)?),
        "back" => Command::Back(count(rest)?),
        "continue" => Command::Continue(count(rest)?),
        "reverse-continue" => Command::ReverseContinue(count(rest)?),
        "until" => Command::Until(needed()?),
        "goto" => Command::Goto(target(&needed()?)?),
        "start" => Command::Goto(Target::Start),
        "end" => Command::Goto(Target::End),
        "thread" => Command::Thread(Some(needed()?), 1),
        "tn" => Command::Thread(None, count(rest)?),
        "rtn" => Command::ThreadBack(count(rest)?),
        "tc" => Command::Switch(count(rest)?),
        "rtc" => Command::SwitchBack(count(rest)?),
        "break" => Command::Break(needed()?),
        "watch" => Command::Watch(On::Writes, needed()?),
        "rwatch" => Command::Watch(On::Reads, needed()?),
        "awatch" => Command::Watch(On::Both, needed()?),
        "delete" => Command::Delete(number(rest)?),
        "print" => Command::Print(needed()?),
        "display" => Command::Display(given),
        "undisplay" => Command::Undisplay(number(rest)?),
        "info" => Command::Info(topic(rest)?),
        "list" => Command::List(given),
        "where" => Command::Where,
        "help" => Command::Help(given),
        "quit" => Command::Quit,
        name => unreachable!("{name} is in the table but has no command"),
    })
}

/// The first word and the rest.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn number(text: &str) -> Result<Option<usize>, String> {
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| format!("'{text}' is no number")),
    }
}

fn count(text: &str) -> Result<usize, String> {
    Ok(number(text)?.unwrap_or(1).max(1))
}

fn target(text: &str) -> Result<Target, String> {
    match text {
        "start" => Ok(Target::Start),
        "end" | "failure" => Ok(Target::End),
        text => match text.parse() {
            Ok(event) => Ok(Target::Event(event)),
            Err(_) => Err(format!(
                "'{text}' is no event: write its number, `start` or `end`; `until` goes to lines"
            )),
        },
    }
}

fn topic(text: &str) -> Result<Topic, String> {
    let (name, rest) = split(text);
    const TOPICS: [&str; 6] = ["breakpoints", "breaks", "threads", "locks", "values", "events"];
    let known = TOPICS.iter().find(|topic| !name.is_empty() && topic.starts_with(name));
    match known {
        Some(&"breakpoints" | &"breaks") => Ok(Topic::Breaks),
        Some(&"threads") => Ok(Topic::Threads),
        Some(&"locks") => Ok(Topic::Locks),
        Some(&"values") => Ok(Topic::Values((!rest.is_empty()).then(|| rest.to_owned()))),
        Some(_) => Ok(Topic::Events),
        None => Err("info breaks, threads, locks, values or events?".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_table_is_a_command_of_its_own() {
        let mut seen = Vec::new();
        for name in COMMANDS.iter().flat_map(|entry| entry.names) {
            assert!(!seen.contains(name), "{name} twice");
            seen.push(name);
            // Understood, or refused for a reason of its own.
            if let Err(message) = parse(name) {
                assert!(
                    message.contains("needs") || message.contains("info "),
                    "{name}: {message}"
                );
            }
        }
    }

    #[test]
    fn commands_may_be_shortened_and_counted() {
        assert_eq!(parse("n"), Ok(Command::Next(1)));
        assert_eq!(parse(" next  12 "), Ok(Command::Next(12)));
        assert_eq!(parse("rn 0"), Ok(Command::Back(1)));
        assert_eq!(parse("cont"), Ok(Command::Continue(1)));
        assert_eq!(
            parse("b bank.c:54 thread T0.1"),
            Ok(Command::Break("bank.c:54 thread T0.1".into()))
        );
        assert_eq!(parse("g 23"), Ok(Command::Goto(Target::Event(23))));
        assert_eq!(parse("i thr"), Ok(Command::Info(Topic::Threads)));
        assert_eq!(parse("p *[1].x"), Ok(Command::Print("*[1].x".into())));
        assert!(parse("re").unwrap_err().contains("reverse-continue"));
        assert!(parse("next soon").unwrap_err().contains("no number"));
        assert!(parse("jump").unwrap_err().contains("help"));
        assert!(parse("goto bank.c:5").unwrap_err().contains("until"));
        assert!(parse("quit now").is_err());
    }
}
