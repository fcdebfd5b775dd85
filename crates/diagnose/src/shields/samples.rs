//! What follows from a value that was read, where no symbolic trace tells: other occurrences of the same stretch, in the failing
//! run and in one that passes, that read other values there.
//!
//! *Not modelled*: what a value that nobody read would lead to. Where all occurrences read the same, what is written is taken to
//! be computed from what was read last.

use rustc_hash::FxHashMap;
use unravel_trace::{EventKind, Mark, ThreadId, Trace, Value};

use super::stretches::Extended;

/// One occurrence: what was read at the beginning, and what was written at the end, if the thread got there.
struct Sample {
    read: Value,
    written: Option<Value>,
}

pub struct Samples {
    all: Vec<Sample>,
    /// Its thread reads the location again before it writes it.
    reads_again: bool,
}

impl Samples {
    pub fn new(run: &Extended, begin: usize, end: usize, passing: &[&Trace]) -> Samples {
        let trace = &run.trace;
        let mark = |index: usize| Mark::of_event(trace, &trace.events[index]);
        let thread = trace.events[begin].thread;
        let inside = || (begin + 1..end).filter(|index| trace.events[*index].thread == thread);
        let at = trace.events[begin].kind.location();
        let reads = |index: usize| {
            trace.events[index].kind.location() == at && read(&trace.events[index].kind).is_some()
        };
        let reads_again = inside().any(reads) || reads(end);
        let most = inside().count() * 2 + 4;
        let mut all = Vec::new();
        let stretch = (mark(begin), mark(end), most);
        collect(trace, run.real, stretch, &mut all);
        for other in passing {
            collect(other, other.events.len(), stretch, &mut all);
        }
        Samples { all, reads_again }
    }

    fn pairs(&self) -> impl Iterator<Item = (&Sample, &Sample)> {
        let first = self.all.first();
        // Against one of each value is enough: the first, and the first that differs from it.
        let second = self.all.iter().find(|other| Some(&other.read) != first.map(|f| &f.read));
        let some = first.into_iter().chain(second);
        some.flat_map(|one| self.all.iter().map(move |other| (one, other)))
            .filter(|(one, other)| one.read != other.read)
    }

    /// Whether what is written is computed from what was read.
    pub fn flows(&self) -> bool {
        let mut compared = self
            .pairs()
            .filter_map(|(one, other)| Some((one.written.as_ref()?, other.written.as_ref()?)))
            .peekable();
        if self.reads_again {
            return false;
        }
        match compared.peek() {
            Some(_) => compared.any(|(one, other)| one != other),
            None => !self.decides(),
        }
    }

    /// Whether it depends on what was read whether the thread comes to the end.
    pub fn decides(&self) -> bool {
        let differs =
            |(one, other): (&Sample, &Sample)| one.written.is_some() != other.written.is_some();
        self.reads_again || self.pairs().any(differs)
    }
}

/// The occurrences in the first `events` of a trace.
fn collect(
    trace: &Trace,
    events: usize,
    (from, to, most): (Mark, Mark, usize),
    all: &mut Vec<Sample>,
) {
    let mut open: FxHashMap<ThreadId, (Value, usize)> = FxHashMap::default();
    for event in &trace.events[..events] {
        let mark = Mark::of_event(trace, event);
        let is_end = mark == to;
        let ended = match open.get_mut(&event.thread) {
            Some((_, own)) => {
                *own += 1;
                is_end || *own > most || mark == from
            }
            None => false,
        };
        if ended && let Some((read, _)) = open.remove(&event.thread) {
            let written = written(&event.kind).filter(|_| is_end).cloned();
            all.push(Sample { read, written });
        }
        if mark == from
            && let Some(read) = read(&event.kind)
        {
            open.insert(event.thread, (read.clone(), 0));
        }
        // Who ends does not come to the end of the stretch any more.
        if event.kind == EventKind::Exit
            && let Some((read, _)) = open.remove(&event.thread)
        {
            all.push(Sample { read, written: None });
        }
    }
}

pub fn read(kind: &EventKind) -> Option<&Value> {
    match kind {
        EventKind::Read { value, .. } => Some(value),
        EventKind::ReadModifyWrite { old, .. } => Some(old),
        _ => None,
    }
}

pub fn written(kind: &EventKind) -> Option<&Value> {
    match kind {
        EventKind::Write { value, .. } => Some(value),
        EventKind::ReadModifyWrite { new, .. } => Some(new),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(all: &[(u64, Option<u64>)]) -> Samples {
        let sample = |(read, written): &(u64, Option<u64>)| Sample {
            read: Value::Word(*read),
            written: written.map(Value::Word),
        };
        Samples { all: all.iter().map(sample).collect(), reads_again: false }
    }

    #[test]
    fn a_counter_flows_and_a_flag_decides() {
        let counter = samples(&[(0, Some(1)), (0, Some(1)), (1, Some(2))]);
        assert!(counter.flows() && !counter.decides());
        let flag = samples(&[(0, Some(1)), (0, Some(1)), (1, None)]);
        assert!(!flag.flows() && flag.decides());
        let constant = samples(&[(0, Some(1)), (2, Some(1))]);
        assert!(!constant.flows());
        let alike = samples(&[(0, Some(1)), (0, Some(1))]);
        assert!(alike.flows(), "nothing speaks against it");
    }
}
