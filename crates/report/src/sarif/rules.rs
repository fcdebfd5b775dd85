//! Kinds of failures as rules: what each means, for somebody who meets it for the first time.

use unravel_trace::FailureKind;

use super::log::{Configuration, Rule, RuleProperties};
use super::{message, sentence};

/// A rule a kind, in the order of [`FailureKind::ALL`].
pub fn all() -> Vec<Rule> {
    FailureKind::ALL.into_iter().map(rule).collect()
}

fn rule(kind: FailureKind) -> Rule {
    let (short, full) = words(kind);
    let help = format!(
        "{} The result has the schedule that makes it happen: its code flows show the failing run and, where one was \
         found, the nearest run that passes, thread by thread with the order of steps across threads. The replay \
         command in the message makes it happen again, every time. To put a known bug aside, add a [[suppress]] \
         section with kind, site and reason to unravel.toml.",
        sentence(full)
    );
    Rule {
        id: kind.name(),
        name: pascal_case(kind.name()),
        short_description: message(&sentence(short)),
        full_description: message(&sentence(full)),
        help: message(&help),
        default_configuration: Configuration { level: "error" },
        properties: RuleProperties {
            tags: ["concurrency", "reliability"],
            // Every finding was executed.
            precision: "very-high",
            severity: "error",
        },
    }
}

/// `use-after-free` as `UseAfterFree`.
fn pascal_case(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect()
}

/// What happens, in a few words and in a sentence.
fn words(kind: FailureKind) -> (&'static str, &'static str) {
    use FailureKind::*;
    match kind {
        Assertion => (
            "An assertion fails under some schedule",
            "Some interleaving of the threads makes the condition of an assertion false",
        ),
        Abort => (
            "The program aborts under some schedule",
            "Some interleaving of the threads makes the program call abort",
        ),
        Uninitialised => (
            "Uninitialised memory is read under some schedule",
            "Some interleaving of the threads makes the program read memory that nobody has written",
        ),
        ExitCode => (
            "The program exits with a failure code under some schedule",
            "Some interleaving of the threads makes the program end with an exit code that was declared a failure",
        ),
        UncaughtException => (
            "An exception is not caught under some schedule",
            "Some interleaving of the threads makes a thread throw an exception that nobody catches",
        ),
        NullDereference => (
            "A null pointer is used under some schedule",
            "Some interleaving of the threads makes a thread read or write through a null pointer, often one that \
             another thread has not set yet or has cleared",
        ),
        OutOfBounds => (
            "Memory is accessed out of bounds under some schedule",
            "Some interleaving of the threads makes a thread read or write outside an object",
        ),
        UseAfterFree => (
            "Memory is used after it was freed under some schedule",
            "Some interleaving of the threads makes a thread read or write memory that was freed before",
        ),
        DeadStack => (
            "A local variable is used after its function returned under some schedule",
            "Some interleaving of the threads makes a thread use a local variable of a function that has returned",
        ),
        DoubleFree => (
            "Memory is freed twice under some schedule",
            "Some interleaving of the threads makes the program free the same memory twice",
        ),
        InvalidFree => (
            "Something that was never allocated is freed under some schedule",
            "Some interleaving of the threads makes the program free an address that no allocation returned",
        ),
        SyncMisuse => (
            "A lock or another sync object is misused under some schedule",
            "Some interleaving of the threads makes a thread use a sync object that is not initialised, destroyed, or \
             held by another thread",
        ),
        DivisionByZero => (
            "A division by zero under some schedule",
            "Some interleaving of the threads makes a thread divide by zero",
        ),
        Unreachable => (
            "Code that should be unreachable is reached under some schedule",
            "Some interleaving of the threads leads to code that the program declares unreachable",
        ),
        StackOverflow => (
            "A stack overflows under some schedule",
            "Some interleaving of the threads makes a thread use more stack than it has",
        ),
        Crash => (
            "The program crashes under some schedule",
            "Some interleaving of the threads ends in a signal, or in an access to memory that nobody owns",
        ),
        Deadlock => (
            "Threads wait for each other for ever under some schedule",
            "Some interleaving of the threads ends where nobody can go on: each waits for what another holds, or for \
             a signal that does not come",
        ),
        Livelock => (
            "Threads run without getting anywhere under some schedule",
            "Some interleaving of the threads ends where threads go on running and wait for what never happens",
        ),
        DataRace => (
            "Two threads access the same memory without an order between them",
            "Two threads access the same memory, at least one of them writes, and nothing orders the two accesses",
        ),
        Output => (
            "The output is wrong under some schedule",
            "Some interleaving of the threads makes the program print something other than what is expected",
        ),
        Check => (
            "The check command refuses a run under some schedule",
            "Some interleaving of the threads leads to a run that the project's check command refuses",
        ),
    }
}
