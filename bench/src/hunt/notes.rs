//! Why a bug that depends on the path in the thesis depends on the schedule only here, or the other way round. Written by
//! hand, after reading the program and what was exposed.

pub const PREFACE: &str =
    "found in another way than in the thesis, whose programs are not published";

const NOTES: [(&str, &str); 3] = [
    (
        "Piper",
        "a binder that waits beside one that does not is what some passing run did already; the assertion after the wait \
         then fails in another order of the same steps",
    ),
    (
        "BubbleSort",
        "swaps that lose a value take the same branches as swaps in some passing run, and the sum is tested in the end \
         without a branch of its own",
    ),
    (
        "Pool",
        "with nine users every branch that a thread of the failing run takes was taken by that thread in some run that passed; what \
         fails is their combination in another order",
    ),
];

/// Why this program's bug is of another kind, if it was looked into.
pub fn of(program: &str) -> Option<&'static str> {
    NOTES.iter().find(|(name, _)| *name == program).map(|(_, note)| *note)
}

#[cfg(test)]
mod tests {
    use super::NOTES;
    use crate::hunt::paper::ROWS;

    #[test]
    fn every_note_is_of_a_row() {
        for (program, _) in NOTES {
            assert!(ROWS.iter().any(|row| row.program == program), "{program}");
        }
    }
}
