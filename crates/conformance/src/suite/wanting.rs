//! What is kept of a run if it is wanted, and what is refused.

use std::collections::BTreeSet;

use unravel_strategies::{Random, RunToBlock, YoungestFirst};
use unravel_trace::*;

use super::record::Record;
use super::{OUTCOME, SEEDS, function, run, visible_sets, with_threads};
use crate::{Engine, Sample};

/// Events are those of the schedule, and are kept only if they are wanted.
pub fn events_are_kept_if_wanted(engine: &mut dyn Engine) {
    for sample in with_threads() {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        let plain = run(&mut *executor, &all, &mut RunToBlock, &mut (), OUTCOME);
        assert!(plain.trace.events.is_empty() && plain.symbolic.is_none(), "{sample:?}");
        assert!(plain.paths.is_empty(), "{sample:?}");
        if !executor.can().has(Capability::Events) {
            continue;
        }
        let want = Want::only(Detail::Events);
        let kept = run(&mut *executor, &all, &mut RunToBlock, &mut (), want);
        assert_eq!(kept.schedule, plain.schedule, "{sample:?}");
        assert_eq!(kept.outcome, plain.outcome, "{sample:?}");
        assert!(!kept.trace.events.is_empty(), "{sample:?}");
        let located = kept.trace.sites.iter().map(|(site, _)| *site).collect::<BTreeSet<_>>();
        let sites = kept.trace.events.iter().map(|event| event.site);
        assert!(sites.clone().all(|site| located.contains(&site)), "{sample:?}");
    }
}

/// What two threads touch is learned, what one alone touches is not; and only if that is wanted.
pub fn what_is_shared_is_learned(engine: &mut dyn Engine) {
    let mut executor = engine.open(Sample::Sharing);
    if !executor.can().has(Capability::Learn) {
        return;
    }
    let want = Want { learn: true, ..OUTCOME };
    for visible in visible_sets(&*executor) {
        for seed in 0..SEEDS {
            let by = &mut Random::new(seed);
            let learning = run(&mut *executor, &visible, by, &mut (), want);
            let functions: BTreeSet<String> =
                learning.learned.iter().map(|site| function(&*executor, site)).collect();
            assert!(functions.contains("shares"), "seed {seed}: {functions:?}");
            assert!(!functions.contains("keeps"), "seed {seed}: {functions:?}");
            let by = &mut Random::new(seed);
            let plain = run(&mut *executor, &visible, by, &mut (), OUTCOME);
            assert!(plain.learned.is_empty());
            assert_eq!((plain.schedule, plain.outcome), (learning.schedule, learning.outcome));
        }
    }
}

/// The stack of every event begins where the event is.
pub fn stacks_are_kept_if_wanted(engine: &mut dyn Engine) {
    let mut executor = engine.open(Sample::LostUpdate);
    let [_, _, all] = visible_sets(&*executor);
    let plain = run(&mut *executor, &all, &mut RunToBlock, &mut (), OUTCOME);
    assert_eq!(plain.stacks, Stacks::default());
    if !executor.can().has(Capability::Stacks) {
        return;
    }
    let mut seen = Record::new();
    let want = Want { stacks: true, ..OUTCOME };
    let kept = run(&mut *executor, &all, &mut RunToBlock, &mut seen, want);
    let mut accesses = 0;
    for told in seen.events.iter().filter(|t| matches!(t.what.op, Op::Read | Op::Write)) {
        let stack = kept.stacks.get(told.number, told.what.site);
        let innermost = stack.first().unwrap_or_else(|| panic!("{told:?} has no stack"));
        assert_eq!(innermost.function.to_string(), function(&*executor, told.what.site));
        accesses += 1;
    }
    assert!(accesses >= 4, "two threads read and write");
}

/// What the program prints is kept to the byte if it is wanted, and not otherwise.
pub fn output_is_kept_if_wanted(engine: &mut dyn Engine) {
    for (sample, forth, back) in [
        (Sample::Prints, "one\ntwo\nend\n", "two\none\nend\n"),
        (Sample::Alone, "alone\n", "alone\n"),
        (Sample::LostUpdate, "", ""),
    ] {
        let mut executor = engine.open(sample);
        let none = VisibleSet::default();
        let plain = run(&mut *executor, &none, &mut RunToBlock, &mut (), OUTCOME);
        assert_eq!(plain.output, None, "{sample:?}");
        if !executor.can().has(Capability::Output) {
            continue;
        }
        let want = Want { output: true, ..OUTCOME };
        // Twice, because nothing of the first may be left.
        for _ in 0..2 {
            let kept = run(&mut *executor, &none, &mut RunToBlock, &mut (), want);
            let text = kept.output.as_deref().map(String::from_utf8_lossy);
            assert_eq!(text.as_deref(), Some(forth), "{sample:?}");
            let kept = run(&mut *executor, &none, &mut SecondFirst, &mut (), want);
            let text = kept.output.as_deref().map(String::from_utf8_lossy);
            assert_eq!(text.as_deref(), Some(back), "{sample:?}");
        }
    }
}

/// Creates all threads, then the youngest goes first.
struct SecondFirst;

impl Scheduler for SecondFirst {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let main = view.ready(ThreadId::MAIN);
        match main.filter(|ready| matches!(ready.pending.op, Op::Start | Op::Fork)) {
            Some(main) => Choice { thread: main.thread, events: 1 },
            None => Choice { events: 1, ..YoungestFirst.next(view) },
        }
    }
}

/// What an engine does not claim it refuses, by name, and executes nothing.
pub fn what_cannot_be_done_is_refused(engine: &mut dyn Engine) {
    let mut executor = engine.open(Sample::LostUpdate);
    let can = executor.can();
    assert_eq!(executor.guide().is_some(), can.has(Capability::Guided));
    let wants = [
        (Want::only(Detail::Events), Capability::Events),
        (Want::only(Detail::Symbolic), Capability::Symbolic),
        (Want::only(Detail::Separable), Capability::Separable),
        (Want { stacks: true, ..OUTCOME }, Capability::Stacks),
        (Want { prune_spins: true, ..OUTCOME }, Capability::PruneSpins),
        (Want { skip_rounds: true, ..OUTCOME }, Capability::PruneSpins),
        (Want { learn: true, ..OUTCOME }, Capability::Learn),
        (Want { output: true, ..OUTCOME }, Capability::Output),
    ];
    let (input, visible) = (Input::default(), VisibleSet::default());
    for (want, capability) in wants {
        let mut seen = Record::new();
        let job = Job { input: &input, visible: &visible, want };
        let refused = executor.run(&job, &mut RunToBlock, &mut seen).err();
        let expected = can.allow(want, Observes::Events).err();
        assert_eq!(refused, expected, "{capability}");
        assert_eq!(refused.is_some(), !can.has(capability), "{capability}");
        assert_eq!(refused.is_some(), seen.decisions.is_empty(), "{capability}");
        if let Some(error) = refused {
            assert!(matches!(error, EngineError::Cannot(_)), "{error}");
        }
    }
    if !can.has(Capability::Stacks) {
        let job = Job { input: &input, visible: &visible, want: OUTCOME };
        let mut seen = Record::of(Observes::EventsAndStacks);
        let refused = executor.run(&job, &mut RunToBlock, &mut seen).err();
        assert_eq!(refused, Some(EngineError::Cannot(Capability::Stacks)));
    }
}

/// Every site that could be visible has a place, and a key of its own; and so has every event.
pub fn sites_have_a_place_and_a_key(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        let mut seen = Record::new();
        run(&mut *executor, &all, &mut RunToBlock, &mut seen, OUTCOME);
        let sites = executor.sites();
        let mut keys = BTreeSet::new();
        for index in 0..sites.len() {
            let row = sites.get(SiteId(index as u32)).expect("a table has no holes");
            if let Some(key) = &row.site.key {
                assert!(keys.insert(key.clone()), "{sample:?}: {key:?} twice");
            }
            assert_eq!(row.accesses, all.contains(SiteId(index as u32)));
        }
        assert!(sites.get(SiteId(sites.len() as u32)).is_none());
        for site in all.iter() {
            let row = sites.get(site).expect("a visible site has a row");
            assert!(row.site.place.line > 0, "{sample:?}: {:?}", row.site.place);
            let key = row.site.key.as_ref().expect("a visible site has a name");
            assert!(!key.function.is_empty(), "{sample:?}: {key:?}");
        }
        for told in &seen.events {
            let row = sites.get(told.what.site);
            assert!(row.is_some(), "{sample:?}: {told:?}");
            let accesses = matches!(told.what.op, Op::Read | Op::Write | Op::Update);
            assert!(!accesses || all.contains(told.what.site), "{sample:?}: {told:?}");
        }
    }
}
