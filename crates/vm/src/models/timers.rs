//! Timers in virtual time: `alarm`, `setitimer`, `timer_create`. One that runs out sends its signal.
//!
//! A timer runs out when the clock gets there ([`crate::clock`]): when nobody can go on without it and no deadline of a thread is
//! earlier, when threads have worked or spun for long, or when somebody who looks at the clock finds it past. Of a
//! periodic timer, times that passed at once are one.
//!
//! Errs towards too few schedules: a timer does not interrupt threads that are busy for a short time. Inconclusive: timers of
//! processor time, timers that start threads (`SIGEV_THREAD`), `timerfd_create`.

use unravel_trace::SiteId;

use super::{Args, Family, Flow, OK, fail_with_errno, signals};
use crate::budgets::OVERDUE;
use crate::clock::SECOND;
use crate::delivery::Sent;
use crate::machine::{Machine, State};

pub(crate) const MODELS: Family = &[
    ("alarm", |m, a| {
        let left = m.set_timer(ALARM, after(m, a.word(0) * SECOND), 0);
        Flow::Return(left.0.div_ceil(SECOND))
    }),
    ("ualarm", |m, a| {
        let interval = u64::from(a.word(1) as u32) * 1000;
        let first = after(m, u64::from(a.word(0) as u32) * 1000);
        Flow::Return(m.set_timer(ALARM, first, interval).0 / 1000)
    }),
    ("setitimer", set_interval_timer),
    ("getitimer", get_interval_timer),
    ("timer_create", create),
    ("timer_settime", set_time),
    ("timer_gettime", |m, a| match a.word(0) {
        id if id < m.timers.list.len() as u64 => {
            let left = m.time_left(id as usize);
            m.store_timer(a.word(1), left, 1);
            OK
        }
        _ => fail_with_errno(libc::EINVAL),
    }),
    ("timer_getoverrun", |_, _| OK),
    ("timer_delete", |m, a| match a.word(0) {
        id if id != 0 && id < m.timers.list.len() as u64 => {
            m.set_timer(id as usize, 0, 0);
            OK
        }
        _ => fail_with_errno(libc::EINVAL),
    }),
    ("timerfd_create", |m, _| {
        m.finish_inconclusive("the program calls 'timerfd_create', which is not supported".into())
    }),
];

/// The timer of `alarm` and `setitimer`.
const ALARM: usize = 0;

#[derive(Clone, Copy, Debug)]
struct Timer {
    /// When it runs out; 0 if it does not.
    deadline: u64,
    /// 0 if it runs out once.
    interval: u64,
    /// None if it only runs out.
    sent: Option<Sent>,
    /// The thread that gets the signal, if it is not for the process.
    target: Option<usize>,
}

/// The timers of a run.
#[derive(Debug)]
pub(crate) struct Timers {
    list: Vec<Timer>,
    /// Whether one may run out.
    pub armed: bool,
}

impl Default for Timers {
    fn default() -> Timers {
        let sent = Some(Sent { number: libc::SIGALRM, code: libc::SI_KERNEL, value: 0 });
        Timers { list: vec![Timer { deadline: 0, interval: 0, sent, target: None }], armed: false }
    }
}

impl State {
    /// The timer that runs out first, and when.
    fn first_timer(&self) -> Option<(usize, u64)> {
        let timers = self.timers.list.iter().enumerate().filter(|(_, timer)| timer.deadline != 0);
        timers.map(|(index, timer)| (index, timer.deadline)).min_by_key(|timer| timer.1)
    }

    /// What is left of a timer, and its interval.
    fn time_left(&self, index: usize) -> (u64, u64) {
        let timer = &self.timers.list[index];
        match timer.deadline {
            0 => (0, timer.interval),
            deadline => (deadline.saturating_sub(self.clock.now).max(1), timer.interval),
        }
    }
}

impl Machine {
    /// Sets a timer; what was left of it.
    fn set_timer(&mut self, index: usize, deadline: u64, interval: u64) -> (u64, u64) {
        let before = self.time_left(index);
        let timer = &mut self.timers.list[index];
        (timer.deadline, timer.interval) = (deadline, interval);
        self.timers.armed = self.first_timer().is_some();
        if self.timers.armed {
            self.note(unravel_trace::Note::TimerMoments);
        }
        before
    }

    /// Lets timers run out that have to before anybody goes on, those who can being collected.
    pub fn run_timers(&mut self) {
        for _ in 0..self.timers.list.len() {
            let Some((index, deadline)) = self.first_timer() else { return };
            let earlier = self.earliest_deadline().is_some_and(|thread| thread < deadline);
            let waited_for = self.ready.is_empty() || self.worked() >= OVERDUE;
            if deadline > self.clock.now && (earlier || !waited_for) {
                return;
            }
            self.run_out(index);
            self.collect_enabled();
        }
    }

    /// Nobody gets anywhere without time: the first timer runs out, if there is one.
    pub fn let_timer_come(&mut self) -> bool {
        let first = self.first_timer();
        if let Some((index, _)) = first {
            self.run_out(index);
        }
        first.is_some()
    }

    /// The only thread alone found that timers are past, or waits for one without looking.
    pub fn take_timers(&mut self, site: SiteId) {
        while let Some((index, _)) = self.first_timer().filter(|timer| timer.1 <= self.clock.now) {
            self.run_out(index);
        }
        self.take_unblocked(site);
    }

    fn run_out(&mut self, index: usize) {
        let timer = self.timers.list[index];
        let events = self.events;
        self.clock.pass(timer.deadline, events);
        let next = match timer.interval {
            0 => 0,
            interval => {
                let late = self.clock.now.saturating_sub(timer.deadline) / interval;
                timer.deadline.saturating_add(interval.saturating_mul(late + 1))
            }
        };
        self.set_timer(index, next, timer.interval);
        if let Some(sent) = timer.sent {
            signals::arrive(self, timer.target, sent);
        }
    }

    /// Stores a `struct itimerval` or `itimerspec`, whose parts of a second count in this unit.
    fn store_timer(&mut self, at: u64, (left, interval): (u64, u64), unit: u64) {
        self.check_sync(at, 32, true);
        let words =
            [interval / SECOND, interval % SECOND / unit, left / SECOND, left % SECOND / unit];
        // SAFETY: checked.
        unsafe { (at as *mut [u64; 4]).write_unaligned(words) };
    }

    /// The interval and the first time in such a structure, in nanoseconds.
    fn timer_at(&mut self, at: u64, unit: u64) -> (u64, u64) {
        self.check_sync(at, 32, false);
        // SAFETY: checked.
        let [seconds, part, first, first_part] =
            unsafe { (at as *const [u64; 4]).read_unaligned() };
        let time = |seconds: u64, part: u64| {
            seconds.saturating_mul(SECOND).saturating_add(part.saturating_mul(unit))
        };
        (time(seconds, part), time(first, first_part))
    }
}

/// The time after so many nanoseconds; 0 stays what it is.
fn after(m: &State, nanoseconds: u64) -> u64 {
    if nanoseconds == 0 { 0 } else { m.clock.now.saturating_add(nanoseconds) }
}

/// `setitimer(which, new, old)`.
fn set_interval_timer(m: &mut Machine, a: Args) -> Flow {
    if a.int(0) != libc::ITIMER_REAL {
        m.finish_inconclusive(
            "the program sets a timer of processor time, which is not supported".into(),
        );
    }
    let (interval, first) = m.timer_at(a.word(1), 1000);
    let deadline = after(m, first);
    let before = m.set_timer(ALARM, deadline, interval);
    if a.word(2) != 0 {
        m.store_timer(a.word(2), before, 1000);
    }
    OK
}

fn get_interval_timer(m: &mut Machine, a: Args) -> Flow {
    let left = if a.int(0) == libc::ITIMER_REAL { m.time_left(ALARM) } else { (0, 0) };
    m.store_timer(a.word(1), left, 1000);
    OK
}

/// `timer_create(clock, event, id)`.
fn create(m: &mut Machine, a: Args) -> Flow {
    let id = m.timers.list.len() as u64;
    let mut timer = Timer {
        deadline: 0,
        interval: 0,
        sent: Some(Sent { number: libc::SIGALRM, code: libc::SI_TIMER, value: id }),
        target: None,
    };
    if a.word(1) != 0 {
        // In a `struct sigevent`: the value, the number, the kind, the thread.
        m.check_sync(a.word(1), 24, false);
        // SAFETY: checked.
        let (value, number, kind, thread) = unsafe {
            let at = a.word(1);
            (
                (at as *const u64).read_unaligned(),
                ((at + 8) as *const i32).read_unaligned(),
                ((at + 12) as *const i32).read_unaligned(),
                ((at + 16) as *const i32).read_unaligned(),
            )
        };
        timer.sent = Some(Sent { number, code: libc::SI_TIMER, value });
        match kind {
            libc::SIGEV_SIGNAL => {}
            libc::SIGEV_NONE => timer.sent = None,
            libc::SIGEV_THREAD_ID => match signals::thread_of_number(m, thread) {
                Some(target) => timer.target = Some(target),
                None => return fail_with_errno(libc::EINVAL),
            },
            _ => m.finish_inconclusive(
                "the program makes a timer that starts threads, which is not supported".into(),
            ),
        }
        if timer.sent.is_some() && !signals::is_signal(number) {
            return fail_with_errno(libc::EINVAL);
        }
    }
    m.check_sync(a.word(2), 8, true);
    m.timers.list.push(timer);
    // SAFETY: checked. `timer_t` is a pointer, which nobody looks behind.
    unsafe { (a.word(2) as *mut u64).write_unaligned(id) };
    OK
}

/// `timer_settime(id, flags, new, old)`.
fn set_time(m: &mut Machine, a: Args) -> Flow {
    let id = a.word(0) as usize;
    if id == ALARM || id >= m.timers.list.len() {
        return fail_with_errno(libc::EINVAL);
    }
    let (interval, first) = m.timer_at(a.word(2), 1);
    let absolute = a.int(1) & libc::TIMER_ABSTIME != 0;
    let deadline = if absolute { first } else { after(m, first) };
    let before = m.set_timer(id, deadline, interval);
    if a.word(3) != 0 {
        m.store_timer(a.word(3), before, 1);
    }
    OK
}
