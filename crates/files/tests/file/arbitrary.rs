//! Arbitrary trace files whose parts fit together, and one fixed sample.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use unravel_files::*;
use unravel_trace::*;

use crate::symbolic;

/// Two threads that increment one counter; the assertion fails.
pub fn sample() -> TraceFile {
    let place = |line| Place {
        function: Arc::from("main"),
        file: Arc::from("src/bank.c"),
        line,
        column: 5,
        wrapper: false,
    };
    let at = LocationId(0);
    let event = |thread, site, kind| Event {
        thread: ThreadId(thread),
        site: SiteId(site),
        caller: None,
        kind,
    };
    let mut visible = VisibleSet::default();
    visible.insert(SiteId(12));
    TraceFile {
        program: ProgramRef {
            sources: vec!["src/bank.c".into()],
            flags: vec!["-DN=2".into()],
            name: "bank".into(),
            fingerprint: 0x0123_4567_89ab_cdef,
            built: None,
            cwd: "/home/user".into(),
        },
        input: Input { args: vec!["7".into()], stdin: Some(b"x\n".to_vec()), ..Input::default() },
        rules: Rules { fail_on_exit: true, ..Rules::default() },
        strategy: "pct".into(),
        seed: Some(42),
        engine: "machine".into(),
        run: Run {
            trace: Trace {
                threads: vec![ThreadName::main(), ThreadName::main().child(1)],
                events: vec![
                    event(0, 10, EventKind::Fork { child: ThreadId(1) }),
                    event(1, 12, EventKind::Read { at, value: Value::Word(0) }),
                    event(0, 12, EventKind::Write { at, value: Value::Word(1) }),
                    event(1, 12, EventKind::Write { at, value: Value::Bytes([1; 9].into()) }),
                    event(0, 10, EventKind::Assertion),
                ],
                objects: vec![Object {
                    name: "counter".into(),
                    address: 0x1000,
                    bytes: 16,
                    site: Some(SiteId(10)),
                }],
                locations: vec![Location {
                    object: ObjectId(0),
                    offset: 0,
                    bytes: 4,
                    name: "counter".into(),
                    shape: Shape::Unsigned,
                }],
                sites: vec![
                    (SiteId(10), Site { place: place(20), inlined_at: vec![], key: None }),
                    (
                        SiteId(12),
                        Site {
                            place: place(22),
                            inlined_at: vec![place(30)],
                            key: Some(SiteKey {
                                module: "bank".into(),
                                function: "pay".into(),
                                position: 3,
                            }),
                        },
                    ),
                ],
            },
            schedule: Schedule {
                threads: vec![ThreadName::main(), ThreadName::main().child(1)],
                segments: vec![
                    Segment { thread: 0, events: 1 },
                    Segment { thread: 1, events: 1 },
                    Segment { thread: 0, events: 1 },
                ],
                choices: vec![1, 0],
                visible: visible.clone(),
            },
            outcome: Outcome::Failed(Box::new(Failure {
                kind: FailureKind::Assertion,
                message: "assertion 'counter == 2' failed".into(),
                thread: ThreadName::main(),
                stack: vec![place(20)],
                related: vec![Related { message: "written here".into(), stack: vec![place(22)] }],
            })),
            steps: 1234,
            learned: visible,
            nondet: vec![3, u64::MAX],
            notes: vec![Note::HeldBack, Note::Other("a note".into())],
            symbolic: Some(Box::new(symbolic::sample())),
            ..Run::default()
        },
    }
}

/// One event of each kind.
pub fn every_kind() -> Vec<EventKind> {
    use EventKind::*;
    let (at, mutex, child) = (LocationId(3), LocationId(4), ThreadId(5));
    let value = || Value::Word(300);
    let wake = |by| Wake { at, mutex, by };
    vec![
        Read { at, value: value() },
        Write { at, value: Value::Bytes([7; 9].into()) },
        ReadModifyWrite { at, old: value(), new: value() },
        Lock { at, shared: true },
        Unlock { at },
        TryLock { at, shared: false, acquired: true },
        Wait { at, mutex },
        wake(WakeCause::Signal(child)),
        wake(WakeCause::Timeout),
        wake(WakeCause::Spurious),
        wake(WakeCause::Cancel),
        Signal { at, woken: Some(child) },
        Broadcast { at, woken: 2 },
        SemWait { at },
        SemTryWait { at, acquired: true },
        SemPost { at },
        BarrierArrive { at },
        BarrierLeave { at },
        Once { at, won: true },
        OnceDone { at },
        SyncInit { at, value: 2 },
        SyncDestroy { at },
        Fork { child },
        Start,
        Exit,
        Join { child },
        Cancel { target: child },
        Alloc { at },
        Free { at },
        Assertion,
        Fence,
        Yield,
        External { name: "puts".into() },
        AtomicBegin,
    ]
}

/// How many threads, locations and sites there are to refer to.
#[derive(Clone, Copy, Debug)]
struct Counts {
    threads: u32,
    objects: u32,
    locations: u32,
    sites: u32,
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn place() -> impl Strategy<Value = Place> {
    // The highest bit of a column says in files that the place is a wrapper's.
    (text(), text(), any::<u32>(), 0..1u32 << 31).prop_map(|(function, file, line, column)| Place {
        function: function.into(),
        file: file.into(),
        line,
        column,
        wrapper: false,
    })
}

fn thread_name() -> impl Strategy<Value = ThreadName> {
    vec(any::<u32>(), 0..4).prop_map(ThreadName)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::Word),
        vec(any::<u8>(), 0..20).prop_map(|bytes| Value::Bytes(bytes.into())),
    ]
}

fn visible() -> impl Strategy<Value = VisibleSet> {
    vec(0..5000u32, 0..20).prop_map(|sites| {
        let mut set = VisibleSet::default();
        sites.into_iter().for_each(|site| {
            set.insert(SiteId(site));
        });
        set
    })
}

fn kind(counts: Counts) -> impl Strategy<Value = EventKind> {
    use EventKind::*;
    let thread = move || (0..counts.threads).prop_map(ThreadId);
    let at = move || (0..counts.locations).prop_map(LocationId);
    let flag = any::<bool>;
    let by = prop_oneof![
        thread().prop_map(WakeCause::Signal),
        Just(WakeCause::Timeout),
        Just(WakeCause::Spurious),
        Just(WakeCause::Cancel),
    ];
    let memory = prop_oneof![
        (at(), value()).prop_map(|(at, value)| Read { at, value }),
        (at(), value()).prop_map(|(at, value)| Write { at, value }),
        (at(), value(), value()).prop_map(|(at, old, new)| ReadModifyWrite { at, old, new }),
        at().prop_map(|at| Alloc { at }),
        at().prop_map(|at| Free { at }),
    ];
    let locks = prop_oneof![
        (at(), flag()).prop_map(|(at, shared)| Lock { at, shared }),
        at().prop_map(|at| Unlock { at }),
        (at(), flag(), flag()).prop_map(|(at, shared, acquired)| TryLock { at, shared, acquired }),
        (at(), at()).prop_map(|(at, mutex)| Wait { at, mutex }),
        (at(), at(), by).prop_map(|(at, mutex, by)| Wake { at, mutex, by }),
        (at(), option::of(thread())).prop_map(|(at, woken)| Signal { at, woken }),
        (at(), any::<u32>()).prop_map(|(at, woken)| Broadcast { at, woken }),
    ];
    let others = prop_oneof![
        at().prop_map(|at| SemWait { at }),
        (at(), flag()).prop_map(|(at, acquired)| SemTryWait { at, acquired }),
        at().prop_map(|at| SemPost { at }),
        at().prop_map(|at| BarrierArrive { at }),
        at().prop_map(|at| BarrierLeave { at }),
        (at(), flag()).prop_map(|(at, won)| Once { at, won }),
        at().prop_map(|at| OnceDone { at }),
        at().prop_map(|at| SyncInit { at, value: 1 }),
        at().prop_map(|at| SyncDestroy { at }),
    ];
    let threads = prop_oneof![
        thread().prop_map(|child| Fork { child }),
        thread().prop_map(|child| Join { child }),
        thread().prop_map(|target| Cancel { target }),
        prop::sample::select(vec![Start, Exit, Assertion, Fence, Yield, AtomicBegin]),
        text().prop_map(|name| External { name }),
    ];
    prop_oneof![memory, locks, others, threads]
}

fn trace(counts: Counts) -> impl Strategy<Value = Trace> {
    let Counts { threads, objects, locations, sites } = counts;
    let site = move || (0..sites).prop_map(|nth| SiteId(nth * 3));
    let event = (0..threads, site(), option::of(site()), kind(counts)).prop_map(
        |(thread, site, caller, kind)| Event { thread: ThreadId(thread), site, caller, kind },
    );
    let object = (text(), any::<u64>(), any::<u64>(), option::of(site()))
        .prop_map(|(name, address, bytes, site)| Object { name, address, bytes, site });
    let location = (0..objects, any::<u64>(), any::<u32>(), text()).prop_map(
        |(object, offset, bytes, name)| Location {
            object: ObjectId(object),
            offset,
            bytes,
            name,
            shape: Shape::Signed,
        },
    );
    let key = (text(), text(), any::<u32>()).prop_map(|(module, function, position)| SiteKey {
        module: module.into(),
        function: function.into(),
        position,
    });
    let described = (place(), vec(place(), 0..3), option::of(key))
        .prop_map(|(place, inlined_at, key)| Site { place, inlined_at, key });
    (
        vec(thread_name(), threads as usize),
        vec(event, 0..60),
        vec(object, objects as usize),
        vec(location, locations as usize),
        vec(described, sites as usize),
    )
        .prop_map(|(threads, events, objects, locations, sites)| {
            let sites = (0..).map(|nth| SiteId(nth * 3)).zip(sites).collect();
            Trace { threads, events, objects, locations, sites }
        })
}

fn schedule(threads: u32) -> impl Strategy<Value = Schedule> {
    let segment =
        (0..threads, any::<u32>()).prop_map(|(thread, events)| Segment { thread, events });
    (vec(thread_name(), threads as usize), vec(segment, 0..20), vec(any::<u32>(), 0..5), visible())
        .prop_map(|(threads, segments, choices, visible)| Schedule {
            threads,
            segments,
            choices,
            visible,
        })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let stack = || vec(place(), 0..3);
    let related = (text(), stack()).prop_map(|(message, stack)| Related { message, stack });
    let failure = (
        prop::sample::select(&FailureKind::ALL[..]),
        text(),
        thread_name(),
        stack(),
        vec(related, 0..3),
    )
        .prop_map(|(kind, message, thread, stack, related)| {
            Outcome::Failed(Box::new(Failure { kind, message, thread, stack, related }))
        });
    prop_oneof![
        any::<i32>().prop_map(|code| Outcome::Exited { code }),
        failure,
        Just(Outcome::Discarded),
        (text(), option::of(place())).prop_map(|(reason, at)| Outcome::Inconclusive { reason, at }),
    ]
}

fn program() -> impl Strategy<Value = ProgramRef> {
    let texts = || vec(text(), 0..3);
    (texts(), texts(), text(), any::<u64>(), option::of(text()), text()).prop_map(
        |(sources, flags, name, fingerprint, built, cwd)| ProgramRef {
            sources,
            flags,
            name,
            fingerprint,
            built,
            cwd,
        },
    )
}

fn input() -> impl Strategy<Value = Input> {
    let nondet = prop_oneof![
        any::<u64>().prop_map(Nondet::Seed),
        vec(any::<u64>(), 0..4).prop_map(Nondet::List),
    ];
    let uninit =
        (any::<u8>(), any::<bool>()).prop_map(|(pattern, fails)| Uninit { pattern, fails });
    let limits = (any::<u64>(), any::<u32>(), uninit, any::<bool>()).prop_map(
        |(max_steps, malloc_fails, uninit, lenient_locks)| Limits {
            max_steps,
            malloc_fails,
            uninit,
            lenient_locks,
        },
    );
    let forced = (0..4u32, any::<u32>())
        .prop_map(|(child, question)| Forced { thread: ThreadName::main().child(child), question });
    let forced = vec(forced, 0..3);
    (vec(text(), 0..3), option::of(vec(any::<u8>(), 0..20)), nondet, limits, forced).prop_map(
        |(args, stdin, nondet, limits, forced)| {
            let stubs = vec!["missing".to_owned()];
            Input { args, stdin, nondet, limits, forced, stubs }
        },
    )
}

fn rules() -> impl Strategy<Value = Rules> {
    (any::<bool>(), option::of(vec(any::<u8>(), 0..20)), option::of(text()), any::<bool>())
        .prop_map(|(fail_on_exit, expect_output, check, races)| Rules {
            fail_on_exit,
            expect_output,
            check,
            races,
        })
}

/// Now and then one that is known.
fn note(text: String) -> Note {
    if text.is_empty() { Note::SignalsIgnored } else { Note::Other(text) }
}

/// Any trace file that is valid.
pub fn trace_file() -> impl Strategy<Value = TraceFile> {
    let counts =
        (1..5u32, 1..5u32, 1..8u32, 1..8u32).prop_map(|(threads, objects, locations, sites)| {
            Counts { threads, objects, locations, sites }
        });
    let run = counts
        .prop_flat_map(|counts| {
            (
                trace(counts),
                schedule(counts.threads),
                outcome(),
                any::<u64>(),
                visible(),
                vec(any::<u64>(), 0..4),
                vec(text(), 0..3),
                option::of(any::<u64>()),
            )
        })
        .prop_map(|(trace, schedule, outcome, steps, learned, nondet, notes, seed)| Run {
            symbolic: seed.map(|seed| Box::new(symbolic::symbolic(&trace, seed))),
            trace,
            schedule,
            outcome,
            steps,
            learned,
            nondet,
            notes: notes.into_iter().map(note).collect(),
            ..Run::default()
        });
    (program(), (input(), rules()), (text(), text()), option::of(any::<u64>()), run).prop_map(
        |(program, (input, rules), (strategy, engine), seed, run)| TraceFile {
            program,
            input,
            rules,
            strategy,
            seed,
            engine,
            run,
        },
    )
}
