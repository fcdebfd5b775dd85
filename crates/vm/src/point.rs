//! Points: where the scheduler decides, and what it means to be able to go on.
//!
//! A thread arrives at a point *before* each visible event, with the event pending. It leaves the point
//! when it has been chosen and the event can be executed; nothing else runs in between. So a blocked
//! thread is one whose pending event cannot be executed, and a lock is one event, not two.
//!
//! Fairness: a thread that executes many events in a row without changing anything others can see is
//! spinning. It is not offered to the scheduler until somebody else changed something. If all are
//! spinning, they take turns, and every store is watched; once each has come back to a state it was in
//! before, with no memory changed, none will ever go on: that is a livelock.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::*;

use crate::budgets::{
    EVERY_EVENT, LONG_SPIN, MAX_JUMPS, OVERDUE, SPIN, SPIN_AGAIN, STATE_ROUNDS, YIELD_WEIGHT,
};
use crate::machine::{Machine, State};
use crate::memory::in_arena;
use crate::thread::Need;

/// States seen since nobody made progress, for recognising a livelock.
#[derive(Debug, Default)]
pub(crate) struct Stagnation {
    progress: u64,
    /// How often each thread was in each state.
    seen: FxHashMap<(usize, u64), u32>,
    stuck: FxHashSet<usize>,
    involved: FxHashSet<usize>,
    watched: bool,
}

impl Stagnation {
    /// Whether even stores that nobody else sees count as progress now.
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    pub fn clear(&mut self) {
        if !self.involved.is_empty() {
            self.seen.clear();
            self.stuck.clear();
            self.involved.clear();
        }
        self.watched = false;
    }
}

impl Machine {
    /// Waits at a point until the pending event may be executed, and counts it as executed.
    pub fn point(&mut self, op: Op, address: u64, bytes: u32, site: SiteId, need: Need) {
        // Nearly all events come this way. Inlined, or what is pending would be written in parts and read back as a whole,
        // for which a processor waits.
        self.wait_here(self.pending(op, address, bytes, site, need), need);
    }

    /// The point before a library function looks at memory in one go with all that it does.
    pub fn atomic_read_point(&mut self, address: u64, bytes: u32, site: SiteId) {
        let pending = self.pending(Op::Read, address, bytes, site, Need::Nothing);
        self.wait_for_turn(Pending { atomic: true, ..pending }, Need::Nothing);
    }

    /// The point before a barrier for so many threads is set up.
    pub fn barrier_point(&mut self, address: u64, bytes: u32, count: u32, site: SiteId) {
        let pending = self.pending(Op::Release, address, bytes, site, Need::Nothing);
        self.wait_for_turn(Pending { operand: Operand::Parties(count), ..pending }, Need::Nothing);
    }

    /// The point before a thread leaves a barrier.
    pub fn leave_point(&mut self, address: u64, bytes: u32, generation: u32, site: SiteId) {
        let need = match crate::sync::barrier::generation(address) == generation {
            true => Need::Barrier(address, generation),
            false => Need::Nothing,
        };
        let pending = self.pending(Op::Acquire, address, bytes, site, need);
        let operand = Operand::Meeting(Meeting { number: generation, is_full: true });
        self.wait_for_turn(Pending { operand, ..pending }, need);
    }

    /// The point before a library function that may write the program's memory, which is not seen then.
    pub fn external_point(&mut self, writes: bool, site: SiteId) {
        let pending = self.pending(Op::External, 0, 0, site, Need::Nothing);
        let operand = if writes { Operand::UnseenWrites } else { Operand::None };
        self.wait_for_turn(Pending { operand, ..pending }, Need::Nothing);
    }

    /// The point before an operation on a thread.
    pub fn point_on(&mut self, op: Op, thread: ThreadId, site: SiteId) {
        let operand = Operand::Thread(thread);
        let pending = Pending { operand, ..self.pending(op, 0, 0, site, Need::Nothing) };
        self.wait_for_turn(pending, Need::Nothing);
    }

    /// The point before a thread is joined; what is patient goes on only once that thread has ended.
    pub fn join_point(&mut self, thread: ThreadId, is_patient: bool, site: SiteId) {
        let need = Need::Ended(thread);
        let operand = if is_patient { Operand::End(thread) } else { Operand::Thread(thread) };
        let pending = self.pending(Op::Join, 0, 0, site, need);
        self.wait_for_turn(Pending { operand, ..pending }, need);
    }

    /// The point before a condition wait that releases `mutex`.
    pub fn wait_point(&mut self, address: u64, bytes: u32, mutex: u64, site: SiteId) {
        let pending = self.pending(Op::Wait, address, bytes, site, Need::Nothing);
        self.wait_for_turn(Pending { operand: Operand::Mutex(mutex), ..pending }, Need::Nothing);
    }

    /// An event of the current thread, as schedulers see it.
    #[inline(always)]
    pub fn pending(&self, op: Op, address: u64, bytes: u32, site: SiteId, need: Need) -> Pending {
        let operand = match (op, need) {
            (_, Need::Wake { mutex, .. }) => Operand::Mutex(mutex),
            (_, Need::Ended(thread)) => Operand::Thread(thread),
            (Op::Acquire, Need::Mutex(_)) if !self.threads[self.current].timed => Operand::Alone,
            (Op::Exit | Op::Start, _) => Operand::Thread(ThreadId(self.current as u32)),
            (Op::Update, _) => self.blind_update(site),
            _ => Operand::None,
        };
        let kind = self.program.accesses.get(site.index()).map(|access| access.kind);
        let atomic = match op {
            Op::Read | Op::Write => kind == Some(unravel_code::AccessKind::Atomic),
            Op::Update => true,
            _ => false,
        };
        // What no other thread can touch is no location.
        let own = address != 0 && !in_arena(address) && self.natives.is_thread_local(address);
        let caller = match self.names_callers {
            true => self.telling_caller_of(site, self.current),
            false => None,
        };
        let address = if own { 0 } else { address };
        Pending { op, address, bytes, site, caller, operand, atomic }
    }

    /// What an update is that nobody looks at.
    fn blind_update(&self, site: SiteId) -> Operand {
        let access = self.program.accesses.get(site.index());
        access.and_then(|access| access.blind).map_or(Operand::None, Operand::Blind)
    }

    /// What is known of an event only now, when nothing can come before it any more.
    fn settle(&self, what: &mut Pending) {
        match (what.op, what.operand) {
            (Op::Fork, _) => what.operand = Operand::Thread(ThreadId(self.thread_count as u32)),
            (Op::Update, Operand::None) if self.is_refused(what) => {
                what.operand = Operand::Refused;
            }
            (Op::Wait, Operand::None) if what.address != 0 => {
                what.operand = self.meeting(what.site, what.address);
            }
            _ => {}
        }
    }

    pub fn wait_for_turn(&mut self, pending: Pending, need: Need) {
        self.wait_here(pending, need);
    }

    #[inline(always)]
    fn wait_here(&mut self, pending: Pending, need: Need) {
        if self.concolic.guide.is_on() {
            return self.guided_point(pending, need);
        }
        if self.threads[self.current].cancellation.asynchronous {
            return self.wait_cancellable(pending, need);
        }
        // After a signal's handler, the event is still to come.
        while self.wait_once(pending, need) && self.deliver(need, pending.site) {}
    }

    /// The same for a thread that may be cancelled anywhere: on arrival, and where it is blocked.
    #[cold]
    fn wait_cancellable(&mut self, pending: Pending, need: Need) {
        self.test_cancel();
        while self.wait_once(pending, need) && self.deliver(need, pending.site) {}
        if !self.is_satisfied(self.current, need) {
            self.test_cancel();
        }
    }

    /// True if a signal arrives instead of the event.
    #[inline(always)]
    fn wait_once(&mut self, pending: Pending, need: Need) -> bool {
        let me = self.current;
        let limit = self.patience();
        self.threads[me].pending = pending;
        self.threads[me].need = need;
        let enabled_already =
            need == Need::Nothing || self.is_satisfied(me, need) || self.is_interrupted(me);
        let mut repeats = self.is_pause(pending.op, need) && enabled_already;
        if repeats {
            self.threads[me].paused_at = Some(self.threads[me].steps);
        }
        let mut waits = false;
        if self.prune_spins && !repeats {
            self.look_for_spin(me);
        }
        if self.skip_rounds {
            repeats |= enabled_already
                && self.repeats_round(pending.op, pending.site, pending.address, need);
            waits = !self.prune_spins && !repeats && self.look_for_old_state();
        }
        let thread = &self.threads[me];
        let (atomic, idle) = (thread.atomic, thread.idle);
        if enabled_already && atomic > 0 && self.alive > 1 {
            // Inside an atomic section: part of the step that began it.
        } else if repeats && idle < limit {
            self.budget = self.budget.saturating_sub(1);
            self.why = Why::UsedUp;
            self.count_event();
        } else if self.budget > 0
            && enabled_already
            && idle < limit
            && !waits
            && !(self.anyone_timed && self.time_is_overdue())
            && !self.turn_is_long()
        {
            self.budget -= 1;
            self.count_event();
        } else {
            self.decide(me, enabled_already);
            self.count_event();
            repeats = false;
        }
        self.repeats = repeats;
        let interrupted = self.is_interrupted(me);
        if interrupted {
            self.threads[me].pending = self.arrival(me);
        }
        self.tell_scheduler();
        self.repeats = false;
        let events = self.events;
        let thread = &mut self.threads[me];
        if !interrupted {
            thread.need = Need::Nothing;
            thread.timed = false;
        }
        thread.idle += 1;
        thread.steps += u32::from(!repeats);
        thread.jumps = 0;
        thread.empty_loops = 0;
        thread.last_event = events;
        if thread.idle == LONG_SPIN && self.prune_spins {
            self.note(Note::HeldBack);
        }
        interrupted
    }

    /// The current thread leaves a point.
    pub fn count_event(&mut self) {
        self.events += 1;
        if self.events <= EVERY_EVENT || self.events.is_multiple_of(EVERY_EVENT) {
            let site = self.threads[self.current].pending.site;
            crate::whereabouts::note(site, self.thread_count);
        }
        if self.concolic.is_on() {
            let state = &mut **self;
            state.concolic.begin_step(ThreadId(state.current as u32), state.recorder.events());
        }
    }

    /// Tells whoever wants to know what the current thread is about to do.
    pub fn tell_scheduler(&mut self) {
        if self.tells {
            self.tell_of(self.threads[self.current].pending);
        }
    }

    /// Tells whoever wants to know of something that is part of the last event: nobody decides here.
    pub fn tell(&mut self, op: Op, address: u64, bytes: u32, site: SiteId) {
        if self.tells && self.thread_count > 1 {
            self.tell_of(self.pending(op, address, bytes, site, Need::Nothing));
        }
    }

    /// Tells whoever wants to know that memory may be written which is not seen.
    pub fn tell_of_unseen_writes(&mut self, site: SiteId) {
        if self.tells {
            let what = self.pending(Op::Fence, 0, 0, site, Need::Nothing);
            self.tell_of(Pending { operand: Operand::UnseenWrites, ..what });
        }
    }

    fn tell_of(&mut self, mut what: Pending) {
        self.settle(&mut what);
        let thread = ThreadId(self.current as u32);
        if self.keeps_stacks {
            self.keep_stack();
        }
        let (number, repeats) = (self.events, self.repeats);
        let executed = Executed { number, thread, what, repeats, names: &self.names };
        if let Some(scheduler) = self.scheduler.filter(|_| self.watches) {
            // SAFETY: as in `ask`.
            unsafe { (*scheduler).watch(&executed) };
        }
        let observer = self.observer.filter(|_| self.observes != Observes::Nothing);
        // SAFETY: as in `ask`.
        let alarm = observer.and_then(|observer| unsafe { (*observer).observe(&executed) });
        if let Some(alarm) = alarm {
            self.fail_by(alarm, what);
        }
    }

    /// Lets a thread wait that is back in a state it was in and has changed nothing since: no memory at all, shared or
    /// not, because a state is known by the thread's registers and stack only.
    fn look_for_spin(&mut self, index: usize) {
        if self.threads[index].atomic > 0 || self.alive <= 1 {
            return;
        }
        if self.threads[index].idle == 0 {
            self.threads[index].arrivals.clear();
            self.threads[index].rounds_by_time = 0;
        }
        if self.arrives_again(index) {
            self.threads[index].idle = LONG_SPIN + 1;
        }
    }

    /// Events without effect after which a thread counts as spinning.
    fn patience(&self) -> u32 {
        if self.prune_spins { LONG_SPIN } else { SPIN }
    }

    /// The current thread changed something that others can see.
    pub fn made_progress(&mut self) {
        self.progress += 1;
        self.shared_progress += 1;
        let thread = self.current_thread();
        thread.idle = 0;
        thread.changes += 1;
        if self.stagnation.watched {
            self.stagnation.clear();
            self.update_flags();
        }
    }

    /// A `sched_yield`, a sleep, a spin hint: others first.
    pub fn yield_point(&mut self, site: SiteId) {
        if !self.prune_spins {
            self.current_thread().idle += YIELD_WEIGHT;
        }
        self.budget = 0;
        self.why = Why::Yielded;
        self.point(Op::Yield, 0, 0, site, Need::Nothing);
        self.record(site, EventKind::Yield);
    }

    /// Called on every backward jump's overflow: a loop that runs long without an event.
    pub fn long_loop(&mut self, site: SiteId) {
        let loops = self.threads[self.current].empty_loops + 1;
        if self.alive <= 1 {
            self.look_for_endless_loop();
        } else if self.threads[self.current].atomic == 0 {
            self.yield_point(site);
        }
        let thread = self.current_thread();
        thread.empty_loops = loops;
        thread.jumps = 0;
    }

    /// The only living thread loops: if it comes back to a state it was in, with no memory changed, it will
    /// loop for ever.
    fn look_for_endless_loop(&mut self) {
        let me = self.current;
        if !self.stagnation.watched {
            self.watch_progress();
            self.stagnation.involved.insert(me);
            return;
        }
        if self.is_in_old_state(me) {
            self.end_stagnation();
        }
    }

    /// From now on every store counts, until one changes something.
    fn watch_progress(&mut self) {
        self.stagnation.clear();
        self.stagnation.progress = self.progress;
        self.stagnation.watched = true;
        self.update_flags();
    }

    /// Whether a thread was in its present state often enough while nothing changed.
    fn is_in_old_state(&mut self, index: usize) -> bool {
        let state = self.state_hash(index);
        let times = self.stagnation.seen.entry((index, state)).or_default();
        *times += 1;
        let old = *times >= STATE_ROUNDS;
        if old {
            self.stagnation.stuck.insert(index);
        }
        old
    }

    pub const fn max_jumps() -> u32 {
        MAX_JUMPS
    }

    /// The decision about the very first event.
    pub fn first_decision(&mut self) {
        self.budget = 0;
        self.ask();
    }

    fn decide(&mut self, me: usize, enabled: bool) {
        // Whose time is up goes on as well, and may go round so.
        let is_over = self.threads[me].timed && self.is_due(me);
        if (enabled || is_over) && self.threads[me].idle >= self.patience() {
            self.why = match std::mem::take(&mut self.threads[me].came_round) {
                0 => Why::Yielded,
                steps => Why::Waits { steps },
            };
            self.threads[me].spin_mark = self.progress;
        } else if !enabled {
            self.why = Why::Blocked;
        } else if self.turn_is_long() || self.threads[me].round.waits(self.progress) {
            self.why = Why::Yielded;
        }
        self.ask();
        if self.current != me {
            self.suspend();
        }
    }

    /// Whether the current thread has had its turn for so long that others should be asked, if there are any: no system lets
    /// them wait for ever.
    fn turn_is_long(&self) -> bool {
        self.events - self.segment_start >= OVERDUE && self.alive > 1
    }

    /// Chooses the next thread after the current one has ended.
    pub fn decide_after_end(&mut self) {
        if self.concolic.guide.is_on() {
            return self.choose_turn();
        }
        self.why = Why::Ended;
        self.budget = 0;
        self.ask();
    }

    /// Asks the scheduler who executes the next event, and makes that thread current.
    fn ask(&mut self) {
        if let Some(apart) = self.apart {
            // Nobody else is here.
            match self.can_go_on(self.current) {
                true => return self.budget = 0,
                false => apart.blocks(),
            }
        }
        self.collect_ready();
        let fair = self.fair_ready();
        if !fair && matches!(self.why, Why::Waits { .. }) {
            self.why = Why::Yielded;
        }
        if fair && self.skip_rounds {
            self.leave_out_waiting();
        }
        if self.anyone_timed {
            self.collect_early();
        }
        let view = View {
            enabled: &self.ready,
            names: &self.names,
            current: ThreadId(self.current as u32),
            early: &self.early,
            why: self.why,
            events: self.events,
        };
        let scheduler = self.scheduler.expect("a run has a scheduler");
        // SAFETY: the scheduler lives as long as the run, and nothing else uses it now.
        let choice = unsafe { (*scheduler).next(&view) };
        if let Some(observer) = self.observer {
            // SAFETY: the same of the observer.
            unsafe { (*observer).decided(&view, choice) };
        }
        assert!(
            view.ready(choice.thread).is_some(),
            "the scheduler chose a thread that is not enabled"
        );
        if choice.events == 0 {
            self.finish(Outcome::Discarded);
        }
        self.why = Why::UsedUp;
        self.budget = if fair { choice.events - 1 } else { 0 };
        let next = choice.thread.index();
        if next != self.current {
            self.close_segment();
            self.current = next;
        }
        if self.anyone_timed {
            self.note_early(next);
            self.pass_time_for(next);
        }
    }

    pub fn close_segment(&mut self) {
        let events = (self.events - self.segment_start) as u32;
        self.segment_start = self.events;
        if events == 0 {
            return;
        }
        let thread = self.current as u32;
        match self.segments.last_mut() {
            Some(last) if last.thread == thread => last.events += events,
            _ => self.segments.push(Segment { thread, events }),
        }
    }

    fn collect_ready(&mut self) {
        self.collect_enabled();
        if self.anyone_timed {
            self.align_looks();
            if self.ready.is_empty() {
                self.add_earliest(|_, _| true);
            } else {
                self.let_work_take_time();
            }
        }
        if self.ready.is_empty() {
            self.deadlock();
        }
    }

    /// Removes spinning threads from the ready if others can go on. False if all are spinning.
    fn fair_ready(&mut self) -> bool {
        let progress = self.progress;
        let limit = self.patience();
        let again = if self.prune_spins { 0 } else { SPIN - SPIN_AGAIN };
        let State { threads, ready, .. } = &mut **self;
        let mut spinning = 0;
        for candidate in &*ready {
            let thread = &mut threads[candidate.thread.index()];
            if thread.idle >= limit {
                if thread.spin_mark == progress {
                    spinning += 1;
                } else {
                    thread.idle = again;
                }
            }
        }
        if spinning == 0 {
            return true;
        }
        if spinning < ready.len() {
            ready.retain(|c| {
                let thread = &threads[c.thread.index()];
                thread.idle < limit || thread.spin_mark != progress
            });
            return true;
        }
        if self.anyone_timed {
            self.add_earliest(|_, _| true);
        }
        if spinning < self.ready.len() {
            // They would have gone round again and again meanwhile.
            let by_time = self.ready[..spinning].iter().any(|ready| ready.by_time);
            self.clock_decides |= by_time && self.prune_spins;
            self.ready.drain(..spinning);
            return true;
        }
        self.take_turns();
        false
    }

    fn take_turns(&mut self) {
        if self.stagnation.progress != self.progress || !self.stagnation.watched {
            self.watch_progress();
        }
        for index in 0..self.ready.len() {
            let thread = self.ready[index].thread.index();
            self.stagnation.involved.insert(thread);
        }
        let next = self
            .ready
            .iter()
            .map(|c| c.thread.index())
            .min_by_key(|t| self.threads[*t].last_event)
            .expect("never without candidates");
        if self.is_in_old_state(next)
            && self.stagnation.stuck.len() == self.stagnation.involved.len()
        {
            self.end_stagnation();
        }
        self.ready.retain(|c| c.thread.index() == next);
    }

    /// Nobody will ever go on. If all loop without looking at anything (`while (1);`), that is how a program
    /// says that it does not want to be here, as with an assumption that does not hold.
    fn end_stagnation(&mut self) -> ! {
        if self.stagnation.stuck.iter().all(|t| self.threads[*t].empty_loops > 0) {
            self.note(Note::EndlessLoop);
            self.finish(Outcome::Discarded);
        }
        self.livelock()
    }

    /// Asks the scheduler a question other than "who", and keeps the answer.
    pub fn choose(&mut self, what: Question, options: u32) -> u32 {
        if options < 2 {
            return 0;
        }
        let scheduler = self.scheduler.expect("a run has a scheduler");
        // SAFETY: as in `ask`.
        let answer = unsafe { (*scheduler).choose(what, options) }.min(options - 1);
        if let Some(observer) = self.observer {
            // SAFETY: as in `ask`.
            unsafe { (*observer).answered(what, options, answer) };
        }
        self.choices.push(answer);
        answer
    }
}

/// What finds out who can go on; nothing here waits.
impl State {
    pub fn collect_enabled(&mut self) {
        self.ready.clear();
        self.early.clear();
        self.anyone_timed = false;
        for index in 0..self.thread_count {
            let thread = &self.threads[index];
            if thread.ended {
                continue;
            }
            let (timed, atomic) = (thread.timed, thread.atomic > 0);
            let goes_on = thread.need == Need::Nothing || self.can_go_on(index);
            if goes_on && atomic {
                // A thread in an atomic section goes on unless it cannot.
                self.ready.clear();
                self.anyone_timed = timed;
                return self.add_ready(index);
            }
            self.anyone_timed |= timed;
            if goes_on {
                self.add_ready(index);
            }
        }
    }

    #[inline]
    fn add_ready(&mut self, index: usize) {
        let thread = &self.threads[index];
        let pending = match self.is_interrupted(index) {
            true => self.arrival(index),
            false => thread.pending,
        };
        let is_over = thread.timed && self.is_due(index);
        self.ready.push(Ready { thread: thread.id, pending, by_time: false, is_over });
    }

    #[inline]
    fn can_go_on(&self, index: usize) -> bool {
        let thread = &self.threads[index];
        !thread.ended
            && (self.is_satisfied(index, thread.need)
                || self.is_interrupted(index)
                || thread.timed && self.is_due(index)
                || thread.cancellation.requested && self.is_cancellable(index))
    }
}
