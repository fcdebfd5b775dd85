//! Explanations that are hard for a page: one that wants to run scripts, one of very long runs.

use super::explained::{diagnosed, explanation, put_aside};
use super::*;

/// What an injected script would set.
pub const INJECTION: &str = "</script><script>window.pwned=1</script>\"><img src=x onerror=\"window.pwned=1\"><!--<svg onload='window.pwned=1'>";

/// The lost update of a program whose every name is [`INJECTION`].
pub fn injected() -> (Explanation, Sources) {
    let (mut diagnosis, _) = lost_update();
    let bad = || INJECTION.to_owned();
    diagnosis.program = bad();
    diagnosis.notes = vec![bad()];
    diagnosis.effort.solver = Some(bad());
    let alternate = &mut diagnosis.alternates[0];
    alternate.goal = bad();
    alternate.projection.flows.iter_mut().for_each(|change| change.location = bad());
    alternate.projection.branches = vec![BranchChange {
        thread: thread("T0.1"),
        failing: Some(7),
        alternate: Some(6),
        after: Some(injected_place(13)),
    }];
    for trace in [&mut diagnosis.failing.trace, &mut alternate.run.trace] {
        trace.locations.iter_mut().for_each(|location| location.name = bad());
        trace.sites.iter_mut().for_each(|(_, site)| site.place = injected_place(site.place.line));
        trace.events[3].kind = EventKind::External { name: bad() };
    }
    let cause = diagnosis.root_cause.as_mut().unwrap();
    cause.sentence = bad();
    cause.advice = bad();
    cause.region = vec![injected_place(12), injected_place(13)];
    for order in &mut cause.orders {
        order.object = bad();
        for who in [&mut order.first, &mut order.second] {
            who.place = injected_place(who.place.line);
        }
    }
    let failure = &mut diagnosis.failure;
    failure.message = bad();
    failure.stack = vec![injected_place(31), injected_place(12)];
    failure.related = vec![Related { message: bad(), stack: vec![injected_place(13)] }];
    let second = diagnosis.alternates[0].clone();
    diagnosis.alternates.push(second);
    let mut bug = diagnosed(diagnosis);
    bug.trace = bad();
    bug.replay = bad();
    let mut all = explanation(vec![bug]);
    all.program = bad();
    all.command = bad();
    all.notes = vec![bad()];
    all.explored.strategy = bad();
    all.explored.tally.notes = vec![Note::Other(bad())];
    all.put_aside = vec![PutAside { reason: bad(), ..put_aside(INJECTION, 1) }];
    let mut unknown = explained::undiagnosed();
    unknown.verdict = Verdict::Undiagnosed { reason: bad() };
    all.bugs.push(unknown);
    let source = vec![INJECTION; 40].join("\n");
    (all, Sources::none().with(INJECTION, &source))
}

fn injected_place(line: u32) -> Place {
    Place { function: INJECTION.into(), file: INJECTION.into(), ..place(line) }
}

/// Two runs of at least `events` events each, with a lost update in the middle.
pub fn long(events: usize) -> (Explanation, Sources) {
    let workers = ["T0.1", "T0.2", "T0.3"];
    let failure = failure(FailureKind::Assertion, "assertion 'total == 300' failed", "T0", 31);
    let rounds = events / 12;
    let busy = |mut run: RunBuilder, from: usize, to: usize| {
        for round in from..to {
            let cell = format!("cells[{}]", round % 64);
            for worker in workers {
                run = run.lock(worker, 16, "mutex").read(worker, 17, &cell, round as u64);
                run = run.write(worker, 17, &cell, round as u64 + 1).unlock(worker, 18, "mutex");
            }
        }
        run
    };
    let begin = || busy(RunBuilder::new(&["T0", "T0.1", "T0.2", "T0.3"]), 0, rounds / 2);
    let first = (rounds / 2 * 12) as u32;
    let failing = begin()
        .read("T0.1", 12, "total", 100)
        .read("T0.2", 12, "total", 100)
        .write("T0.2", 13, "total", 200)
        .write("T0.1", 13, "total", 200);
    let failing = busy(failing, rounds / 2, rounds).read("T0", 31, "total", 200).fail(&failure);
    let passing = begin()
        .read("T0.1", 12, "total", 100)
        .write("T0.1", 13, "total", 200)
        .read("T0.2", 12, "total", 200)
        .write("T0.2", 13, "total", 300);
    let passing = busy(passing, rounds / 2, rounds).read("T0", 31, "total", 300).pass();
    let last = failing.trace.events.len() as u32 - 1;
    let involved: Vec<u32> = (first..first + 4).chain([last]).collect();
    let change = |failing, alternate| FlowChange { location: "total".into(), failing, alternate };
    let projection = Projection {
        failing: involved.clone(),
        alternate: involved,
        flows: vec![
            change(flow(None, first + 1), flow(Some(first + 1), first + 2)),
            change(flow(Some(first + 3), last), flow(Some(first + 3), last)),
        ],
        branches: vec![],
        all_flows: last,
    };
    let who = |event| participant(&failing, event, true);
    let cause = RootCause {
        orders: vec![
            order(who(first), who(first + 2), "total", &passing),
            order(who(first + 1), who(first + 3), "total", &passing),
        ],
        region: vec![place(12), place(13)],
        ..lost_update().0.root_cause.unwrap()
    };
    let mut diagnosis = diagnosis(failure, failing);
    diagnosis.root_cause = Some(cause);
    diagnosis.alternates = vec![alternate(passing, projection)];
    (explanation(vec![diagnosed(diagnosis)]), lost_update().1)
}

/// Lost updates of so many threads, each of which matters, in lines that are long.
pub fn threads(number: usize) -> (Explanation, Sources) {
    let workers: Vec<String> = (1..=number).map(|n| format!("T0.{n}")).collect();
    let names: Vec<&str> =
        std::iter::once("T0").chain(workers.iter().map(String::as_str)).collect();
    let object = "accounts_of_all_customers[17].balance";
    let failure = failure(FailureKind::Assertion, "assertion 'total == 300' failed", "T0", 31);
    let mut failing = RunBuilder::new(&names);
    for worker in &workers {
        failing = failing.read(worker, 12, object, 100);
    }
    for worker in &workers {
        failing = failing.write(worker, 13, object, 200);
    }
    let failing = failing.read("T0", 31, object, 200).fail(&failure);
    let mut passing = RunBuilder::new(&names);
    for (number, worker) in workers.iter().enumerate() {
        let before = 100 * (number as u64 + 1);
        passing = passing.read(worker, 12, object, before).write(worker, 13, object, before + 100);
    }
    let passing = passing.read("T0", 31, object, 100 * (number as u64 + 1)).pass();
    let number = number as u32;
    let all: Vec<u32> = (0..=2 * number).collect();
    let change = |read: u32| FlowChange {
        location: object.into(),
        failing: flow(None, read),
        alternate: flow(Some(2 * read - 1), 2 * read),
    };
    let projection = Projection {
        failing: all.clone(),
        alternate: all,
        flows: (1..number).map(change).collect(),
        branches: vec![],
        all_flows: 2 * number,
    };
    let who = |event| participant(&failing, event, true);
    let cause = RootCause {
        orders: vec![
            order(who(0), who(number + 1), object, &passing),
            order(who(1), who(number), object, &passing),
        ],
        region: vec![place(12), place(13)],
        ..lost_update().0.root_cause.unwrap()
    };
    let mut diagnosis = diagnosis(failure, failing);
    diagnosis.root_cause = Some(cause);
    diagnosis.alternates = vec![alternate(passing, projection)];
    let mut lines: Vec<String> = (1..=40).map(|line| format!("    line({line});")).collect();
    lines[11] = format!(
        "\tlong seen_by_this_thread_alone = {object}; /* what others do meanwhile is not seen here */"
    );
    lines[12] = format!(
        "\t{object} = seen_by_this_thread_alone + amount_of_the_deposit(customer, branch_office);"
    );
    lines[30] = format!(
        "\tassert({object} == what_all_deposits_together_should_have_made_of_it(customer));"
    );
    let sources = Sources::none().with(FILE, &lines.join("\n"));
    (explanation(vec![diagnosed(diagnosis)]), sources)
}
