//! Which locks of the program could keep stretches apart.

use super::{Act, Holding, Lock, holding, is_held, operations};
use crate::budgets::MOST_LOCKS;
use crate::spots::{Files, Stretch};

/// A lock for all stretches of a group, in the words of each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// For each stretch, in their order.
    pub locks: Vec<Lock>,
    /// Whether a section that is there becomes larger; else the lock is taken where nobody took it.
    pub widens: bool,
    /// How many lines change, about.
    pub lines: usize,
}

/// A lock that a stretch knows, and how well: what a wait inside gives up, what is held or taken there, what the function
/// has elsewhere.
struct Known {
    lock: Lock,
    distance: u8,
}

/// The locks that these stretches know, those that change the fewest lines first.
pub fn choices(stretches: &[Stretch], files: &Files) -> Vec<Choice> {
    let known: Vec<Vec<Known>> = stretches.iter().map(|stretch| known(stretch, files)).collect();
    let mut candidates: Vec<&Known> = known.iter().flatten().collect();
    candidates.sort_by_key(|known| known.distance);
    let mut found: Vec<Choice> = Vec::new();
    for candidate in candidates {
        let locks: Option<Vec<Lock>> =
            known.iter().map(|own| in_words_of(own, &candidate.lock)).collect();
        let Some(locks) = locks else { continue };
        if found.iter().any(|choice| choice.locks == locks) {
            continue;
        }
        let holdings: Option<Vec<Holding>> = stretches
            .iter()
            .zip(&locks)
            .map(|(stretch, lock)| Some(holding(files.get(&stretch.file)?, &stretch.region, lock)))
            .collect();
        let Some(holdings) = holdings else { continue };
        if holdings.iter().all(Holding::is_throughout) {
            continue;
        }
        let widens = holdings.iter().any(|now| now.changes > 0);
        let lines = holdings.iter().map(|now| now.lines).sum();
        found.push(Choice { locks, widens, lines });
    }
    found.truncate(MOST_LOCKS);
    found.sort_by_key(|choice| choice.lines);
    found
}

/// The locks of a stretch's function, each once.
fn known(stretch: &Stretch, files: &Files) -> Vec<Known> {
    let Some(source) = files.get(&stretch.file) else { return Vec::new() };
    let all = operations(source, &stretch.region);
    let bytes = &stretch.region.bytes;
    let mut found: Vec<Known> = Vec::new();
    for operation in &all {
        let is_inside = bytes.contains(&operation.bytes.start);
        let held = |byte: usize| is_held(&all, &operation.lock.text, byte);
        let distance = match operation.act {
            Act::Wait if is_inside => 0,
            _ if is_inside || held(bytes.start) || held(bytes.end) => 1,
            _ => 2,
        };
        match found.iter_mut().find(|known| known.lock.text == operation.lock.text) {
            Some(known) => {
                // How a wait takes its lock is a guess; the operations know.
                if operation.act != Act::Wait {
                    known.lock = operation.lock.clone();
                }
                known.distance = known.distance.min(distance);
            }
            None => found.push(Known { lock: operation.lock.clone(), distance }),
        }
    }
    found
}

/// A lock as a function would write it: its own lock of this text, else its own with the same last part, else as it is.
/// `None` if the stretch waits with another lock, which it would not give up meanwhile.
fn in_words_of(own: &[Known], lock: &Lock) -> Option<Lock> {
    let same = own.iter().find(|known| known.lock.text == lock.text);
    let alike = || own.iter().find(|known| known.lock.component() == lock.component());
    let chosen = same.or_else(alike);
    let waits = own.iter().any(|known| known.distance == 0);
    match chosen {
        Some(known) if waits && known.distance != 0 => None,
        Some(known) => Some(known.lock.clone()),
        None if waits => None,
        None => Some(lock.clone()),
    }
}
