//! A machine for toy programs: a main thread that starts the others, joins them, and may do something after that.

use unravel_trace::*;

/// What a thread does. Each has one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Do {
    /// Into the register.
    Read(usize),
    /// The register plus so much.
    Write(usize, i64),
    Lock(usize),
    Unlock(usize),
    /// On a condition variable, with this mutex.
    Wait(usize, usize),
    Signal(usize),
    /// Fails if the register has this value. No event.
    FailIf(i64),
    /// Passes over the next ones if the register has this value. No event.
    SkipIf(i64, usize),
}

/// The threads; the first one runs after all others were joined.
#[derive(Clone, Debug)]
pub struct Toy {
    pub threads: Vec<Vec<Do>>,
}

const MUTEXES: u64 = 0x1000;
const CONDITIONS: u64 = 0x2000;
const CELLS: u64 = 0x3000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Start,
    Fork(usize),
    Join(usize),
    Own(Do),
    /// The second half of a wait.
    Wake(usize, usize),
    Exit,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    at: usize,
    register: i64,
    born: bool,
    ended: bool,
    /// Waits on a condition variable, and has not been woken.
    asleep: bool,
    waking: Option<(usize, usize)>,
}

struct State<'t> {
    toy: &'t Toy,
    threads: Vec<Thread>,
    cells: Vec<i64>,
    owner: Vec<Option<usize>>,
    waiters: Vec<Vec<usize>>,
    choices: Vec<u32>,
    failed: Option<(usize, FailureKind)>,
}

impl State<'_> {
    /// The visible events of a thread in order: its start, for main the forks and joins, its own, its exit.
    fn pending(&self, thread: usize) -> Option<Event> {
        let state = &self.threads[thread];
        if !state.born || state.ended {
            return None;
        }
        if let Some((condition, mutex)) = state.waking {
            return Some(Event::Wake(condition, mutex));
        }
        let children = if thread == 0 { self.toy.threads.len() - 1 } else { 0 };
        let own = &self.toy.threads[thread];
        Some(match state.at {
            0 => Event::Start,
            at if at <= children => Event::Fork(at),
            at if at <= 2 * children => Event::Join(at - children),
            at => match own.get(at - 1 - 2 * children) {
                Some(own) => Event::Own(*own),
                None => Event::Exit,
            },
        })
    }

    fn is_enabled(&self, thread: usize) -> bool {
        match self.pending(thread) {
            None => false,
            Some(Event::Join(child)) => self.threads[child].ended,
            Some(Event::Own(Do::Lock(mutex))) => self.owner[mutex].is_none(),
            Some(Event::Wake(_, mutex)) => {
                !self.threads[thread].asleep && self.owner[mutex].is_none()
            }
            Some(_) => true,
        }
    }

    fn view(&self, thread: usize) -> Pending {
        let (op, address, bytes, other) = match self.pending(thread).expect("it is alive") {
            Event::Start => (Op::Start, 0, 0, thread as u64),
            Event::Fork(child) => (Op::Fork, 0, 0, child as u64),
            Event::Join(child) => (Op::Join, 0, 0, child as u64),
            Event::Exit => (Op::Exit, 0, 0, thread as u64),
            Event::Wake(condition, mutex) => {
                (Op::Acquire, CONDITIONS + 8 * condition as u64, 1, MUTEXES + 8 * mutex as u64)
            }
            Event::Own(own) => match own {
                Do::Read(cell) => (Op::Read, CELLS + 8 * cell as u64, 8, 0),
                Do::Write(cell, _) => (Op::Write, CELLS + 8 * cell as u64, 8, 0),
                Do::Lock(mutex) => (Op::Acquire, MUTEXES + 8 * mutex as u64, 1, 0),
                Do::Unlock(mutex) => (Op::Release, MUTEXES + 8 * mutex as u64, 1, 0),
                Do::Wait(condition, mutex) => {
                    (Op::Wait, CONDITIONS + 8 * condition as u64, 1, MUTEXES + 8 * mutex as u64)
                }
                Do::Signal(condition) => (Op::Signal, CONDITIONS + 8 * condition as u64, 1, 0),
                Do::FailIf(_) | Do::SkipIf(..) => unreachable!("no events"),
            },
        };
        let site = SiteId((thread * 100 + self.threads[thread].at) as u32);
        Pending { op, address, bytes, site, other, atomic: false }
    }

    fn execute(&mut self, thread: usize, scheduler: &mut dyn Scheduler) {
        let event = self.pending(thread).expect("it is alive");
        match event {
            Event::Start | Event::Join(_) => {}
            Event::Fork(child) => self.threads[child].born = true,
            Event::Exit => self.threads[thread].ended = true,
            Event::Wake(_, mutex) => {
                self.owner[mutex] = Some(thread);
                self.threads[thread].waking = None;
            }
            Event::Own(own) => match own {
                Do::Read(cell) => self.threads[thread].register = self.cells[cell],
                Do::Write(cell, more) => self.cells[cell] = self.threads[thread].register + more,
                Do::Lock(mutex) => self.owner[mutex] = Some(thread),
                Do::Unlock(mutex) => self.owner[mutex] = None,
                Do::Wait(condition, mutex) => {
                    self.owner[mutex] = None;
                    self.waiters[condition].push(thread);
                    self.threads[thread].asleep = true;
                    self.threads[thread].waking = Some((condition, mutex));
                    return;
                }
                Do::Signal(condition) => {
                    let options = self.waiters[condition].len();
                    let which = match options {
                        0 => None,
                        1 => Some(0),
                        _ => {
                            let answer = scheduler.choose(Question::Waiter, options as u32);
                            self.choices.push(answer);
                            Some(answer as usize)
                        }
                    };
                    if let Some(which) = which {
                        let woken = self.waiters[condition].remove(which);
                        self.threads[woken].asleep = false;
                    }
                }
                Do::FailIf(_) | Do::SkipIf(..) => unreachable!("no events"),
            },
        }
        self.threads[thread].at += 1;
        self.think(thread);
    }

    /// Everything up to the next event.
    fn think(&mut self, thread: usize) {
        while let Some(Event::Own(own)) = self.pending(thread) {
            let register = self.threads[thread].register;
            match own {
                Do::FailIf(value) if value == register => {
                    self.failed = Some((thread, FailureKind::Assertion));
                    return;
                }
                Do::SkipIf(value, ops) if value == register => self.threads[thread].at += 1 + ops,
                Do::FailIf(_) | Do::SkipIf(..) => self.threads[thread].at += 1,
                _ => return,
            }
        }
    }
}

fn name(thread: usize) -> ThreadName {
    if thread == 0 { ThreadName::main() } else { ThreadName::main().child(thread as u32) }
}

impl Executor for Toy {
    fn run(
        &mut self,
        _: &Input,
        visible: &VisibleSet,
        scheduler: &mut dyn Scheduler,
        _: Want,
    ) -> Run {
        let count = self.threads.len();
        let mut state = State {
            toy: self,
            threads: vec![Thread::default(); count],
            cells: vec![0; 8],
            owner: vec![None; 8],
            waiters: vec![Vec::new(); 8],
            choices: Vec::new(),
            failed: None,
        };
        state.threads[0].born = true;
        // All names from the beginning: which number a thread has does not depend on the schedule.
        let names: Vec<ThreadName> = (0..count).map(name).collect();
        let mut segments: Vec<Segment> = Vec::new();
        let (mut events, mut budget, mut current, mut why) = (0u64, 0u32, 0, Why::Start);
        let observes = scheduler.observes() != Observes::Nothing;
        let outcome = loop {
            if let Some((thread, kind)) = state.failed {
                break failure(thread, kind, state.threads[thread].at);
            }
            if state.threads[0].ended {
                break Outcome::Exited { code: 0 };
            }
            let enabled: Vec<Candidate> = (0..count)
                .filter(|t| state.is_enabled(*t))
                .map(|t| Candidate { thread: ThreadId(t as u32), pending: state.view(t) })
                .collect();
            if enabled.is_empty() {
                break failure(0, FailureKind::Deadlock, 0);
            }
            if events > 0 {
                why = match () {
                    () if state.threads[current].ended => Why::Ended,
                    () if !state.is_enabled(current) => Why::Blocked,
                    () => Why::UsedUp,
                };
            }
            if budget == 0 || why != Why::UsedUp {
                let view = View {
                    enabled: &enabled,
                    names: &names,
                    current: ThreadId(current as u32),
                    why,
                    events,
                };
                let choice = scheduler.next(&view);
                assert!(view.is_enabled(choice.thread), "only enabled threads run");
                if choice.events == 0 {
                    break Outcome::Discarded;
                }
                budget = choice.events;
                current = choice.thread.index();
            }
            budget -= 1;
            events += 1;
            match segments.last_mut() {
                Some(last) if last.thread == current as u32 => last.events += 1,
                _ => segments.push(Segment { thread: current as u32, events: 1 }),
            }
            if observes {
                let (thread, what) = (ThreadId(current as u32), state.view(current));
                scheduler.observe(&Executed { number: events, thread, what, names: &names });
            }
            state.execute(current, scheduler);
        };
        scheduler.finish(events);
        let schedule = Schedule {
            threads: names.clone(),
            segments,
            choices: state.choices,
            visible: visible.clone(),
        };
        Run {
            trace: Trace { threads: names, ..Trace::default() },
            schedule,
            outcome,
            steps: events,
            learned: VisibleSet::default(),
            nondet: Vec::new(),
            notes: Vec::new(),
            symbolic: None,
        }
    }

    fn all_sites(&self) -> VisibleSet {
        VisibleSet::default()
    }
}

fn failure(thread: usize, kind: FailureKind, line: usize) -> Outcome {
    let place = Place {
        file: format!("thread{thread}.c").into(),
        function: "toy".into(),
        line: 1 + line as u32,
        column: 1,
    };
    Outcome::Failed(Box::new(Failure {
        kind,
        message: "a toy failed".into(),
        thread: name(thread),
        stack: vec![place],
        related: Vec::new(),
    }))
}
