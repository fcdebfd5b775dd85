//! A stepper through the events of one run, forward and back: commands in, text out.
//!
//! The run is over and known in all its events. A position is "before event i"; what the program looks like there is
//! worked out of the events ([`history`]), so no position is farther away than another. Nothing here executes, reads
//! from a terminal or writes to one.
//!
//! What is not known here: accesses that are no events (of what only one thread touches), and the stacks of events.
//! Of an imported trace, the order between threads is not known either, and nothing is said that depends on it.

mod breakpoints;
mod command;
mod help;
pub(crate) mod history;
mod info;
mod list;
mod moves;
mod names;
mod output;
mod print;
mod show;
pub(crate) mod sync;
pub(crate) mod threads;
mod values;

use unravel_trace::{Outcome, Trace};

use crate::source::Sources;
use crate::terminal::Style;
use breakpoints::Breakpoint;
use command::Command;
use history::History;
use output::Output;

/// Narrower terminals get lines that their terminal breaks.
const NARROWEST: usize = 40;

/// The run that is stepped through.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub trace: &'a Trace,
    pub outcome: &'a Outcome,
    /// What is said at the end, in as many lines as it takes: the failure as other commands tell it.
    pub ending: &'a str,
    /// Whether the events are listed as they happened.
    pub order_known: bool,
}

/// What a command gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Lines, each with its end.
    pub text: String,
    pub kind: AnswerKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerKind {
    Done,
    /// The command could not be carried out; the text says why.
    Refused,
    Quit,
}

#[derive(Debug)]
pub struct Stepper<'a> {
    subject: Subject<'a>,
    history: History<'a>,
    sources: &'a Sources,
    style: Style,
    /// Before this event; behind the last one at the end.
    position: usize,
    breakpoints: Vec<Breakpoint>,
    /// Breakpoints that were ever set.
    numbered: usize,
    /// Names that are printed at every stop, and how many there ever were.
    displayed: usize,
    displays: Vec<(usize, String)>,
    /// For an empty line.
    last: Option<Command>,
    /// The file and line that `list` goes on with, until the position changes.
    listed: Option<(String, u32)>,
}

impl<'a> Stepper<'a> {
    pub fn new(subject: Subject<'a>, sources: &'a Sources, style: Style) -> Stepper<'a> {
        let style = Style { width: style.width.max(NARROWEST), ..style };
        Stepper {
            subject,
            history: History::new(subject.trace),
            sources,
            style,
            position: 0,
            breakpoints: Vec::new(),
            numbered: 0,
            displayed: 0,
            displays: Vec::new(),
            last: None,
            listed: None,
        }
    }

    /// Just before this event of the trace; the number of events at the end.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Where the run stands, as every step shows it.
    pub fn here(&self) -> String {
        let mut out = Output::new(self.style);
        self.show(&mut out);
        out.finish()
    }

    /// Carries out what was typed. Several commands are separated by `;`; the first that is refused ends them. An empty
    /// line is the last command again.
    pub fn execute(&mut self, typed: &str) -> Answer {
        let mut text = String::new();
        let commands: Vec<&str> = typed.split(';').map(str::trim).collect();
        let several = commands.len() > 1;
        for typed in commands {
            if several && typed.is_empty() {
                continue;
            }
            let command = match typed {
                "" => {
                    self.last.clone().ok_or_else(|| "there is no last command to repeat".to_owned())
                }
                typed => command::parse(typed),
            };
            let mut out = Output::new(self.style);
            let done = command.and_then(|command| {
                self.last = Some(command.clone());
                if command == Command::Quit {
                    return Ok(AnswerKind::Quit);
                }
                self.carry_out(command, &mut out).map(|()| AnswerKind::Done)
            });
            let kind = match done {
                Ok(kind) => kind,
                Err(why) => {
                    out.plain(&why);
                    AnswerKind::Refused
                }
            };
            text += &out.finish();
            if kind != AnswerKind::Done {
                return Answer { text, kind };
            }
        }
        Answer { text, kind: AnswerKind::Done }
    }

    fn carry_out(&mut self, command: Command, out: &mut Output) -> Result<(), String> {
        match command {
            Command::Next(count) => self.next(count, out),
            Command::Back(count) => self.back(count, out),
            Command::Continue(count) => self.go_on(count, out),
            Command::ReverseContinue(count) => self.go_back(count, out),
            Command::Goto(target) => self.go_to(&target, out),
            Command::Until(place) => self.until(&place, out),
            Command::Thread(name, count) => self.on_to_thread(name.as_deref(), count, out),
            Command::ThreadBack(count) => self.back_in_thread(count, out),
            Command::Switch(count) => self.on_to_switch(count, out),
            Command::SwitchBack(count) => self.back_to_switch(count, out),
            Command::Break(place) => self.set_break(&place, None, out),
            Command::Watch(on, name) => self.set_break(&name, Some(on), out),
            Command::Delete(number) => self.delete(number, out),
            Command::Info(topic) => self.info(&topic, out),
            Command::Print(name) => self.print(&name, out),
            Command::Display(name) => self.display(name, out),
            Command::Undisplay(number) => self.undisplay(number, out),
            Command::List(place) => self.list(place.as_deref(), out),
            Command::Where => self.tell_where(out),
            Command::Help(name) => help::help(name.as_deref(), out),
            Command::Quit => Ok(()),
        }
    }
}

/// What was typed, harmless, for logs that show commands beside answers.
pub fn echo(typed: &str) -> String {
    crate::escape::visible(typed.trim()).into_owned()
}
