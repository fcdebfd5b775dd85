//! Rebuilding in another process: whatever the program does to it, we are still there. A crash in native code may leave a process
//! in disorder, so that the search goes on in the next.

use serde::{Deserialize, Serialize};
use unravel_execute::{Apart, Attended, Laboratory, Lesson, Limit, Silence};
use unravel_trace::{Executor, Input, VisibleSet};

use crate::budgets::MOST_PROCESSES;
use crate::search::{Options, RebuildError, Rebuilt, rebuild};
use crate::task::Task;

#[derive(Debug, thiserror::Error)]
pub enum ApartError {
    /// The log was understood, and no run was found that is what it says.
    #[error("{0}")]
    NotRebuilt(String),
    #[error("{0}")]
    Engine(String),
    #[error("no process can be started: {0}")]
    Fork(#[source] std::io::Error),
    #[error("the program killed the process that ran it (signal {signal})")]
    Killed { signal: i32 },
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Rebuilt(Box<Rebuilt>),
    NotRebuilt { why: String, runs: u64, damaged: bool },
    Failed(String),
}

/// Learns what threads share, then rebuilds. `until` ends it.
pub fn rebuild_apart(
    executor: &mut dyn Executor,
    input: &Input,
    task: &Task,
    options: &Options,
    until: Limit<'_>,
) -> Result<Rebuilt, ApartError> {
    let mut runs = 0;
    // A run that learns what is shared may crash natively, which leaves nothing to rebuild with: then the runs that are steered learn.
    let mut learns = true;
    let mut last = "the time was up before the log was rebuilt".to_owned();
    for process in 0..MOST_PROCESSES {
        if !until.may_go_on() || runs >= options.runs {
            break;
        }
        let seed = options.seed + process;
        let options = Options { seed, runs: options.runs - runs, ..*options };
        let mut work: Apart<Message> = Apart::start(executor, |executor, stop, send| {
            let _silence = Silence::begin();
            let mut lab = Laboratory::new(executor, input.clone(), VisibleSet::default())
                .until(until.deadline, Some(stop));
            send(&here(&mut lab, task, &options, learns));
        })
        .map_err(ApartError::Fork)?;
        match work.attend(until, |message| message) {
            Attended::Done(Message::Rebuilt(mut found)) => {
                found.runs += runs;
                return Ok(*found);
            }
            Attended::Done(Message::NotRebuilt { why, runs: more, damaged }) => {
                runs += more.max(1);
                learns &= !(damaged && more == 0);
                last = why;
                if !damaged {
                    break;
                }
            }
            Attended::Done(Message::Failed(why)) => return Err(ApartError::Engine(why)),
            Attended::Ended { signal } if process + 1 == MOST_PROCESSES => {
                return Err(ApartError::Killed { signal });
            }
            Attended::Ended { .. } => runs += 1,
            Attended::Late => break,
        }
    }
    Err(ApartError::NotRebuilt(last))
}

fn here(lab: &mut Laboratory<'_>, task: &Task, options: &Options, learns: bool) -> Message {
    if learns {
        let shared = lab.learn(&Lesson::default(), |input, _| input.clone(), |_, _| {});
        let kin = lab.executor().sites().kin(&shared);
        lab.see(kin);
    }
    match rebuild(lab, task, options) {
        Ok(found) => Message::Rebuilt(Box::new(found)),
        Err(RebuildError::Engine(error)) => Message::Failed(error.to_string()),
        Err(other) => {
            let (why, damaged) = (other.to_string(), lab.is_damaged());
            Message::NotRebuilt { why, runs: other.runs(), damaged }
        }
    }
}
