//! Logs of the machine replay in the machine: a complete log at the first attempt, partial ones once they are put together.

use std::path::{Path, PathBuf};

use unravel_coop::{
    Attempts, Candidates, Collection, Coverage, Elements, Ending, Heuristic, LogId, Metric, Mode,
    Oracle, Surveyed, draw, escape, known_orders, record, survey,
};
use unravel_execute::{Laboratory, Silence};
use unravel_program::build::{BuildSpec, Builder};
use unravel_strategies::Production;
use unravel_trace::{Detail, Input, Rng, VisibleSet};
use unravel_vm::{Options, Vm};

fn corpus(source: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(source)
}

struct Studied {
    program: unravel_code::Program,
    vm: Vm,
    input: Input,
    surveyed: Surveyed,
    complete: Collection,
}

/// Complete logs of so many failing runs.
fn study(source: &str, args: &[&str], failing: usize) -> Studied {
    let built = Builder::from_env().open(&BuildSpec::new(vec![corpus(source)])).expect("it builds");
    let lower = || unravel_program::load(&built.bitcode).expect("it is lowered");
    let options = Options { program_name: "test".into(), ..Options::default() };
    let mut vm = Vm::new(lower(), options).expect("a machine");
    let program = lower();
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    let input = Input { args, ..Input::default() };
    let _silence = Silence::begin().expect("silence");
    let mut lab = Laboratory::new(&mut vm, input.clone(), VisibleSet::default());
    let surveyed = survey(&mut lab, &program, Mode::Orders, &Default::default());
    let mut elements =
        Elements::new(Mode::Orders, &program, surveyed.table.clone(), &surveyed.sites);
    let ids = surveyed.table.iter().map(|element| element.id).collect();
    let mut complete = Collection::new(ids);
    let mut found = 0;
    for run in 0..100_000 {
        let mut by = Production::new(Rng::derive(9, run));
        let (_, log) = record(&mut lab, &mut elements, &mut by, (0, LogId(u128::from(run))));
        if let Some(log) = log.filter(|log| log.ending != Ending::Passed) {
            complete.add(&log).expect("its elements are known");
            found += 1;
        }
        if found == failing {
            break;
        }
    }
    assert_eq!(found, failing, "{source} fails seldom");
    Studied { program, vm, input, surveyed, complete }
}

impl Studied {
    fn attempts(&mut self, logs: &Collection, heuristic: Heuristic) -> Option<u32> {
        let _silence = Silence::begin().expect("silence");
        let visible = self.surveyed.visible.clone();
        let mut lab = Laboratory::new(&mut self.vm, self.input.clone(), visible);
        let (table, sites) = (self.surveyed.table.clone(), &self.surveyed.sites);
        let mut elements = Elements::new(Mode::Orders, &self.program, table, sites);
        let group = logs.group(logs.failures()[0].0);
        let attempts = Attempts { most: 500, fills: 0, seed: 1 };
        let mut oracle = Oracle { lab: &mut lab, elements: &mut elements, attempts };
        let candidates = Candidates::new(&group, heuristic, Metric::Dsim);
        oracle.replay(&group, candidates, |_| true).0.map(|replayed| replayed.attempt)
    }
}

/// All of an execution that decides is in the vectors of all elements: each complete log alone makes its run fail again. A process has
/// room for one machine, so the programs come one after another.
#[test]
fn logs_of_the_machine_replay_in_the_machine() {
    let programs: [(&str, &[&str]); 6] = [
        ("sync/piper/piper.c", &[]),
        ("sync/boundedbuffer/boundedbuffer.c", &[]),
        ("real/weblech/weblech.c", &[]),
        ("atomicity/manager/manager.c", &["3", "5"]),
        ("deadlock/deadlock/deadlock.c", &[]),
        ("data-race/producerconsumer/producerconsumer.c", &[]),
    ];
    for (source, args) in programs {
        let mut studied = study(source, args, 20);
        orders_are_those_of_runs(&mut studied, source);
        let complete = studied.complete.clone();
        let (failure, _) = complete.failures()[0];
        for log in complete.group(failure).failing {
            let alone = complete.parts(|other| match other == log {
                true => (0..complete.elements().len() as u32).collect(),
                false => Vec::new(),
            });
            assert_eq!(studied.attempts(&alone, Heuristic::Sgm), Some(1), "{source}: log {log}");
        }
        let elements = complete.elements().len();
        let each = Coverage::Percent(75).of(elements);
        let partial = complete.parts(|log| draw(&mut Rng::new(log as u64), elements, each));
        assert!(studied.attempts(&partial, Heuristic::Dgm).is_some(), "{source} at 75 %");
        // The escape analysis finds at least what runs do.
        let escape = escape(&studied.program);
        for element in &studied.surveyed.table {
            let name = element.name.split(['.', '[', '#']).next().unwrap_or_default();
            let globals = &studied.program.globals;
            if let Some(global) = globals.iter().find(|global| global.name == name) {
                assert!(escape.may_be_shared(global.address), "{source}: {}", element.name);
            }
        }
    }
}

/// What a log says of orders is found again on the paths of its run: every place where a vector goes from one thread to another, and in
/// the trace of that very run the first is before the second.
fn orders_are_those_of_runs(studied: &mut Studied, source: &str) {
    let _silence = Silence::begin().expect("silence");
    let visible = studied.surveyed.visible.clone();
    let mut lab = Laboratory::new(&mut studied.vm, studied.input.clone(), visible.clone());
    let (table, sites) = (studied.surveyed.table.clone(), &studied.surveyed.sites);
    let mut elements = Elements::new(Mode::Orders, &studied.program, table, sites);
    for seed in 0..20 {
        let mut by = Production::new(Rng::derive(4, seed));
        let (run, log) = record(&mut lab, &mut elements, &mut by, (0, LogId(1)));
        let log = log.expect("it ends");
        let again = lab.replay(&run.schedule, Detail::Events);
        let orders = known_orders(&mut elements, &log, &again.trace, &visible);
        let changes = |vector: &[_]| vector.windows(2).filter(|two| two[0] != two[1]).count();
        let expected: usize = log.vectors.iter().map(|(_, vector)| changes(vector)).sum();
        // The access that a run fails at is logged, and is no event of its trace.
        let cut = usize::from(log.ending != Ending::Passed);
        let all = expected.saturating_sub(cut)..=expected;
        assert!(
            all.contains(&orders.len()),
            "{source}, seed {seed}: {} of {expected}",
            orders.len()
        );
        assert!(orders.iter().all(|(first, second)| first < second), "{source}: {orders:?}");
    }
}
