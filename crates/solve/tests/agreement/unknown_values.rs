//! Memory that nobody knows: a solver has to choose what it was before the run.

use unravel_solve::{Answer, Evaluator, Found, Model, Query, SolverChoice, Verdict, Wish};
use unravel_trace::{
    Access, Bug, CompareOp, Event, EventKind, Initial, LocationId, Rng, Shadow, SiteId, Step,
    SymbolId, Symbolic, ThreadId, ThreadName, Trace, Value,
};

use crate::traces::{at_least, cases, count, demand, generated};

/// The model with the values that were found.
fn completed(model: &Model, found: &Found) -> Model {
    let mut model = model.clone();
    found.initial.iter().for_each(|(cell, value)| model.set_initial(*cell, *value));
    model
}

/// If some order ends so with the values that memory had, one does with values that may be chosen.
pub fn are_found(choice: SolverChoice) {
    let (mut chosen, mut yes, mut no, mut unsaid) = (0, 0, 0, 0);
    for case in cases(choice, 3_000) {
        if matches!(case.model.bug(), Bug::Opaque) {
            // What was recorded depends on the values that are no longer known.
            continue;
        }
        let mut rng = Rng::new(case.seed);
        let mut generated = generated(case.seed);
        for initial in &mut generated.symbolic.initial {
            if rng.below(2) == 0 {
                initial.value = None;
            }
        }
        let model = Model::new(&generated.trace, &generated.symbolic).expect("consistent");
        for wish in [Wish::Fails, Wish::Passes] {
            let what = format!("{choice}, seed {}, {wish:?}", case.seed);
            let known = case.endings(wish).next().is_some();
            match choice.make().find(&Query::new(&model, wish)) {
                Answer::Yes(found) => {
                    demand(&completed(&model, &found), wish, &found.order, &what);
                    chosen += u64::from(found.initial.iter().any(|(_, value)| *value != 0));
                    yes += 1;
                    unsaid += u64::from(!known);
                }
                Answer::No => {
                    assert!(!known, "{what}: there is one");
                    no += 1;
                }
                Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
            }
        }
    }
    println!("{choice}: {yes} found, {unsaid} by other values, {chosen} by some; {no} not");
    assert!(count(choice, 3_000) < 100 || yes >= at_least(choice, 1_000), "{yes} found");
    assert!(chosen >= at_least(choice, 100), "{chosen} with values");
    assert!(unsaid >= at_least(choice, 5), "{unsaid} with other values");
    assert!(no >= at_least(choice, 100), "{no} without");
}

/// One thread reads what nobody knows, and fails if it is 77.
pub fn one_is_found(choice: SolverChoice) {
    let mut symbolic = Symbolic::default();
    let value = symbolic.exprs.symbol(SymbolId(0), 32);
    let wanted = symbolic.exprs.constant(77, 32);
    let fails = symbolic.exprs.compare(CompareOp::Eq, value, wanted);
    symbolic.accesses.push(Access { address: 0x1000, bytes: 4, value });
    symbolic.shadows.push(Shadow { first: 0, reads: 1, writes: 0 });
    symbolic.steps.push(Step { thread: ThreadId::MAIN, first: 0, events: 1 });
    symbolic.initial.push(Initial { address: 0x1000, bytes: 4, value: None });
    symbolic.bug = Bug::Condition { thread: ThreadId::MAIN, after: 0, fails };
    let kind = EventKind::Read { at: LocationId(0), value: Value::Word(77) };
    let trace = Trace {
        threads: vec![ThreadName::main()],
        events: vec![Event { thread: ThreadId::MAIN, site: SiteId(0), caller: None, kind }],
        ..Trace::default()
    };
    let model = Model::new(&trace, &symbolic).expect("consistent");
    let Answer::Yes(found) = choice.make().find(&Query::new(&model, Wish::Fails)) else {
        panic!("{choice}: 77 fails")
    };
    assert_eq!(found.initial.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [77]);
    let verdict = Evaluator::new(&completed(&model, &found)).evaluate(&found.order);
    assert!(matches!(verdict, Verdict::Fails { .. }), "{choice}: {verdict:?}");
}
