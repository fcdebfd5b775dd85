//! The name and the words for a stretch that should have been atomic, by what it reads and writes and what others do in between.

use unravel_results::{CausalOrder, Participant, Pattern};
use unravel_trace::{
    Bug, ConditionKind, Event, EventKind, FailureKind, LocationId, Place, SourceLine, SymbolId,
    Symbolic, Trace, Value,
};

use super::samples::Samples;
use super::stretches::{Extended, Stretch, lock_like};
use crate::calls::{self, Calls};
use crate::failing::Failing;
use crate::held::held;
use crate::pattern::Words;
use crate::points::{Extents, Touch};

/// `others` are stretches that have to be atomic, too.
pub fn describe(
    failing: &Failing,
    run: &Extended,
    stretch: &Stretch,
    others: &[Stretch],
    passing: &[&Trace],
) -> Words {
    let trace = &run.trace;
    let seen = Seen::new(failing, run, stretch, passing);
    let pattern = seen.pattern();
    let sentence = seen.sentence(pattern);
    let calls = seen.called(seen.begin, seen.end).zip(seen.called(seen.end, seen.begin));
    // One function that is called twice goes round no loop.
    let twice = calls.filter(|(first, last)| {
        first.function == last.function && (first.line, first.column) < (last.line, last.column)
    });
    let goes_round = stretch.next_round || seen.is_again() && twice.is_none();
    let to = match goes_round {
        true => format!("{} of the next round", stretch.to.short()),
        false => stretch.to.short(),
    };
    let mut advice = atomic(&stretch.from, &stretch.to, &to, &seen.rivals());
    if goes_round && SourceLine::from(&stretch.from) == SourceLine::from(&stretch.to) {
        let (here, rivals) = (stretch.from.short(), seen.rivals());
        advice =
            format!("nothing of {rivals} should come between one round of {here} and the next");
    }
    if let (Some(first), last) =
        (seen.called(seen.begin, seen.end), seen.called(seen.end, seen.begin))
    {
        let last = last.map_or_else(String::new, |last| format!(" to {}", last.short()));
        advice += &format!(" (in {}: {}{last})", first.function, first.short());
    }
    if let Some((first, last)) = twice.filter(|_| seen.is_again()) {
        let rivals = seen.rivals();
        advice = match first.line == last.line {
            true => format!(
                "in {} the calls at {} should be one atomic step with respect to {rivals}",
                first.function,
                first.short()
            ),
            false => format!(
                "in {} the calls at {} to {} should be atomic with respect to {rivals}",
                first.function,
                first.short(),
                last.short()
            ),
        };
    }
    if pattern == Pattern::EarlyPublication && !seen.uses_published() {
        let (first, then) = (stretch.to.short(), stretch.from.short());
        advice =
            format!("{first} should come before {then}, or both in one step for {}", seen.rivals());
    }
    let mut also: Vec<String> = others.iter().map(|other| span(&other.from, &other.to)).collect();
    also.sort();
    also.dedup();
    also.retain(|other| *other != span(&stretch.from, &stretch.to));
    if !also.is_empty() {
        advice += &format!("; so should {}", also.join(", "));
    }
    if let Some(locks) = seen.different_locks() {
        advice += &format!("; {locks}");
    }
    if pattern == Pattern::BrokenLock {
        let lock = name(trace, seen.begin);
        advice = format!("taking {lock} has to be one atomic step: {advice}");
    }
    Words { pattern, sentence, advice, region: vec![stretch.from.clone(), stretch.to.clone()] }
}

/// The orders that a stretch is about: it begins before a rival comes, and ends after it.
pub fn orders(failing: &Failing, run: &Extended, stretch: &Stretch) -> Vec<CausalOrder> {
    let seen = Seen::new(failing, run, stretch, &[]);
    let Some(rival) = seen.rival().filter(|_| stretch.end < run.real) else { return Vec::new() };
    let order = |first: usize, second: usize, object: usize| {
        Some(CausalOrder {
            first: seen.participant(first)?,
            second: seen.participant(second)?,
            object: name(seen.trace, object),
            witness: None,
        })
    };
    let enters = order(stretch.begin, rival, stretch.begin);
    let leaves = order(rival, stretch.end, stretch.end);
    enters.into_iter().chain(leaves).collect()
}

/// `bank.c:53 to bank.c:54`.
pub fn span(from: &Place, to: &Place) -> String {
    match SourceLine::from(from) == SourceLine::from(to) {
        true => from.short(),
        false => format!("{} to {}", from.short(), to.short()),
    }
}

/// `end` is what `to` is called.
fn atomic(from: &Place, to: &Place, end: &str, rivals: &str) -> String {
    match SourceLine::from(from) == SourceLine::from(to) {
        true => format!("{} should be one atomic step with respect to {rivals}", from.short()),
        false => {
            format!("{} to {end} should be atomic with respect to {rivals}", from.short())
        }
    }
}

/// A stretch, and what others do in between.
struct Seen<'s> {
    run: &'s Extended,
    trace: &'s Trace,
    symbolic: Option<&'s Symbolic>,
    kind: FailureKind,
    failed_at: Option<Place>,
    begin: usize,
    end: usize,
    calls: &'s Calls,
    /// Runs that show what follows from another value, where there is no symbolic trace.
    passing: &'s [&'s Trace],
    /// Events of others in between that conflict with its begin or its end.
    between: Vec<usize>,
}

impl<'s> Seen<'s> {
    fn new(
        failing: &'s Failing,
        run: &'s Extended,
        stretch: &Stretch,
        passing: &'s [&'s Trace],
    ) -> Seen<'s> {
        let trace = &run.trace;
        let extents: Extents = crate::execution::extents(trace);
        let (begin, end) = (stretch.begin, stretch.end);
        let touch = |index: usize| Touch::of_event(trace, &trace.events[index]);
        let between = (begin + 1..end.min(run.real))
            .filter(|index| trace.events[*index].thread != trace.events[begin].thread)
            .filter(|index| {
                let other = touch(*index);
                !matches!(other, Touch::Sync { .. } | Touch::Nothing)
                    && (touch(begin).conflicts(&other, &extents)
                        || touch(end).conflicts(&other, &extents))
            })
            .collect();
        Seen {
            run,
            trace,
            symbolic: failing.symbolic.as_deref(),
            kind: failing.failure.kind,
            failed_at: failing.failure.place().cloned(),
            begin,
            end,
            calls: &failing.calls,
            passing,
            between,
        }
    }

    /// Where the function that does both of two events calls the first of them.
    fn called(&self, event: usize, other: usize) -> Option<&'s Place> {
        let is_real = event < self.run.real && other < self.run.real;
        self.calls.beside(event, other).filter(|_| is_real)
    }

    fn event(&self, index: usize) -> &'s Event {
        &self.trace.events[index]
    }

    fn same_location(&self) -> bool {
        let at = |index: usize| self.event(index).kind.location();
        at(self.begin) == at(self.end)
    }

    fn pattern(&self) -> Pattern {
        let (a, b) = (&self.event(self.begin).kind, &self.event(self.end).kind);
        let guards = lock_like(self.run);
        let is_guard = |kind: &EventKind| kind.location().is_some_and(|at| guards.contains(&at));
        if matches!(self.kind, FailureKind::DoubleFree) {
            return Pattern::DoubleFree;
        }
        // What nobody else has written in between is not lost.
        let updates = reads(a) && writes(b) && self.same_location() && self.is_overwritten();
        if updates && self.flows() {
            return Pattern::LostUpdate;
        }
        if is_guard(a) && (is_guard(b) || self.same_location()) && reads(a) && self.is_unprotected()
        {
            return Pattern::BrokenLock;
        }
        match (reads(a) && !self.only_writes(), writes(a), reads(b), writes(b)) {
            (_, true, _, true) if self.torn().is_some() => Pattern::TornRead,
            (_, true, _, true)
                if !self.same_location()
                    && !self.is_again()
                    && !self.is_one_line()
                    && self.publishes() =>
            {
                Pattern::EarlyPublication
            }
            _ if updates
                && !self.looks_again()
                && !self.decides(|why| why == ConditionKind::Branch) =>
            {
                Pattern::LostUpdate
            }
            // Somebody sees what it was while it is being changed.
            (true, _, _, true)
                if self.same_location()
                    && !self.is_overwritten()
                    && !self.decides(|why| why == ConditionKind::Branch) =>
            {
                Pattern::AtomicityViolation
            }
            (true, ..) if self.decides(|_| true) => Pattern::CheckThenAct,
            (true, _, true, false) if !self.same_location() => Pattern::TornRead,
            (true, ..) => Pattern::CheckThenAct,
            (false, true, _, true) if !self.is_again() || self.is_seen_whole() => Pattern::TornRead,
            _ => Pattern::AtomicityViolation,
        }
    }

    /// Whether somebody writes in between what its end writes, or might have, where only the beginning is known.
    fn is_overwritten(&self) -> bool {
        let at = self.event(self.end).kind.location();
        let is_it = |index: &usize| {
            let kind = &self.event(*index).kind;
            kind.location() == at && writes(kind)
        };
        self.between.is_empty() || self.between.iter().any(is_it)
    }

    /// Whether its thread reads what its end writes once more, after the others have written it: then their updates count.
    fn looks_again(&self) -> bool {
        let at = self.event(self.end).kind.location();
        let is_it = |index: &usize| self.event(*index).kind.location() == at;
        let last =
            self.between.iter().rfind(|index| is_it(index) && writes(&self.event(**index).kind));
        let thread = self.event(self.begin).thread;
        let until = self.end.min(self.run.real);
        last.is_some_and(|last| {
            let is_read = |index: usize| {
                self.event(index).thread == thread
                    && is_it(&index)
                    && reads(&self.event(index).kind)
            };
            (last + 1..until).any(is_read)
                || matches!(self.event(self.end).kind, EventKind::ReadModifyWrite { .. })
        })
    }

    /// Whether its thread reads what it published before it comes to the end: then the two cannot change places. A pointer can be
    /// kept to itself until then.
    fn uses_published(&self) -> bool {
        if self.points_to_end() {
            return false;
        }
        let (at, thread) = (self.event(self.begin).kind.location(), self.event(self.begin).thread);
        (self.begin + 1..self.end).any(|index| {
            let event = self.event(index);
            event.thread == thread && event.kind.location() == at && reads(&event.kind)
        })
    }

    /// Whether what it read first, if it did, decides nothing and goes nowhere: it only wrote.
    fn only_writes(&self) -> bool {
        matches!(self.event(self.begin).kind, EventKind::ReadModifyWrite { .. })
            && writes(&self.event(self.begin).kind)
            && !self.flows()
            && !self.decides(|_| true)
    }

    /// Whether it ends with what it began with, in another round.
    fn is_again(&self) -> bool {
        self.event(self.begin).site == self.event(self.end).site
    }

    /// Whether somebody reads in between what both of its ends write.
    fn is_seen_whole(&self) -> bool {
        let at = |index: usize| self.event(index).kind.location();
        let reads = |by: usize, of: usize| {
            let is_it = |index: &usize| {
                at(*index) == at(of)
                    && reads(&self.event(*index).kind)
                    && self.event(*index).thread == self.event(by).thread
            };
            self.between.iter().any(is_it)
        };
        self.between.iter().any(|by| reads(*by, self.begin) && reads(*by, self.end))
    }

    /// Whether the others who come in between hold no lock that its thread holds: then no lock of the library is meant to keep
    /// them apart.
    fn is_unprotected(&self) -> bool {
        let all = held(self.trace);
        let of = |event: usize| {
            let thread = self.event(event).thread;
            all.iter()
                .filter(move |held| held.thread == thread && held.at(event))
                .map(|held| held.lock)
        };
        let own: Vec<LocationId> = of(self.end).collect();
        !self.between.iter().any(|index| of(*index).any(|lock| own.contains(&lock)))
    }

    /// The symbols that an event reads.
    fn symbols(&self, index: usize) -> Vec<SymbolId> {
        let shadow = self.symbolic.and_then(|symbolic| symbolic.shadows.get(index));
        shadow.map_or_else(Vec::new, |s| (s.first..s.first + s.reads).map(SymbolId).collect())
    }

    /// Whether what the end writes is computed from what the beginning read.
    fn flows(&self) -> bool {
        let Some(symbolic) = self.symbolic else {
            let samples = Samples::new(self.run, self.begin, self.end, self.passing);
            return samples.flows();
        };
        let read = self.symbols(self.begin);
        // What it would have written is not known of what it never did.
        // One that reads and writes in one step goes by what it finds.
        let Some(shadow) = symbolic.shadows.get(self.end) else {
            return !matches!(self.event(self.end).kind, EventKind::ReadModifyWrite { .. });
        };
        let first = (shadow.first + shadow.reads) as usize;
        symbolic.accesses[first..first + shadow.writes as usize].iter().any(|access| {
            symbolic.exprs.symbols(access.value).iter().any(|symbol| read.contains(symbol))
        })
    }

    /// Whether what the beginning read decides, by a branch or an address, what its thread does before the end or whether the
    /// failure comes.
    fn decides(&self, by: impl Fn(ConditionKind) -> bool) -> bool {
        let Some(symbolic) = self.symbolic else {
            let samples = Samples::new(self.run, self.begin, self.end, self.passing);
            return samples.decides();
        };
        let by_branch = by(ConditionKind::Branch);
        let read = self.symbols(self.begin);
        let thread = self.event(self.begin).thread;
        let depends =
            |expr| symbolic.exprs.symbols(expr).iter().any(|symbol| read.contains(symbol));
        let is_inside = |after: u32| (self.begin..self.end).contains(&(after as usize));
        let fails = match &symbolic.bug {
            Bug::Condition { fails, .. } => Some(*fails),
            _ => None,
        };
        // The branch after which everything fails is no condition any more; who comes to the end has still gone by it.
        let dooms = match &symbolic.bug {
            Bug::Condition { thread: by, after, fails } => {
                *by == thread
                    && self.end < self.run.real
                    && by_branch
                    && is_inside(*after)
                    && depends(*fails)
            }
            _ => false,
        };
        if dooms {
            return true;
        }
        symbolic.conditions.iter().any(|condition| {
            condition.thread == thread
                && by(condition.why)
                && is_inside(condition.after)
                && Some(condition.holds) != fails
                && depends(condition.holds)
        })
    }

    /// Whether somebody reads what the beginning writes, and then what the end has yet to write.
    fn publishes(&self) -> bool {
        let at = |index: usize| self.event(index).kind.location();
        let (flag, data) = (at(self.begin), at(self.end));
        let read = |location: Option<LocationId>| {
            self.between
                .iter()
                .find(|index| at(**index) == location && reads(&self.event(**index).kind))
        };
        let (Some(flag_read), Some(data_read)) = (read(flag), read(data)) else {
            // It may be told by what the flag points to.
            return self.points_to_end();
        };
        let goes_by = flag.is_some_and(|flag| self.run.is_branched(flag));
        flag_read < data_read && goes_by || self.points_to_end()
    }

    /// Whether both ends are in one line of the program, as those of a library's function are that it calls: nothing that the
    /// program could exchange.
    fn is_one_line(&self) -> bool {
        let line = |index: usize| self.trace.place(self.event(index)).map(SourceLine::from);
        line(self.begin) == line(self.end)
    }

    /// Where another thread reads something that was written in between, and then what the end has yet to write, while what the
    /// beginning writes tells of no data but counts its changes: it is written more than once, each time with another value.
    fn torn(&self) -> Option<(usize, usize)> {
        let at = |index: usize| self.event(index).kind.location();
        let (version, late, owner) =
            (at(self.begin)?, at(self.end)?, self.event(self.begin).thread);
        let is_own = |event: &&Event| event.thread == owner;
        let own = || self.trace.events.iter().filter(is_own);
        let changes = own()
            .filter(|event| event.kind.location() == Some(version))
            .filter_map(|event| super::samples::written(&event.kind))
            .collect::<Vec<_>>();
        let counts = changes.windows(2).all(|pair| pair[0] != pair[1])
            && changes.len() > 2
            && changes.iter().all(|one| changes.iter().filter(|other| *other == one).count() == 1);
        if version == late || !counts {
            return None;
        }
        let until = self.end.min(self.run.real);
        let early = |written: &usize| {
            let event = self.event(*written);
            event.thread == owner
                && writes(&event.kind)
                && ![Some(version), Some(late)].contains(&at(*written))
        };
        (self.begin + 1..until).filter(early).find_map(|written| {
            let new = (written + 1..until).find(|index| {
                let event = self.event(*index);
                event.thread != owner && at(*index) == at(written) && reads(&event.kind)
            })?;
            let old = (self.begin + 1..until).find(|index| {
                let event = self.event(*index);
                event.thread == self.event(new).thread
                    && at(*index) == Some(late)
                    && reads(&event.kind)
            })?;
            Some((new, old))
        })
    }

    /// Locks that keep nobody out: what its thread holds, and what the rival does, if both hold some but none in common.
    fn different_locks(&self) -> Option<String> {
        let rival = self.rival()?;
        let all = held(self.trace);
        let of = |index: usize| -> Vec<&LocationId> {
            let thread = self.event(index).thread;
            let holds = all.iter().filter(move |held| held.thread == thread && held.at(index));
            holds.map(|held| &held.lock).collect()
        };
        let (own, other) = (of(self.begin), of(rival));
        let place = |index: usize| self.trace.place(self.event(index)).map(Place::short);
        let name = |lock: &LocationId| self.trace.location(*lock).name.clone();
        let (first, then) = (own.last()?, other.last()?);
        (!own.iter().any(|lock| other.contains(lock))).then(|| {
            Some(format!(
                "{} is held at {}, but {} at {}: one lock has to be held at both",
                name(first),
                place(self.begin)?,
                name(then),
                place(rival)?
            ))
        })?
    }

    /// Whether the beginning writes the address of what the end writes.
    fn points_to_end(&self) -> bool {
        let value = match &self.event(self.begin).kind {
            EventKind::Write { value: Value::Word(word), .. } => *word,
            _ => return false,
        };
        let Some(at) = self.event(self.end).kind.location() else { return false };
        let object = &self.trace.objects[self.trace.location(at).object.0 as usize];
        (object.address..object.address + object.bytes.max(1)).contains(&value)
    }

    fn participant(&self, index: usize) -> Option<Participant> {
        Participant::of(self.trace, index)
    }

    /// The lines of the others.
    fn rivals(&self) -> String {
        let mut lines: Vec<SourceLine> = self
            .between
            .iter()
            .filter_map(|index| Some(self.trace.place(self.event(*index))?.into()))
            .collect();
        lines.sort();
        lines.dedup();
        lines.truncate(3);
        let lines: Vec<String> = lines.iter().map(SourceLine::short).collect();
        if lines.is_empty() { "others".to_owned() } else { lines.join(", ") }
    }

    /// Whether it only writes what it begins with and only reads what it ends with, and both are the same.
    fn writes_and_reads_again(&self) -> bool {
        let (a, b) = (&self.event(self.begin).kind, &self.event(self.end).kind);
        writes(a) && !reads(a) && !writes(b) && self.same_location()
    }

    /// The last that its thread did of it: the failing run may end before the stretch does, and what the thread looked at then is
    /// what it fails by.
    fn last(&self) -> usize {
        if self.end < self.run.real || !self.writes_and_reads_again() {
            return self.end;
        }
        let (at, thread) = (self.event(self.begin).kind.location(), self.event(self.begin).thread);
        let own = (self.begin + 1..self.run.real).rfind(|index| {
            let event = self.event(*index);
            event.thread == thread && event.kind.location() == at && reads(&event.kind)
        });
        own.filter(|own| self.between.first().is_some_and(|first| first < own)).unwrap_or(self.end)
    }

    /// The event in between that matters most: a write where the stretch reads, a read where it writes, the last of them.
    fn rival(&self) -> Option<usize> {
        let location = self.event(self.begin).kind.location();
        let begins_with_read = reads(&self.event(self.begin).kind);
        // What it wrote and looks at again is what somebody else has made of it.
        if self.writes_and_reads_again() {
            let made = |index: &&usize| {
                let event = self.event(**index);
                **index < self.last() && event.kind.location() == location && writes(&event.kind)
            };
            if let Some(made) = self.between.iter().rfind(made) {
                return Some(*made);
            }
        }
        let matters = |index: &&usize| {
            let kind = &self.event(**index).kind;
            writes(kind) == begins_with_read || matches!(kind, EventKind::Free { .. })
        };
        let here = |index: &&usize| self.event(**index).kind.location() == location;
        let candidates = || self.between.iter().filter(matters);
        candidates()
            .rfind(here)
            .or_else(|| candidates().next_back())
            .or(self.between.last())
            .copied()
    }

    fn clause(&self, index: usize) -> String {
        let event = self.event(index);
        let place = self.trace.place(event).map(Place::short).unwrap_or_default();
        // As the programmer writes it: a negative number, a pointer.
        let location = event.kind.location().and_then(|at| self.trace.locations.get(at.0 as usize));
        let show = |value: &Value| location.map_or_else(|| value.to_string(), |at| at.show(value));
        let value = match &event.kind {
            _ if index >= self.run.real => String::new(),
            EventKind::Read { value, .. } => format!(" (= {})", show(value)),
            EventKind::Write { value, .. } => format!(" = {}", show(value)),
            EventKind::ReadModifyWrite { old, new, .. } if old == new => {
                format!(" (= {})", show(old))
            }
            EventKind::ReadModifyWrite { old, new, .. } => {
                format!(" from {} to {}", show(old), show(new))
            }
            _ => String::new(),
        };
        let called = match (index == self.begin, index == self.end) {
            (true, _) => self.called(index, self.end),
            (_, true) => self.called(index, self.begin),
            _ => self.calls.apart(index, event.site),
        };
        let called = calls::said(called);
        // An exchange that failed, or that changed nothing.
        let does = match &event.kind {
            EventKind::ReadModifyWrite { old, new, .. } if old == new => "finds".to_owned(),
            kind => kind.does().to_string(),
        };
        format!("{does} {}{value} at {place}{called}", name(self.trace, index))
    }

    fn sentence(&self, pattern: Pattern) -> String {
        let owner = self.trace.thread_name(self.event(self.begin).thread);
        let (a, b) = (self.clause(self.begin), self.clause(self.last()));
        let rival = self.rival().map(|index| {
            format!("{} {}", self.trace.thread_name(self.event(index).thread), self.clause(index))
        });
        let rival = rival.unwrap_or_else(|| "another thread interferes".to_owned());
        match pattern {
            Pattern::LostUpdate => {
                format!(
                    "{owner} {a}; then {rival}; then {owner} {b}, over what the other has written: an update is lost"
                )
            }
            Pattern::CheckThenAct => {
                format!("{owner} {a} and goes by it; but {rival} before {owner} {b}")
            }
            Pattern::DoubleFree => {
                let freed = self
                    .failed_at
                    .as_ref()
                    .map_or_else(String::new, |at| format!(" at {}", at.short()));
                format!(
                    "{owner} {a}; then {rival}; then {owner} {b}: each goes by what it saw, and both free it{freed}"
                )
            }
            Pattern::TornRead if self.torn().is_some() => {
                let (new, old) = self.torn().unwrap_or((self.begin, self.end));
                let reader = self.trace.thread_name(self.event(new).thread);
                let place = self.trace.place(self.event(self.end)).map(Place::short);
                // Where the half that is new comes from.
                let is_source = |event: &&Event| {
                    event.thread == self.event(self.begin).thread
                        && writes(&event.kind)
                        && event.kind.location() == self.event(new).kind.location()
                };
                let source = self.trace.events[..new].iter().rev().find(is_source);
                let source = source.and_then(|event| self.trace.place(event));
                let source =
                    source.map_or_else(String::new, |place| format!(" at {}", place.short()));
                format!(
                    "{reader} {}, which {owner} has just written{source}, but {} before {owner} writes {} at {}: it sees half of the new and half of \
                     the old",
                    self.clause(new),
                    self.clause(old),
                    name(self.trace, self.end),
                    place.unwrap_or_default()
                )
            }
            Pattern::TornRead if writes(&self.event(self.begin).kind) && self.same_location() => {
                format!(
                    "{owner} {a} and then {b}; in between {rival}: it sees a value that was not meant for it"
                )
            }
            Pattern::TornRead if reads(&self.event(self.begin).kind) => format!(
                "{owner} {a} and {b}, which belong together; in between {rival}: it sees half of each"
            ),
            Pattern::TornRead => {
                format!(
                    "{owner} {a} and {b}, which belong together; in between {rival}: it sees one half only"
                )
            }
            Pattern::EarlyPublication => {
                format!("{owner} {a} too early: {rival} before {owner} {b}")
            }
            Pattern::BrokenLock => format!(
                "two threads get past {} at once: {owner} {a}; then {rival}; then {owner} {b}",
                name(self.trace, self.begin)
            ),
            _ => format!("{owner} {a}; then {rival}; then {owner} {b}"),
        }
    }
}

fn name(trace: &Trace, index: usize) -> String {
    if let EventKind::Descriptor { name } = &trace.events[index].kind {
        return name.clone();
    }
    trace.events[index]
        .kind
        .location()
        .map_or(String::new(), |at| trace.location(at).shown().to_owned())
}

fn reads(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Read { .. } | EventKind::ReadModifyWrite { .. })
}

pub fn writes(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Write { .. })
        || matches!(kind, EventKind::ReadModifyWrite { old, new, .. } if old != new)
}
