//! Many ends of one run: a process executes a schedule up to a point and waits there; every end that is asked for is a copy of
//! it that goes on as it is told. What comes before the point is executed once, however long it is.

use std::fs::File;
use std::io::Result;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unravel_trace::{
    Choice, Detail, Deviation, Executed, Outcome, Question, Schedule, Scheduler, View, Want,
};

use crate::budgets::TICK;
use crate::process::{Child, read_message, ready, write_message};
use crate::{Laboratory, Limit, Replay, clock};

/// How a copy goes on.
pub trait Course: Scheduler {
    /// Whether it could not keep what it should: its end says nothing.
    fn is_void(&self) -> bool {
        false
    }
}

/// One end of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct End {
    pub outcome: Outcome,
    pub schedule: Schedule,
    pub is_void: bool,
}

/// A run that waits at a point. `J` says what a copy is to do.
#[derive(Debug)]
pub struct Branches<J> {
    /// Killed with this, and its copies with it.
    _child: Child,
    jobs: File,
    ends: File,
    asks: PhantomData<J>,
}

impl<J: Serialize + DeserializeOwned> Branches<J> {
    /// Executes a schedule up to event `from`. `make` gets what was asked for, and how many questions other than "who" the schedule
    /// has answered by then.
    pub fn open<C: Course>(
        lab: &mut Laboratory<'_>,
        schedule: &Schedule,
        from: u64,
        make: impl Fn(J, usize) -> C,
    ) -> Result<Branches<J>> {
        let (jobs, asked) = lab.pipe()?;
        let (ends, mut told) = lab.pipe()?;
        let copied = told.try_clone()?;
        let child = lab.fork(|lab| {
            let replay = Replay::new(schedule);
            let mut waiting =
                Waiting { replay, from, jobs, ends: copied, make, course: None, asks: PhantomData };
            let want = Want::only(Detail::Outcome);
            let run = lab.run_seeing(&schedule.visible, &mut waiting, &mut (), want);
            // Only a copy has a course.
            if let Some(course) = &waiting.course {
                clock::account();
                let is_void = course.is_void();
                let end = End { outcome: run.outcome, schedule: run.schedule, is_void };
                let _ = write_message(&mut told, &Some(end));
            }
        })?;
        Ok(Branches { _child: child, jobs: asked, ends, asks: PhantomData })
    }

    /// One end; `None` if there is none: its process died, or the time was up. After that there are no others.
    pub fn end(&mut self, job: &J, limit: Limit<'_>) -> Option<End> {
        write_message(&mut self.jobs, job).ok()?;
        while ready(&[&self.ends], TICK).is_empty() {
            if !limit.may_go_on() {
                return None;
            }
        }
        read_message::<Option<End>>(&mut self.ends).ok()?
    }
}

/// Follows a schedule up to a point, and makes copies there.
struct Waiting<'a, J, C, M> {
    replay: Replay<'a>,
    from: u64,
    jobs: File,
    ends: File,
    make: M,
    course: Option<C>,
    asks: PhantomData<J>,
}

impl<J: DeserializeOwned, C: Course, M: Fn(J, usize) -> C> Waiting<'_, J, C, M> {
    /// Makes a copy for each job. Returns true in a copy, and false when nobody asks any more.
    fn is_copy(&mut self) -> bool {
        while let Ok(job) = read_message::<J>(&mut self.jobs) {
            // SAFETY: this process has no other threads but a watchdog, which holds no locks.
            match unsafe { libc::fork() } {
                -1 => break,
                0 => {
                    // SAFETY: plain set-up of our own process.
                    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                    self.course = Some((self.make)(job, self.replay.answered()));
                    return true;
                }
                pid => {
                    clock::account();
                    let mut status = 0;
                    // SAFETY: our own child.
                    unsafe { libc::waitpid(pid, &mut status, 0) };
                    if libc::WIFSIGNALED(status) {
                        let _ = write_message(&mut self.ends, &None::<End>);
                    }
                }
            }
        }
        false
    }
}

impl<J: DeserializeOwned, C: Course, M: Fn(J, usize) -> C> Scheduler for Waiting<'_, J, C, M> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if self.course.is_none() && view.events < self.from {
            let choice = self.replay.next(view);
            let left = (self.from - view.events).min(u64::from(u32::MAX)) as u32;
            return Choice { events: choice.events.min(left), ..choice };
        }
        if self.course.is_none() && !self.is_copy() {
            return Choice { thread: view.enabled[0].thread, events: 0 };
        }
        self.course.as_mut().expect("a copy has one").next(view)
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        match &mut self.course {
            Some(course) => course.choose(what, options),
            None => self.replay.choose(what, options),
        }
    }

    fn deviate(&mut self, what: Deviation) -> bool {
        self.course.as_mut().is_some_and(|course| course.deviate(what))
    }

    fn watches(&self) -> bool {
        true
    }

    fn names_callers(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        if let Some(course) = &mut self.course {
            course.watch(executed);
        }
    }
}
