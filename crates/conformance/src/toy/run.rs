//! One run of a toy program: who is asked, who is told, what is counted.

use unravel_trace::*;

use super::state::State;
use super::{Act, Toy};

/// A run as it goes on.
struct Running<'r> {
    state: State<'r>,
    visible: &'r VisibleSet,
    by: &'r mut dyn Scheduler,
    seen: &'r mut dyn Observer,
    watches: bool,
    observes: Observes,
    stacks: Option<Stacks>,
    events: u64,
    segments: Vec<Segment>,
    choices: Vec<u32>,
}

/// Why a run goes no further.
enum End {
    Outcome(Outcome),
    Engine(EngineError),
}

pub(super) fn run(
    toy: &Toy,
    job: &Job<'_>,
    by: &mut dyn Scheduler,
    seen: &mut dyn Observer,
) -> Result<Run, EngineError> {
    let (watches, observes) = (by.watches(), seen.observes());
    let mut running = Running {
        state: State::new(toy),
        visible: job.visible,
        by,
        seen,
        watches,
        observes,
        stacks: job.want.stacks.then(Stacks::default),
        events: 0,
        segments: Vec::new(),
        choices: Vec::new(),
    };
    let outcome = match running.go() {
        End::Outcome(outcome) => outcome,
        End::Engine(error) => return Err(error),
    };
    running.by.finish(running.events);
    let Running { state, segments, choices, events, stacks, .. } = running;
    let (threads, visible) = (state.names.clone(), job.visible.clone());
    let learned = if job.want.learn { state.sharing.learned() } else { VisibleSet::default() };
    Ok(Run {
        trace: Trace { threads: state.names, ..Trace::default() },
        schedule: Schedule { threads, segments, choices, visible },
        outcome,
        steps: events,
        learned,
        output: job.want.output.then_some(state.output),
        stacks: stacks.unwrap_or_default(),
        ..Run::default()
    })
}

impl Running<'_> {
    /// Until the run ends.
    fn go(&mut self) -> End {
        let (mut current, mut why, mut budget) = (ThreadId::MAIN, Why::Start, 0);
        loop {
            if self.state.is_over() {
                return End::Outcome(Outcome::Exited { code: 0 });
            }
            let me = self.state.by_id[current.index()];
            if self.events > 0 {
                why = match () {
                    () if self.state.threads[me].ended => Why::Ended,
                    () if !self.state.can_go_on(me) => Why::Blocked,
                    () => Why::UsedUp,
                };
            }
            if budget == 0 || why != Why::UsedUp {
                match self.ask(current, why) {
                    Ok(choice) => (current, budget) = (choice.thread, choice.events),
                    Err(outcome) => return End::Outcome(outcome),
                }
            }
            budget -= 1;
            if let Err(end) = self.step(self.state.by_id[current.index()]) {
                return end;
            }
        }
    }

    /// The scheduler's decision.
    fn ask(&mut self, current: ThreadId, why: Why) -> Result<Choice, Outcome> {
        let enabled = self.state.ready();
        if enabled.is_empty() {
            let related = self.state.blocked();
            let thread = self.state.by_id[current.index()];
            return Err(self.failure(FailureKind::Deadlock, thread, related));
        }
        let (names, events) = (&self.state.names[..], self.events);
        let view = View { enabled: &enabled, early: &[], names, current, why, events };
        let choice = self.by.next(&view);
        self.seen.decided(&view, choice);
        assert!(view.is_enabled(choice.thread), "the scheduler chose a thread that is not enabled");
        match choice.events {
            0 => Err(Outcome::Discarded),
            _ => Ok(choice),
        }
    }

    /// A thread's next event, and what it does until it arrives at the one after that.
    fn step(&mut self, thread: usize) -> Result<(), End> {
        let id = self.state.threads[thread].id.expect("it was chosen");
        self.events += 1;
        match self.segments.last_mut() {
            Some(last) if last.thread == id => last.events += 1,
            _ => self.segments.push(Segment { thread: id, events: 1 }),
        }
        self.perform(thread)?;
        while self.goes_on_unasked(thread) {
            self.perform(thread)?;
        }
        Ok(())
    }

    /// Whether a thread's next act is no point.
    fn goes_on_unasked(&self, thread: usize) -> bool {
        let me = &self.state.threads[thread];
        let (false, None, Some(act)) = (me.ended, me.waits, self.state.act(thread)) else {
            return false;
        };
        let alive = self.state.alive();
        match act {
            _ if !act.is_event() => true,
            _ => !is_point(&self.state.pending(thread), self.visible, alive),
        }
    }

    /// Executes a thread's next act, and tells of it if it is an event.
    fn perform(&mut self, thread: usize) -> Result<(), End> {
        let act = self.state.act(thread).filter(|_| self.state.threads[thread].started);
        if let Some(Act::Die(signal)) = act {
            return Err(End::Engine(EngineError::Died { signal: *signal }));
        }
        let here = act.is_none_or(Act::is_event).then(|| self.state.pending(thread));
        if let Some(what) = here {
            self.tell(thread, what)?;
        }
        match (act, here) {
            (Some(Act::Atomic(acts)), Some(section)) => {
                self.state.threads[thread].next += 1;
                for act in acts {
                    let what = self.state.inside(act, &section);
                    self.tell(thread, what)?;
                    self.visit(thread, act, what);
                    self.state.touch(thread, act);
                }
            }
            _ => {
                if let (Some(act), Some(what)) = (act, here) {
                    self.visit(thread, act, what);
                }
                self.execute(thread);
            }
        }
        // The end of main is that of the process, whatever the others still do.
        if self.state.failed {
            return Err(End::Outcome(self.failure(FailureKind::Assertion, thread, Vec::new())));
        }
        if self.state.threads[0].ended {
            return Err(End::Outcome(Outcome::Exited { code: 0 }));
        }
        Ok(())
    }

    fn execute(&mut self, thread: usize) {
        let Running { state, by, seen, choices, .. } = self;
        state.execute(thread, &mut |options| {
            let answer = by.choose(Question::Waiter, options).min(options - 1);
            seen.answered(Question::Waiter, options, answer);
            choices.push(answer);
            answer
        });
    }

    /// Looks at what an act touches; who is alone shares nothing.
    fn visit(&mut self, thread: usize, act: &Act, what: Pending) {
        if let Some(cell) = act.cell().filter(|_| act.access().is_some()) {
            let by = Some(thread).filter(|_| self.state.alive() > 1);
            self.state.sharing.visit(cell, by, what.op != Op::Read, what.site);
        }
    }

    /// Tells whoever wants to know of an event that is about to be executed. What is out of sight is told to nobody, nor
    /// what main does before there is anybody else.
    fn tell(&mut self, thread: usize, mut what: Pending) -> Result<(), End> {
        let in_sight = is_counted(&what, self.visible);
        let never_alone = PointRule::of(what.op, what.atomic) == PointRule::Always;
        if !in_sight || self.state.names.len() == 1 && !never_alone {
            return Ok(());
        }
        if what.op == Op::Fork {
            what.operand = Operand::Thread(ThreadId(self.state.names.len() as u32));
        }
        if let Some(stacks) = &mut self.stacks {
            let stack = stacks.stacks.iter().position(|(site, _)| *site == what.site);
            let stack = stack.unwrap_or_else(|| {
                stacks.stacks.push((what.site, vec![self.state.toy.place(what.site)]));
                stacks.stacks.len() - 1
            });
            stacks.of.push((self.events, stack as u32));
        }
        let id = ThreadId(self.state.threads[thread].id.expect("it was created"));
        let names = &self.state.names[..];
        let executed = Executed { number: self.events, thread: id, what, repeats: false, names };
        if self.watches {
            self.by.watch(&executed);
        }
        let alarm = match self.observes {
            Observes::Nothing => None,
            _ => self.seen.observe(&executed),
        };
        match alarm {
            None => Ok(()),
            Some(Alarm::Race { what: earlier, .. }) => {
                let stack = vec![self.state.toy.place(earlier.site)];
                let related = vec![Related { message: "the earlier access".into(), stack }];
                Err(End::Outcome(self.failure_at(
                    FailureKind::DataRace,
                    thread,
                    what.site,
                    related,
                )))
            }
        }
    }

    /// A failure of a thread where it stands now.
    fn failure(&self, kind: FailureKind, thread: usize, related: Vec<Related>) -> Outcome {
        let site = match self.state.threads[thread].started {
            true => self.state.toy.site(thread, self.state.threads[thread].next),
            false => self.state.toy.start(thread),
        };
        self.failure_at(kind, thread, site, related)
    }

    fn failure_at(
        &self,
        kind: FailureKind,
        thread: usize,
        site: SiteId,
        related: Vec<Related>,
    ) -> Outcome {
        Outcome::Failed(Box::new(Failure {
            kind,
            message: "a toy failed".into(),
            thread: self.state.name(thread).clone(),
            stack: vec![self.state.toy.place(site)],
            related,
        }))
    }
}
