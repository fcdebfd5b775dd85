//! Why a program has another number of causes than the paper's program of that name. Written by hand, after reading the
//! program and its causes.

/// What must be known of all of them.
pub const PREFACE: &str = "causes in the paper and here, where they differ; its programs are not published, so what is \
said of them is inferred from its figures";

const CHEAPEST: &str = "our cores are the fewest orders that make it fail, so one of ours covers several of the paper's, \
which are minimal only";
const FINAL_READS: &str = "the paper's events include the reads in loops and in the check at the end, each of them an \
order; ours are the orders within the calls that interleave";

const NOTES: [(&str, &str); 19] = [
    (
        "reorder",
        "the paper's has three setters, as its cores of 4 orders show, and ours two; every setter can be the first",
    ),
    (
        "account",
        "ours is Cortex's account, in which each of three updates of two accounts can be lost in two directions, not \
         that of SV-COMP with one more thread",
    ),
    (
        "read write",
        "the two orders around a reader's reads suffice, whatever the lock's fields did; the paper's cores of 8.2 orders \
         name these too, so that each way through the lock is a cause",
    ),
    (
        "barrier",
        "ours has two workers and the paper's three; one order, the late store to a cell, covers every way through the barrier",
    ),
    (
        "VectPrime02",
        "ours appends three primes: each pair of appends is a cause of its own, all of them the same lines",
    ),
    ("linux-iio", CHEAPEST),
    (
        "mysql-12848",
        "only one class of schedules fails in ours, where the accesses of a critical section come as one; the paper's \
         cores of 4 orders name the accesses inside",
    ),
    (
        "apache-21287",
        "both failing classes are one cause: which of the two decrements comes first makes no difference, as neither uses \
         its result; the paper's two are the two directions",
    ),
    ("apache-25520", CHEAPEST),
    (
        "freebsd-aa",
        "ours copies two fields, with 4 unique orders, the paper's more of them, with 12; ours are two auditors, each in two directions",
    ),
    ("cherokee-0.9.2", CHEAPEST),
    ("llvm-8441", CHEAPEST),
    (
        "gcc-25330",
        "each system call of ours changes two fields of a file under the lock, and the order of two calls can be that of \
         either field",
    ),
    (
        "gcc-3584",
        "only two classes of schedules fail in ours, in which one thread adds once and the other twice",
    ),
    (
        "transmission-1.42",
        "the paper's counts the assertion's read and the use after it as two; in ours the assertion ends the run",
    ),
    (
        "glib-512624",
        "that both threads look up before either makes is one cause here; the paper's are between the accesses of the look-up's loop",
    ),
    ("hash table", FINAL_READS),
    ("list seq", FINAL_READS),
    (
        "queue seq",
        "both reads of head, for the item and for moving it, can be the stale one, in each of two threads; the paper has one order for both",
    ),
];

/// Why this program's number differs, if it was looked into.
pub fn of(program: &str) -> Option<&'static str> {
    NOTES.iter().find(|(name, _)| *name == program).map(|(_, note)| *note)
}

#[cfg(test)]
mod tests {
    use super::NOTES;
    use crate::causes::paper::ROWS;

    #[test]
    fn every_note_is_of_a_row() {
        for (program, _) in NOTES {
            assert!(ROWS.iter().any(|row| row.program == program), "{program}");
        }
    }
}
