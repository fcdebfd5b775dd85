//! The simplest true pattern, by shields (design §14).
//!
//! The simplified failing run has few interruptions. Each splits a stretch of its thread; a stretch that no schedule fails
//! with when it is kept whole ([`Shield::Atomic`]) should have been atomic. Where none is, an order that keeps the failure away
//! ([`Shield::Order`]) should have held. Only what was tried, with the same schedules failing without, is said: the name comes from
//! what the stretch reads and writes, and the [`Evidence`] goes with it.
//!
//! An order that only keeps a thread from what it would find wrong is said last (`checks.rs`), after orders that have to come
//! together; then one with which the program fails in another way.
//!
//! `stretches.rs`, `orders.rs` and `environment.rs` propose, `trial.rs` tries on a `ground.rs`, `naming.rs` (with `samples.rs`) and
//! `ordering.rs` find pattern and words; `joins.rs` is about several threads that nobody waits for; `whole.rs` is about failures that come whenever every update counts; `vanishing.rs` tries one
//! failure's shields on another; `ended.rs` is about failures that only the end of the process keeps away; `blocked.rs` is about runs in which nobody can go on, `unsignalled.rs` about what changes and is not signalled or wakes the wrong one, `unwoken.rs` about what changes when somebody waits already who has looked at it, `units.rs` about semaphores that are taken one by one, `spinning.rs` about waits by looking, `retreat.rs` about locks that are tried and put back, `recheck.rs` about a condition that nobody
//! looks at again (`reasons.rs`: of several), `destruction.rs` about virtual calls on what is half destroyed: there the failing run itself is the evidence.

mod blocked;
mod checks;
mod destruction;
mod ended;
mod environment;
mod ground;
mod joins;
mod naming;
mod ordering;
mod orders;
mod reasons;
mod recheck;
mod retreat;
mod samples;
mod spinning;
mod stretches;
mod trial;
mod units;
mod unsignalled;
mod unwoken;
mod vanishing;
mod whole;

use std::cell::RefCell;

use unravel_results::{CausalOrder, Evidence, Kept, RootCause};
use unravel_trace::{
    Event, EventKind, FailureKind, Mark, Shield, SourceLine, ThreadName, Trace, Value, Verb,
};

use crate::answers::{IN_ANY_ORDER, is_answer};
use crate::budgets::{MOST_SHIELDS, MOST_TOGETHER, MOST_WAITS};
use crate::calls::Calls;
use crate::failing::Failing;
use crate::pattern::Words;
use crate::race::{self, Missing};
use crate::relevance::Relevance;
use checks::Check;
use environment::Late;
pub use ground::Ground;
pub use stretches::{Extended, Stretch, candidates};
use trial::{Trial, Trials};
pub use vanishing::vanishes;

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Said,
    /// All candidates were tried, and each leaves failures.
    NothingHelps,
    /// The failure shows too rarely for a trial, or there was no time for all.
    NotTried,
}

/// Says the root cause by a pattern that was tried, if there is one. `passing` are runs that pass, the nearest first.
pub fn explain(
    ground: &mut dyn Ground,
    failing: &Failing,
    relevance: &Relevance,
    passing: &[&Trace],
    cause: &mut RootCause,
) -> Verdict {
    if failing.failure.kind == FailureKind::Deadlock
        && let Some(words) = blocked::by_locks(failing)
            .or_else(|| units::describe(failing, passing))
            .or_else(|| units::with_lock(failing, passing))
            .or_else(|| unsignalled::describe(ground, failing))
            .or_else(|| blocked::describe(ground, failing))
    {
        put(cause, words, Evidence::Shown);
        return Verdict::Said;
    }
    let shown = recheck::missed(failing, relevance, ground.extents())
        .or_else(|| environment::not_acquired(failing, passing))
        .or_else(|| destruction::describe(failing))
        .or_else(|| spinning::describe(failing, passing))
        .or_else(|| retreat::describe(failing));
    if let Some(words) = shown {
        put(cause, words, Evidence::Shown);
        return Verdict::Said;
    }
    let mut trials = Trials::new(ground);
    if !trials.is_telling() {
        return said_by_free(failing, passing, cause).unwrap_or(Verdict::NotTried);
    }
    if let Some((words, evidence)) = by_answers(&mut trials, failing) {
        put(cause, words, evidence);
        return Verdict::Said;
    }
    if let Some((words, evidence)) = reasons::describe(&mut trials, failing) {
        put(cause, words, evidence);
        return Verdict::Said;
    }
    let run = Extended::new(&failing.observed.trace, passing, failing.symbolic.as_deref());
    if let Some((words, evidence)) = whole::describe(&mut trials, failing, relevance, passing, &run)
    {
        put(cause, words, evidence);
        return Verdict::Said;
    }
    if let Some((words, evidence)) = ended::describe(&mut trials, failing, passing) {
        put(cause, words, evidence);
        return Verdict::Said;
    }
    let check = Check::of(failing);
    let scene = Scene {
        failing,
        run,
        relevance,
        passing,
        check,
        avoiding: RefCell::default(),
        helping: RefCell::default(),
        otherwise: RefCell::default(),
    };
    let timed = failing.needs.iter().any(|needed| !is_answer(needed.kind));
    let first = match failing.failure.kind {
        // It needs time to run out: the order of what follows is not to blame.
        _ if timed => scene.by_environment(&mut trials, cause),
        FailureKind::UseAfterFree | FailureKind::DeadStack | FailureKind::SyncMisuse => {
            // That something is given back or lent too early is told first; whatever else comes in a wrong order may be a
            // stretch that was interrupted.
            scene.by_reference(&mut trials).or_else(|| {
                let candidates = orders::candidates(failing, cause, passing);
                scene.ordered(&mut trials, candidates, orders::Wanted::gives_back)
            })
        }
        _ => None,
    };
    let said = first
        .or_else(|| scene.by_environment(&mut trials, cause))
        // Nothing is simpler than a statement that should be one step, and it asks for no order.
        .or_else(|| scene.by_stretch(&mut trials, 1, |stretch| stretch.is_update))
        .or_else(|| scene.by_line(&mut trials, cause))
        .or_else(|| scene.by_early_order(&mut trials, cause, |order| !order.is_of_many()))
        .or_else(|| scene.by_joins(&mut trials, cause))
        .or_else(|| scene.by_early_order(&mut trials, cause, |_| true))
        .or_else(|| scene.by_stretch(&mut trials, MOST_SHIELDS, |stretch| !stretch.next_round))
        .or_else(|| scene.by_order(&mut trials, cause))
        .or_else(|| scene.by_other_orders(&mut trials))
        .or_else(|| scene.by_orders(&mut trials))
        // That a loop goes round without interruption is what one asks for last.
        .or_else(|| scene.by_stretch(&mut trials, MOST_SHIELDS, |_| true))
        .or_else(|| scene.by_return())
        .or_else(|| scene.by_avoiding(&mut trials))
        .or_else(|| scene.by_otherwise());
    let Some((words, evidence, orders)) = said else {
        let helpless = if trials.may_go_on() { Verdict::NothingHelps } else { Verdict::NotTried };
        return said_by_free(failing, passing, cause).unwrap_or(helpless);
    };
    if cause.orders.is_empty() {
        cause.orders = orders;
    }
    put(cause, words, evidence);
    Verdict::Said
}

/// Where the one order of the cause is that memory is freed before the use that failed, and a run with the use first passed, the two
/// runs show it, however rarely it happens.
fn said_by_free(failing: &Failing, passing: &[&Trace], cause: &mut RootCause) -> Option<Verdict> {
    let is_free = failing.failure.kind == FailureKind::UseAfterFree;
    if !is_free || cause.orders.len() != 1 || passing.is_empty() {
        return None;
    }
    let candidates = orders::candidates(failing, cause, passing);
    let wanted =
        candidates.iter().find(|wanted| ordering::is_free_before_failure(failing, wanted))?;
    put(cause, ordering::describe(failing, wanted), Evidence::Shown);
    Some(Verdict::Said)
}

/// Whether nothing fails where the environment answers as it usually does, and the words for it then.
fn by_answers(trials: &mut Trials<'_>, failing: &Failing) -> Option<(Words, Evidence)> {
    let Late { kept, mut words } = environment::answers(failing)?;
    let shields = [kept.shield];
    let is_promising = trials.may_go_on() && trials.quickly(&shields).is_promising();
    let trial = is_promising.then(|| trials.thoroughly(&shields))?;
    if trial.is_gone_of_all() {
        words.sentence += IN_ANY_ORDER;
    }
    trial.is_gone().then(|| (words, trial.evidence(vec![kept])))
}

/// The root cause of a failure that comes in every order of the threads, if it needs unusual answers.
pub fn explain_answered(ground: &mut dyn Ground, failing: &Failing) -> Option<RootCause> {
    let (words, evidence) = by_answers(&mut Trials::new(ground), failing)?;
    let mut cause = RootCause::unsaid();
    put(&mut cause, words, evidence);
    Some(cause)
}

/// The root cause of a failure that is nothing but threads that wait, from the failing run alone.
pub fn explain_blocked(failing: &Failing) -> Option<RootCause> {
    let words = blocked::in_every_schedule(failing)
        .filter(|_| failing.failure.kind == FailureKind::Deadlock)?;
    let mut cause = RootCause::unsaid();
    put(&mut cause, words, Evidence::Shown);
    Some(cause)
}

/// Whether nothing fails where a missing lock is held: what holds it already, and what should, are not interrupted.
pub fn by_lock(ground: &mut dyn Ground, missing: &Missing) -> Option<Evidence> {
    let mut kept: Vec<Kept> = Vec::new();
    for race::Stretch { from, to, events } in &missing.stretches {
        let shield = Shield::Atomic { from: from.0, to: to.0, most: *events, lock: None };
        if from.0 != to.0 && !kept.iter().any(|other| other.shield == shield) {
            kept.push(Kept { shield, from: from.1.clone(), to: to.1.clone() });
        }
    }
    let shields: Vec<Shield> = kept.iter().map(|kept| kept.shield).collect();
    let mut trials = Trials::new(ground);
    let is_promising =
        !shields.is_empty() && trials.may_go_on() && trials.quickly(&shields).is_promising();
    let trial = is_promising.then(|| trials.thoroughly(&shields))?;
    trial.is_gone().then(|| trial.evidence(kept))
}

fn put(cause: &mut RootCause, words: Words, evidence: Evidence) {
    let Words { pattern, sentence, advice, region } = words;
    *cause =
        RootCause { pattern, sentence, advice, region, evidence: Some(evidence), ..cause.clone() };
}

/// What is known of the failure.
struct Scene<'s> {
    failing: &'s Failing,
    run: Extended,
    relevance: &'s Relevance,
    passing: &'s [&'s Trace],
    /// What the failing thread demanded.
    check: Option<Check>,
    /// The first order that keeps the failure away by keeping its thread from the check.
    avoiding: RefCell<Option<(orders::Wanted, Trial)>>,
    /// The order that leaves the fewest failures, if none keeps all away.
    helping: RefCell<Option<(orders::Wanted, Trial)>>,
    /// The first order that keeps this failure away, with which the program fails in another way.
    otherwise: RefCell<Option<(orders::Wanted, Trial)>>,
}

type Said = (Words, Evidence, Vec<CausalOrder>);

fn of_order(wanted: &orders::Wanted, trial: &Trial) -> Evidence {
    trial.evidence(vec![kept_order(wanted)])
}

fn kept_order(wanted: &orders::Wanted) -> Kept {
    let (from, to) = (wanted.first.place.clone(), wanted.then.place.clone());
    Kept { shield: wanted.shield, from, to }
}

/// The shortest stretch inside of one that keeps the failure away, if it does so, too, and leaves no more of others.
fn narrower(
    trials: &mut Trials<'_>,
    (stretch, wide): (Stretch, Trial),
    candidates: &[Stretch],
    kept: &[Shield],
) -> (Stretch, Trial) {
    let is_inside = |other: &&Stretch| {
        other.begin >= stretch.begin
            && other.end <= stretch.end
            && other.length < stretch.length
            // What a lock guards is not to be mended where it is used.
            && !stretch.takes_lock
    };
    let mut inside: Vec<&Stretch> = candidates.iter().filter(is_inside).collect();
    inside.sort_by_key(|other| (other.length, other.begin));
    let narrow = inside.into_iter().find_map(|other| {
        let shields = [kept, &[other.shield]].concat();
        let is_promising = trials.may_go_on() && trials.quickly(&shields).is_promising();
        let trial = is_promising.then(|| trials.thoroughly(&shields))?;
        let is_enough =
            trial.is_gone() && (!wide.is_clean() || trial.is_clean() && trial.leaves_as_few(&wide));
        is_enough.then(|| (other.clone(), trial))
    });
    narrow.unwrap_or((stretch, wide))
}

impl Scene<'_> {
    fn trace(&self) -> &Trace {
        &self.failing.observed.trace
    }

    /// The stretch that should be atomic; with others of the same kind elsewhere, if the failure has more than one way.
    fn by_stretch(
        &self,
        trials: &mut Trials<'_>,
        most: usize,
        accept: impl Fn(&Stretch) -> bool,
    ) -> Option<Said> {
        let found = self.stretches(trials, &self.run, &[], most, &accept)?;
        let (first, trial) = (&found.0[0], &found.1);
        let shields: Vec<Shield> = found.0.iter().map(|stretch| stretch.shield).collect();
        // Without a symbolic trace another run has to show what follows from another value.
        let other = match self.failing.symbolic {
            Some(_) => None,
            None => trials.passing_trace(&shields),
        };
        let passing: Vec<&Trace> = self.passing.iter().copied().chain(&other).collect();
        let words = naming::describe(self.failing, &self.run, first, &found.0[1..], &passing);
        let kept = found.0.iter().map(|Stretch { shield, from, to, .. }| Kept {
            shield: *shield,
            from: from.clone(),
            to: to.clone(),
        });
        let orders = naming::orders(self.failing, &self.run, first);
        Some((words, trial.evidence(kept.collect()), orders))
    }

    /// Of what is freed in use: who used it had read where it is, and said that it uses it only later. That it is used before it is
    /// freed would be trivial; that the two are one step is what a count of users needs.
    fn by_reference(&self, trials: &mut Trials<'_>) -> Option<Said> {
        if self.failing.failure.kind != FailureKind::UseAfterFree {
            return None;
        }
        let trace = &self.run.trace;
        let is_user =
            |event: &Event| *trace.thread_name(event.thread) == self.failing.failure.thread;
        let used = trace.events[..self.run.real]
            .iter()
            .rposition(|event| is_user(event) && event.kind.location().is_some())?;
        let object =
            |index: usize| Some(trace.location(trace.events[index].kind.location()?).object);
        let freed = object(used)?;
        let known = &trace.objects[freed.0 as usize];
        let inside = known.address..known.address + known.bytes.max(1);
        self.by_stretch(trials, 1, |stretch| {
            let begin = &trace.events[stretch.begin];
            let reads_where = matches!(
                &begin.kind,
                EventKind::Read { value: Value::Word(at), .. } if inside.contains(at)
            );
            is_user(begin)
                && reads_where
                && stretch.end < used
                && naming::writes(&trace.events[stretch.end].kind)
                && object(stretch.end) != Some(freed)
        })
    }

    fn stretches(
        &self,
        trials: &mut Trials<'_>,
        run: &Extended,
        kept: &[Shield],
        left: usize,
        accept: &dyn Fn(&Stretch) -> bool,
    ) -> Option<(Vec<Stretch>, Trial)> {
        let mut best: Option<(Stretch, Trial)> = None;
        // Without this failure: where no other comes in its place, and where others do.
        let mut clean: Option<(Stretch, Trial)> = None;
        let mut unclean: Option<(Stretch, Trial)> = None;
        // Who called is known of the failing run alone.
        let (none, own) = (Calls::default(), std::ptr::eq(run, &self.run));
        let calls = if own { &self.failing.calls } else { &none };
        let mut candidates = stretches::candidates(run, self.relevance, calls, trials.extents());
        candidates.retain(|stretch| accept(stretch));
        for stretch in &candidates {
            if !trials.may_go_on() {
                break;
            }
            if kept.contains(&stretch.shield) {
                continue;
            }
            let shields = [kept, &[stretch.shield]].concat();
            let mut trial = trials.quickly(&shields);
            if trial.is_promising() {
                trial = trials.thoroughly(&shields);
                if trial.is_clean() {
                    // A program with several bugs goes on failing. A bug can show as several failures, too: then the stretch
                    // that leaves the fewest is the whole of it.
                    if clean.as_ref().is_none_or(|(_, other)| trial.leaves_fewer(other)) {
                        clean = Some((stretch.clone(), trial));
                    }
                    if trial.is_silent() {
                        break;
                    }
                    continue;
                }
                if trial.is_gone() {
                    unclean.get_or_insert((stretch.clone(), trial));
                    continue;
                }
            }
            if trial.follows && best.as_ref().is_none_or(|(_, other)| trial.share() < other.share())
            {
                best = Some((stretch.clone(), trial));
            }
        }
        if let Some(found) = clean {
            let (stretch, trial) = narrower(trials, found, &candidates, kept);
            return Some((vec![stretch], trial));
        }
        if !trials.may_go_on() {
            return None;
        }
        if let Some(found) = unclean {
            let (stretch, trial) = narrower(trials, found, &candidates, kept);
            return Some((vec![stretch], trial));
        }
        // Rarer, but not gone: the same can happen elsewhere.
        let (stretch, trial) = best.filter(|(_, trial)| trial.helps() && left > 1)?;
        let shields = [kept, &[stretch.shield]].concat();
        let other = trials.failing_trace(&shields, trial.failed_in?)?;
        let other = Extended::new(&other, self.passing, None);
        let (mut rest, trial) = self.stretches(trials, &other, &shields, left - 1, accept)?;
        rest.insert(0, stretch);
        Some((rest, trial))
    }

    /// A wait or a sleep that should not have been over yet, or the end of the process.
    fn by_environment(&self, trials: &mut Trials<'_>, cause: &RootCause) -> Option<Said> {
        let sleeps = environment::sleeps(self.failing, cause).into_iter().take(MOST_WAITS);
        let waits = environment::waits(self.failing, self.passing).into_iter().take(MOST_WAITS);
        let end = environment::end(self.failing, self.passing);
        sleeps.chain(waits).chain(end).find_map(|late| {
            let shields = [late.kept.shield];
            let is_promising = trials.may_go_on() && trials.quickly(&shields).is_promising();
            let trial = is_promising.then(|| trials.thoroughly(&shields))?;
            trial.is_gone().then(|| (late.words, trial.evidence(vec![late.kept]), Vec::new()))
        })
    }

    /// An order that should have held.
    fn by_order(&self, trials: &mut Trials<'_>, cause: &RootCause) -> Option<Said> {
        self.ordered(trials, orders::candidates(self.failing, cause, self.passing), |_| true)
    }

    /// The same where something is used that nobody has set up yet.
    fn by_early_order(
        &self,
        trials: &mut Trials<'_>,
        cause: &RootCause,
        accept: fn(&orders::Wanted) -> bool,
    ) -> Option<Said> {
        self.ordered(trials, self.early_uses(cause), accept)
    }

    fn early_uses(&self, cause: &RootCause) -> Vec<orders::Wanted> {
        // Who is blocked has not come too early: it waits.
        if self.failing.failure.kind == FailureKind::Deadlock {
            return Vec::new();
        }
        let mut candidates = orders::candidates(self.failing, cause, self.passing);
        candidates.retain(|order| order.is_early_use(self.trace()));
        candidates
    }

    /// A line that should be one step, where who comes too early for it waits for its thread later: then the two are meant to run at
    /// the same time.
    fn by_line(&self, trials: &mut Trials<'_>, cause: &RootCause) -> Option<Said> {
        let early = self.early_uses(cause);
        let is_joined = |run: &Trace, order: &orders::Wanted| {
            let used = run.events.iter().position(|event| {
                Mark::of_event(run, event) == order.then.mark
                    && *run.thread_name(event.thread) == order.then.thread
            });
            used.is_some_and(|used| {
                run.events[used..].iter().any(|event| match event.kind {
                    EventKind::Join { child } => *run.thread_name(child) == order.first.thread,
                    _ => false,
                })
            })
        };
        let together = early.iter().any(|order| {
            order.then.thread.is_ancestor_of(&order.first.thread)
                && self.passing.iter().any(|run| is_joined(run, order))
        });
        let accept = |stretch: &Stretch| {
            !stretch.next_round && SourceLine::from(&stretch.from) == SourceLine::from(&stretch.to)
        };
        together.then(|| self.by_stretch(trials, 1, accept))?
    }

    /// A thread that uses what several have not done yet, and should have waited for all of them.
    fn by_joins(&self, trials: &mut Trials<'_>, cause: &RootCause) -> Option<Said> {
        let wanted = joins::Unjoined::of(self.failing, &self.early_uses(cause))?;
        let shields = [wanted.shield()];
        let is_promising = trials.may_go_on() && trials.quickly(&shields).is_promising();
        let trial = is_promising.then(|| trials.thoroughly(&shields))?;
        if !trial.is_gone()
            || self.check.as_ref().is_some_and(|check| check.is_avoided(trials, &shields))
        {
            return None;
        }
        let joined = trials.passing_trace(&shields);
        let words = wanted.words(self.failing, joined.as_ref(), self.passing);
        let kept = Kept {
            shield: shields[0],
            from: wanted.late.place.clone(),
            to: wanted.early.place.clone(),
        };
        Some((words, trial.evidence(vec![kept]), Vec::new()))
    }

    fn ordered(
        &self,
        trials: &mut Trials<'_>,
        candidates: Vec<orders::Wanted>,
        accept: impl Fn(&orders::Wanted) -> bool,
    ) -> Option<Said> {
        for wanted in candidates.into_iter().filter(accept) {
            if !trials.may_go_on() {
                return None;
            }
            let shields = [wanted.shield];
            let quick = trials.quickly(&shields);
            if !quick.is_promising() {
                self.may_help(wanted, quick);
                continue;
            }
            let trial = trials.thoroughly(&shields);
            if !trial.is_gone() {
                match trial.is_other() {
                    true => drop(self.otherwise.borrow_mut().get_or_insert((wanted, trial))),
                    false => self.may_help(wanted, trial),
                }
                continue;
            }
            if self.check.as_ref().is_some_and(|check| check.is_avoided(trials, &shields)) {
                self.avoiding.borrow_mut().get_or_insert((wanted, trial));
                continue;
            }
            let words = self.announced(&wanted);
            let words = words.unwrap_or_else(|| ordering::describe(self.failing, &wanted));
            return Some((words, of_order(&wanted, &trial), Vec::new()));
        }
        None
    }

    /// The words for an order that who used something went by: another thread had announced it, and does it only after that. Which of
    /// several threads it is that does it, an order of two places leaves open.
    fn announced(&self, wanted: &orders::Wanted) -> Option<Words> {
        let orders::Wanted { first, then, shield, object, .. } = wanted;
        let is_told = matches!(first.verb, Verb::Writes | Verb::Updates)
            && matches!(then.verb, Verb::Reads | Verb::Updates);
        if !is_told || !matches!(shield, Shield::Order { .. }) {
            return None;
        }
        let others = self.trace().threads.iter().filter(|name| **name != then.thread);
        let others: Vec<ThreadName> = others.cloned().collect();
        ordering::announced_by_some(self.failing, then, first, object, &others, self.passing)
    }

    /// Orders of what the failure depends on that the root cause does not name: those between rounds of loops, for one.
    fn by_other_orders(&self, trials: &mut Trials<'_>) -> Option<Said> {
        let more = orders::of_run(self.trace(), self.relevance, trials.extents());
        self.ordered(trials, more, |_| true)
    }

    /// What lives on the stack of a function that has returned is gone: the failing run shows it.
    fn by_return(&self) -> Option<Said> {
        let returned = orders::Returned::of(self.failing, self.passing)?;
        Some((ordering::returned(self.failing, &returned), Evidence::Shown, Vec::new()))
    }

    /// Keeps the order that leaves the fewest failures.
    fn may_help(&self, wanted: orders::Wanted, trial: Trial) {
        let mut best = self.helping.borrow_mut();
        let is_better = best.as_ref().is_none_or(|(_, other)| trial.share() < other.share());
        if trial.follows && trial.helps() && is_better {
            *best = Some((wanted, trial));
        }
    }

    /// Several orders that have to hold together, each found in a run that fails in spite of the others.
    fn by_orders(&self, trials: &mut Trials<'_>) -> Option<Said> {
        let (first, mut trial) = self.helping.take()?;
        let mut kept = vec![first];
        while kept.len() < MOST_TOGETHER {
            let shields: Vec<Shield> = kept.iter().map(|wanted| wanted.shield).collect();
            let other = trials.failing_trace(&shields, trial.failed_in?)?;
            let more = orders::of_run(&other, self.relevance, trials.extents());
            let mut best: Option<(orders::Wanted, Trial)> = None;
            for wanted in more {
                if !trials.may_go_on() {
                    return None;
                }
                let all = [shields.as_slice(), &[wanted.shield]].concat();
                let mut tried = trials.quickly(&all);
                if tried.is_promising() {
                    tried = trials.thoroughly(&all);
                    if tried.is_gone() {
                        if self.check.as_ref().is_some_and(|check| check.is_avoided(trials, &all)) {
                            continue;
                        }
                        kept.push(wanted);
                        let words = ordering::together(self.failing, &kept);
                        let kept = kept.iter().map(kept_order);
                        return Some((words, tried.evidence(kept.collect()), Vec::new()));
                    }
                }
                let known = best.as_ref().map_or(trial.share(), |(_, known)| known.share());
                if tried.failed_in.is_some() && tried.share() < known {
                    best = Some((wanted, tried));
                }
            }
            let (wanted, tried) = best?;
            kept.push(wanted);
            trial = tried;
        }
        None
    }

    /// An order that keeps this failure away, and another shows.
    fn by_otherwise(&self) -> Option<Said> {
        let (wanted, trial) = self.otherwise.take()?;
        let mut words = ordering::describe(self.failing, &wanted);
        words.advice += "; with that alone, the program fails in another way";
        Some((words, of_order(&wanted, &trial), Vec::new()))
    }

    /// An order with which nobody comes to the check, if there is nothing better.
    fn by_avoiding(&self, trials: &mut Trials<'_>) -> Option<Said> {
        let (wanted, trial) = self.avoiding.take()?;
        let check = self.check.as_ref()?;
        let words = match check.never_holds(trials, self.passing) {
            true => check.unmet(self.failing, &wanted),
            false => check.avoided(ordering::describe(self.failing, &wanted)),
        };
        Some((words, of_order(&wanted, &trial), Vec::new()))
    }
}
