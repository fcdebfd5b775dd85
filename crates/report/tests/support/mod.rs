//! Diagnoses made by hand.

#![allow(dead_code, reason = "every test file uses some of it")]

pub mod caused;
pub mod explained;
pub mod hunted;
pub mod pages;

use unravel_report::Sources;
use unravel_results::*;
use unravel_trace::*;

pub const FILE: &str = "src/bank.c";

pub fn thread(name: &str) -> ThreadName {
    ThreadName(name.split('.').skip(1).map(|n| n.parse().unwrap()).collect())
}

pub fn place(line: u32) -> Place {
    Place { function: "worker".into(), file: FILE.into(), line, column: 5, wrapper: false }
}

/// Builds a run event by event. A site is a line and a kind of event, so that runs have the same ones.
#[derive(Default)]
pub struct RunBuilder {
    trace: Trace,
}

impl RunBuilder {
    pub fn new(threads: &[&str]) -> RunBuilder {
        let threads = threads.iter().map(|name| thread(name)).collect();
        RunBuilder { trace: Trace { threads, ..Trace::default() } }
    }

    pub fn location(&mut self, name: &str) -> LocationId {
        if let Some(found) = self.trace.locations.iter().position(|l| l.name == name) {
            return LocationId(found as u32);
        }
        let number = self.trace.locations.len() as u32;
        let object = Object { name: name.into(), address: 64, bytes: 8, site: None };
        self.trace.objects.push(object);
        let (object, name) = (ObjectId(number), name.to_owned());
        let shape = Shape::Unknown;
        self.trace.locations.push(Location { object, offset: 0, bytes: 8, name, shape });
        LocationId(number)
    }

    pub fn event(mut self, name: &str, line: u32, kind: EventKind) -> RunBuilder {
        let verb: u32 = kind.verb().bytes().map(u32::from).sum();
        let site = SiteId(line * 10_000 + verb);
        if let Err(at) = self.trace.sites.binary_search_by_key(&site, |(id, _)| *id) {
            self.trace
                .sites
                .insert(at, (site, Site { place: place(line), inlined_at: vec![], key: None }));
        }
        let thread = self.trace.threads.iter().position(|n| *n == thread(name)).unwrap();
        self.trace.events.push(Event { thread: ThreadId(thread as u32), site, caller: None, kind });
        self
    }

    pub fn read(mut self, thread: &str, line: u32, name: &str, value: u64) -> RunBuilder {
        let at = self.location(name);
        self.event(thread, line, EventKind::Read { at, value: Value::Word(value) })
    }

    pub fn write(mut self, thread: &str, line: u32, name: &str, value: u64) -> RunBuilder {
        let at = self.location(name);
        self.event(thread, line, EventKind::Write { at, value: Value::Word(value) })
    }

    pub fn lock(mut self, thread: &str, line: u32, name: &str) -> RunBuilder {
        let at = self.location(name);
        self.event(thread, line, EventKind::Lock { at, shared: false })
    }

    pub fn unlock(mut self, thread: &str, line: u32, name: &str) -> RunBuilder {
        let at = self.location(name);
        self.event(thread, line, EventKind::Unlock { at })
    }

    pub fn fork(self, thread: &str, line: u32, child: u32) -> RunBuilder {
        self.event(thread, line, EventKind::Fork { child: ThreadId(child) })
    }

    pub fn join(self, thread: &str, line: u32, child: u32) -> RunBuilder {
        self.event(thread, line, EventKind::Join { child: ThreadId(child) })
    }

    pub fn end(self, outcome: Outcome) -> Observed {
        let mut segments: Vec<Segment> = Vec::new();
        for event in &self.trace.events {
            match segments.last_mut() {
                Some(last) if last.thread == event.thread.0 => last.events += 1,
                _ => segments.push(Segment { thread: event.thread.0, events: 1 }),
            }
        }
        let threads = self.trace.threads.clone();
        let schedule = Schedule { threads, segments, ..Schedule::default() };
        Observed { trace: self.trace, schedule, outcome }
    }

    pub fn pass(self) -> Observed {
        self.end(Outcome::Exited { code: 0 })
    }

    pub fn fail(self, failure: &Failure) -> Observed {
        self.end(Outcome::Failed(Box::new(failure.clone())))
    }
}

pub fn failure(kind: FailureKind, message: &str, name: &str, line: u32) -> Failure {
    let stack = vec![Place { function: "main".into(), ..place(line) }];
    Failure { kind, message: message.into(), thread: thread(name), stack, related: vec![] }
}

/// An event of a run as a participant; `known` says whether the failing run has it.
pub fn participant(run: &Observed, event: u32, known: bool) -> Participant {
    let own = &run.trace.events[event as usize];
    let before = &run.trace.events[..event as usize];
    let same = before.iter().filter(|e| e.thread == own.thread && e.site == own.site);
    Participant {
        key: EventKey {
            thread: run.trace.thread_name(own.thread).clone(),
            site: own.site,
            occurrence: same.count() as u32,
        },
        place: run.trace.site(own.site).unwrap().place.clone(),
        verb: own.kind.does(),
        event: known.then_some(event),
        called: None,
    }
}

pub fn order(first: Participant, second: Participant, object: &str, run: &Observed) -> CausalOrder {
    let witness = Some(run.schedule.clone());
    CausalOrder { first, second, object: object.into(), witness }
}

pub fn alternate(run: Observed, projection: Projection) -> Alternate {
    let operations = projection.failing.len().max(projection.alternate.len()) as u32;
    let data_flow = projection.flows.iter().filter(|f| f.alternate.is_some()).count() as u32;
    Alternate {
        run,
        same_path: projection.branches.is_empty(),
        distance: Distance { data_flow, segments: 1, switches: 2, operations },
        minimality: Minimality::Proved,
        projection,
        goal: "local".into(),
        usual_answers: false,
    }
}

pub fn diagnosis(failure: Failure, failing: Observed) -> Diagnosis {
    Diagnosis {
        program: "bank".into(),
        failure,
        status: Status::Confirmed,
        failing,
        switches_given: 9,
        root_cause: None,
        race: None,
        alternates: vec![],
        effort: Effort {
            evaluated: 1204,
            executed: 312,
            solver: Some("z3".into()),
            queries: 4,
            ..Effort::default()
        },
        notes: vec![],
        certified: None,
    }
}

pub fn flow(from: Option<u32>, to: u32) -> Option<Flow> {
    Some(Flow { from, to })
}

/// Two threads add to `total`; the second reads before the first has written.
pub fn lost_update() -> (Diagnosis, Sources) {
    let threads = ["T0", "T0.1", "T0.2"];
    let failure = failure(FailureKind::Assertion, "assertion 'total == 300' failed", "T0", 31);
    let begin = || {
        RunBuilder::new(&threads)
            .write("T0", 25, "total", 100)
            .write("T0", 26, "rate", 7)
            .fork("T0", 27, 1)
            .fork("T0", 28, 2)
    };
    let failing = begin()
        .read("T0.1", 12, "total", 100)
        .read("T0.2", 12, "total", 100)
        .write("T0.2", 13, "total", 200)
        .write("T0.1", 13, "total", 200)
        .join("T0", 29, 1)
        .join("T0", 30, 2)
        .read("T0", 31, "total", 200)
        .fail(&failure);
    let passing = begin()
        .read("T0.1", 12, "total", 100)
        .write("T0.1", 13, "total", 200)
        .read("T0.2", 12, "total", 200)
        .write("T0.2", 13, "total", 300)
        .join("T0", 29, 1)
        .join("T0", 30, 2)
        .read("T0", 31, "total", 300)
        .pass();
    let location = || "total".to_owned();
    let projection = Projection {
        failing: vec![0, 4, 5, 6, 7, 8, 10],
        alternate: vec![4, 5, 6, 7, 8, 10],
        flows: vec![
            FlowChange {
                location: location(),
                failing: flow(Some(0), 5),
                alternate: flow(Some(5), 6),
            },
            FlowChange {
                location: location(),
                failing: flow(Some(7), 10),
                alternate: flow(Some(7), 10),
            },
        ],
        branches: vec![],
        all_flows: 4,
    };
    let who = |event| participant(&failing, event, true);
    let cause = RootCause {
        orders: vec![
            order(who(4), who(6), "total", &passing),
            order(who(5), who(7), "total", &passing),
        ],
        pattern: Pattern::LostUpdate,
        sentence:
            "T0.1 and T0.2 both read total (bank.c:12 and bank.c:12) before either writes it back \
                   (bank.c:13 and bank.c:13): one update is lost"
                .into(),
        advice: "reading and writing total should be one atomic step: from bank.c:12 to bank.c:13"
            .into(),
        region: vec![place(12), place(13)],
        kept_and_failed: 300,
        evidence: None,
        proved_on_path: true,
    };
    let mut diagnosis = diagnosis(failure, failing);
    diagnosis.root_cause = Some(cause);
    diagnosis.alternates = vec![alternate(passing, projection)];
    let source = lines(&[
        (12, "  int seen = total;"),
        (13, "  total = seen + 100;"),
        (25, "  total = 100;"),
        (26, "  rate = 7;"),
        (27, "  pthread_create(&first, NULL, worker, NULL);"),
        (28, "  pthread_create(&second, NULL, worker, NULL);"),
        (29, "  pthread_join(first, NULL);"),
        (30, "  pthread_join(second, NULL);"),
        (31, "  assert(total == 300);"),
    ]);
    (diagnosis, Sources::none().with(FILE, &source))
}

/// The main thread uses `config` before the other has set it, and crashes: the write never happens.
pub fn order_violation() -> (Diagnosis, Sources) {
    let failure = failure(FailureKind::NullDereference, "null pointer is read", "T0", 41);
    let begin = || RunBuilder::new(&["T0", "T0.1"]).fork("T0", 40, 1);
    let failing = begin().read("T0", 41, "config", 0).fail(&failure);
    let passing = begin()
        .write("T0.1", 20, "config", 0x1000_0000_4020)
        .read("T0", 41, "config", 0x1000_0000_4020)
        .read("T0", 42, "config->level", 3)
        .pass();
    let cause = RootCause {
        orders: vec![order(
            participant(&failing, 1, true),
            participant(&passing, 1, false),
            "config",
            &passing,
        )],
        pattern: Pattern::OrderViolation,
        sentence: "T0 reads config at bank.c:41 before T0.1 writes config at bank.c:20, which comes too late".into(),
        advice: "bank.c:20 has to come first: let bank.c:41 wait until T0.1 has been there".into(),
        region: vec![place(20), place(41)],
        kept_and_failed: 1,
        evidence: None,
        proved_on_path: false,
    };
    let projection = Projection {
        failing: vec![1],
        alternate: vec![1, 2, 3],
        flows: vec![FlowChange {
            location: "config".into(),
            failing: flow(None, 1),
            alternate: flow(Some(1), 2),
        }],
        branches: vec![BranchChange {
            thread: thread("T0"),
            failing: None,
            alternate: Some(3),
            after: Some(place(41)),
        }],
        all_flows: 1,
    };
    let mut diagnosis = diagnosis(failure, failing);
    diagnosis.root_cause = Some(cause);
    let mut nearest = alternate(passing, projection);
    nearest.minimality = Minimality::BestFound { gap: 1 };
    diagnosis.alternates = vec![nearest];
    diagnosis.notes = vec!["condition waits without a signal were not explored".into()];
    let source = lines(&[
        (20, "  config = load_configuration();"),
        (40, "  pthread_create(&loader, NULL, load, NULL);"),
        (41, "  if (config->level > 2)"),
        (42, "    log_level(config->level);"),
    ]);
    (diagnosis, Sources::none().with(FILE, &source))
}

/// Two threads take two locks in opposite orders; no data flow differs.
pub fn deadlock() -> (Diagnosis, Sources) {
    let mut failed = failure(FailureKind::Deadlock, "2 threads wait for each other", "T0.1", 11);
    failed.related = vec![
        Related {
            message: "T0.1 waits for mutex 'b', held by T0.2".into(),
            stack: vec![place(11)],
        },
        Related {
            message: "T0.2 waits for mutex 'a', held by T0.1".into(),
            stack: vec![place(21)],
        },
    ];
    let begin = || RunBuilder::new(&["T0", "T0.1", "T0.2"]).fork("T0", 30, 1).fork("T0", 31, 2);
    let failing = begin().lock("T0.1", 10, "a").lock("T0.2", 20, "b").fail(&failed);
    let passing = begin()
        .lock("T0.1", 10, "a")
        .lock("T0.1", 11, "b")
        .unlock("T0.1", 12, "b")
        .unlock("T0.1", 13, "a")
        .lock("T0.2", 20, "b")
        .lock("T0.2", 21, "a")
        .unlock("T0.2", 22, "a")
        .unlock("T0.2", 23, "b")
        .pass();
    let cause = RootCause {
        orders: vec![
            order(participant(&failing, 2, true), participant(&passing, 7, false), "a", &passing),
            order(participant(&failing, 3, true), participant(&passing, 3, false), "b", &passing),
        ],
        pattern: Pattern::Deadlock,
        sentence: "T0.1 waits for mutex 'b', held by T0.2; T0.2 waits for mutex 'a', held by T0.1"
            .into(),
        advice: "let all threads take these in the same order: a, b".into(),
        region: vec![place(10), place(11), place(20), place(21)],
        kept_and_failed: 12,
        evidence: None,
        proved_on_path: true,
    };
    let projection =
        Projection { failing: vec![2, 3], alternate: vec![2, 3, 5, 6], ..Projection::default() };
    let mut diagnosis = diagnosis(failed, failing);
    diagnosis.root_cause = Some(cause);
    diagnosis.alternates = vec![alternate(passing, projection)];
    let source =
        lines(&[(10, "lock(&a);"), (11, "lock(&b);"), (20, "lock(&b);"), (21, "lock(&a);")]);
    (diagnosis, Sources::none().with(FILE, &source))
}

/// `threads` workers, each reading and writing under a name and with values of choice; all in the projection.
pub fn many(threads: usize, name: &str, value: u64, rounds: usize) -> (Diagnosis, Sources) {
    let names: Vec<String> = (1..=threads).map(|n| format!("T0.{n}")).collect();
    let all: Vec<&str> = ["T0"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let failure = failure(FailureKind::Assertion, "assertion 'sum == expected' failed", "T0", 99);
    let build = |reversed: bool| {
        let mut run = RunBuilder::new(&all);
        let mut workers: Vec<&String> = names.iter().collect();
        if reversed {
            workers.reverse();
        }
        for round in 0..rounds {
            for worker in &workers {
                run =
                    run.read(worker, 12, name, value).write(worker, 13, name, value + round as u64);
            }
        }
        run.read("T0", 99, name, value)
    };
    let (failing, passing) = (build(false).fail(&failure), build(true).pass());
    let events: Vec<u32> = (0..failing.trace.events.len() as u32).collect();
    let last = events.len() as u32 - 1;
    let projection = Projection {
        failing: events.clone(),
        alternate: events,
        flows: vec![FlowChange {
            location: name.to_owned(),
            failing: flow(Some(last - 1), last),
            alternate: flow(Some(last - 1), last),
        }],
        branches: vec![],
        all_flows: last,
    };
    let orders = (0..threads as u32 - 1).map(|n| {
        let who = |event| participant(&failing, event, true);
        order(who(2 * n), who(2 * n + 3), name, &passing)
    });
    let cause = RootCause {
        orders: orders.collect(),
        pattern: Pattern::Compound,
        sentence: "all of this has to come together".into(),
        advice: "it is enough to make one of these orders impossible".into(),
        region: vec![],
        kept_and_failed: 20,
        evidence: None,
        proved_on_path: false,
    };
    let mut diagnosis = diagnosis(failure, failing);
    diagnosis.root_cause = Some(cause);
    let nearest = alternate(passing, projection);
    diagnosis.alternates = vec![nearest.clone(), Alternate { same_path: false, ..nearest }];
    (diagnosis, Sources::none())
}

/// Nothing found: no root cause, no alternate.
pub fn inconclusive() -> (Diagnosis, Sources) {
    let (mut diagnosis, sources) = lost_update();
    diagnosis.root_cause = None;
    diagnosis.alternates.clear();
    diagnosis.status =
        Status::Inconclusive { reason: "no passing run was found in 1000 schedules".into() };
    (diagnosis, sources)
}

/// The same bug in a program without debug information.
pub fn without_lines() -> (Diagnosis, Sources) {
    let (mut diagnosis, _) = lost_update();
    let forget = |place: &mut Place| {
        *place = Place { file: "".into(), line: 0, column: 0, ..place.clone() };
    };
    let runs = [&mut diagnosis.failing.trace, &mut diagnosis.alternates[0].run.trace];
    runs.into_iter().flat_map(|trace| &mut trace.sites).for_each(|(_, s)| forget(&mut s.place));
    let cause = diagnosis.root_cause.as_mut().unwrap();
    for order in &mut cause.orders {
        forget(&mut order.first.place);
        forget(&mut order.second.place);
    }
    cause.region.iter_mut().for_each(forget);
    cause.region.truncate(1);
    diagnosis.failure.stack.iter_mut().for_each(forget);
    (diagnosis, Sources::none())
}

/// A program whose every name wants to be obeyed.
pub fn hostile() -> (Diagnosis, Sources) {
    let (mut diagnosis, _) = lost_update();
    let bad = "\x1b[2J\x07\r\n\u{202e}\"\\N\"];\u{9b}31m";
    diagnosis.program = bad.into();
    diagnosis.failure.message = bad.into();
    diagnosis.notes = vec![bad.into()];
    let runs = [&mut diagnosis.failing.trace, &mut diagnosis.alternates[0].run.trace];
    for trace in runs {
        trace.locations.iter_mut().for_each(|location| location.name = bad.into());
        for (_, site) in &mut trace.sites {
            site.place.function = bad.into();
        }
    }
    let cause = diagnosis.root_cause.as_mut().unwrap();
    cause.sentence = bad.into();
    cause.advice = bad.into();
    for order in &mut cause.orders {
        order.object = bad.into();
    }
    for change in &mut diagnosis.alternates[0].projection.flows {
        change.location = bad.into();
    }
    let bad_line = bad.replace(['\r', '\n'], "");
    let source = lines(&(1..40).map(|line| (line, bad_line.as_str())).collect::<Vec<_>>());
    (diagnosis, Sources::none().with(FILE, &source))
}

/// A file with text at some lines.
fn lines(texts: &[(usize, &str)]) -> String {
    let last = texts.iter().map(|(line, _)| *line).max().unwrap_or(0);
    let mut file = vec![""; last];
    texts.iter().for_each(|(line, text)| file[line - 1] = text);
    file.join("\n")
}

/// All of them, with a name.
pub fn all() -> Vec<(&'static str, Diagnosis, Sources)> {
    let long = "the_registry.entries_of_all_the_accounts[12345].history_of_transactions.balance";
    let mut all = Vec::new();
    let mut add = |name, (diagnosis, sources)| all.push((name, diagnosis, sources));
    add("lost update", lost_update());
    add("order violation", order_violation());
    add("deadlock", deadlock());
    add("six threads", many(6, "sum", 1, 1));
    add("long names", many(3, long, 0x7fff_1234_5678_9abc, 2));
    add("inconclusive", inconclusive());
    add("no lines", without_lines());
    add("hostile", hostile());
    add("large", many(3, "sum", 1, 100));
    all
}
