//! Whether a log tells what happened (CoopREP has no such check): the machine follows its orders, and must come to the same vectors and the same end.
//!
//! A complete log leaves nothing open that threads share, so a recorder that lies (an entry that is not one step with its access, an access that is missed, an
//! element that is taken for another) shows here: orders contradict each other, or a vector comes out otherwise. A partial log leaves the rest
//! open; that it is followed says less. What the vectors do not tell (a value that another order of other elements gives) may make a true
//! log of a partial run come out otherwise: so this is a check of the recorder, not a condition for logs.
//!
//! Blocks leave open what happens inside of them, and in which order threads enter different ones. So a log of blocks is followed several
//! times, with that drawn at random: one run that keeps all its orders and comes to the same end shows that the log may be true.

use unravel_execute::Laboratory;
use unravel_trace::{Detail, Want};

use crate::budgets::BLOCK_FOLLOWS;
use crate::elements::{ElementId, Elements, Mode};
use crate::enforce::{Enforced, Kept};
use crate::log::{Ending, Log};
use crate::recorder::Recorder;

/// What came of following a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Followed {
    /// The same vectors, the same end.
    Same,
    /// Its orders contradict each other.
    Contradicted { events: u64 },
    /// A vector came out otherwise, so long and so long.
    Vector { element: ElementId, logged: usize, here: usize },
    /// It ended otherwise.
    Ending,
}

/// Follows a log. The laboratory has to see what the elements' profile says.
pub fn follow(lab: &mut Laboratory<'_>, elements: &mut Elements, log: &Log) -> Followed {
    let followed = once(lab, elements, log, None);
    if followed == Followed::Same || elements.mode() == Mode::Orders {
        return followed;
    }
    let mut is_same =
        |fill| lab.may_go_on() && once(lab, elements, log, Some(fill)) == Followed::Same;
    match (1..=BLOCK_FOLLOWS).any(&mut is_same) {
        true => Followed::Same,
        false => followed,
    }
}

/// Without preemption where the orders leave it open, or with that drawn at random.
fn once(
    lab: &mut Laboratory<'_>,
    elements: &mut Elements,
    log: &Log,
    fill: Option<u64>,
) -> Followed {
    let mut watched = elements.clone();
    let mut recorder = Recorder::new(&mut watched);
    let mut by = Enforced::new(elements, &log.vectors);
    if let Some(seed) = fill {
        by = by.filled(seed);
    }
    let run = lab.run(&mut by, &mut recorder, Want::only(Detail::Outcome));
    if let Kept::Contradicted { events } | Kept::GaveWay { events } = by.kept() {
        return Followed::Contradicted { events };
    }
    let here = recorder.vectors();
    for (element, logged) in &log.vectors {
        let found = here.binary_search_by_key(element, |(id, _)| *id).map(|at| &here[at].1);
        let Ok(vector) = found else {
            return Followed::Vector { element: *element, logged: logged.len(), here: 0 };
        };
        // A run that failed was cut off: of the entry that was under way the one may have it and the other not.
        let same = match log.ending {
            Ending::Passed => vector == logged,
            Ending::Failed(_) => {
                let common = vector.len().min(logged.len());
                vector[..common] == logged[..common]
            }
        };
        if !same {
            let (logged, here) = (logged.len(), vector.len());
            return Followed::Vector { element: *element, logged, here };
        }
    }
    match Ending::of(&run.outcome) == Some(log.ending) {
        true => Followed::Same,
        false => Followed::Ending,
    }
}
