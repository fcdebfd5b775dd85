//! What a run or a search could not do, in words, the same in all reports.

use unravel_trace::{BlindSpot, LeftOut, MissingFunction, Note};

/// What the user should know of a run.
pub fn note(note: &Note) -> String {
    match note {
        Note::Missing(functions) => return missing(functions),
        Note::NoStub(names) => {
            return format!(
                "not stubbed, because the program calls no missing function of that name: {}",
                names.join(", ")
            );
        }
        Note::Eclipsed(names) => {
            return format!(
                "another library of this process has the same names as the program's own, and calls inside the program's \
                 library may go to the other one: {}",
                names.join(", ")
            );
        }
        Note::SignalsIgnored => "signals from outside are ignored",
        Note::CancellationDeferred => "asynchronous cancellation is treated as deferred",
        Note::EndlessLoop => {
            "the program loops for ever without looking at anything: how such a run would go on is not known"
        }
        Note::HeldBack => {
            "a thread that changed nothing for long was held back until others changed something"
        }
        Note::TimerMoments => {
            "a timer that would end the process fires only when nothing else can happen; other moments were not tried"
        },
        Note::StepBound => "a run was given up at its bound of steps (--max-steps)",
        Note::ClockOrder => {
            "who is first depends on how long others work or when exactly a loop that reads the clock is over, which was not varied"
        }
        Note::GaveUp => {
            "in some schedules a thread ends the process with a code other than 0 while others still run: such a run counts neither as \
             passing nor as failing; with --fail-on-exit it is a failure"
        }
        Note::ForeignUnlock => {
            "a mutex is unlocked by a thread that does not hold it, which POSIX leaves undefined: with --lenient-locks it is unlocked all the same"
        }
        Note::AbortAssumed => {
            "the program names its error (reach_error, __VERIFIER_error), so its abort() is taken for an assumption that does not hold"
        }
        Note::Other(text) => text,
    }
    .to_owned()
}

/// Places of one function that are listed.
const PLACES: usize = 3;

fn missing(functions: &[MissingFunction]) -> String {
    let place = |place: &unravel_trace::Place| place.short();
    let one = |function: &MissingFunction| {
        let mut places: Vec<String> = function.calls.iter().map(place).collect();
        places.dedup();
        let more = places.len().saturating_sub(PLACES);
        places.truncate(PLACES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        match places.is_empty() {
            true => format!("{} (its address is taken)", function.name),
            false => format!("{} (called at {}{more})", function.name, places.join(", ")),
        }
    };
    let names: Vec<String> = functions.iter().map(one).collect();
    format!(
        "no source and no library has {}; a run that gets there is inconclusive: add the source, name the library with -l, \
         or let the function do nothing with --stub",
        names.join("; ")
    )
}

pub fn notes(notes: &[Note]) -> Vec<String> {
    notes.iter().map(note).collect()
}

/// What a search did not explore.
pub fn left_out(what: &LeftOut) -> String {
    match what {
        LeftOut::Unrepeated => "what follows where the program did not repeat itself".to_owned(),
        LeftOut::Inconclusive { reason } => {
            format!("what follows where a run could not go on: {reason}")
        }
        LeftOut::OtherValues => "other nondeterministic values than those of this input".to_owned(),
        LeftOut::LongRuns { most } => format!("runs of more than {most} events"),
        LeftOut::ManyThreads { most } => format!("what follows the creation of {most} threads"),
        LeftOut::Preemptions { from, kept } => format!(
            "schedules with {from} preemptions or more beyond the {kept} that fit into the list"
        ),
        LeftOut::Unseen(spot) => blind_spot(*spot).to_owned(),
        LeftOut::Killed => "the program killed the process that explored it".to_owned(),
        LeftOut::PartsDiffer => {
            "some parts saw more shared memory than others; search without --shard".to_owned()
        }
        LeftOut::PartsMissing => "parts are missing".to_owned(),
        LeftOut::Lacking(what) => format!("what needs an engine that can {what}"),
        LeftOut::OtherClasses { executed } => {
            format!("other classes of schedules than the {executed} that were executed")
        }
        LeftOut::Unexplained { classes } => {
            format!("{classes} failing classes that no cause accounts for")
        }
        LeftOut::Passing => "schedules that pass, which the search met and this did not".to_owned(),
        LeftOut::Time => "there are more classes of schedules than there was time for".to_owned(),
    }
}

/// All that a search did not explore, each in words.
pub fn all_left_out(what: &[LeftOut]) -> Vec<String> {
    what.iter().map(left_out).collect()
}

/// What is not seen in a run.
pub fn blind_spot(spot: BlindSpot) -> &'static str {
    match spot {
        BlindSpot::Library => "what library functions do to the program's memory",
        BlindSpot::ForeignUnlocks => "what mutexes let pass that others unlock",
        BlindSpot::LocksInSections => "orders that locks inside atomic sections allow",
        BlindSpot::LongSpins => "what a thread does that looks again and again for long",
        BlindSpot::Clock => {
            "what the clock tells threads about the order in which they looked at it"
        }
        BlindSpot::Shared => "memory that turned out to be shared",
        BlindSpot::Frames => "when functions return whose local variables other threads use",
        BlindSpot::Signals => "every moment at which a signal could arrive",
    }
}
