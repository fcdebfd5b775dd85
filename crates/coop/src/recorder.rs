//! Who logs in the machine: an observer that writes down which thread accesses which element, in order.
//!
//! A point of the machine and its event are one step, so that access and entry are one too, as CoopREP requires of a recorder.

use unravel_execute::Laboratory;
use unravel_trace::{
    Alarm, Detail, Executed, Observer, Observes, Run, Scheduler, ThreadId, ThreadName, Want,
};

use crate::elements::{ElementId, Elements, Holders};
use crate::log::{Ending, Log, LogId, Who};

/// Logs one run, of all elements.
#[derive(Debug)]
pub struct Recorder<'a> {
    elements: &'a mut Elements,
    vectors: Vec<Vec<ThreadId>>,
    holders: Holders,
    names: Vec<ThreadName>,
}

impl<'a> Recorder<'a> {
    pub fn new(elements: &'a mut Elements) -> Recorder<'a> {
        let vectors = vec![Vec::new(); elements.table().len()];
        Recorder { elements, vectors, holders: Holders::default(), names: Vec::new() }
    }

    /// What was logged, of all elements.
    pub fn vectors(self) -> Vec<(ElementId, Vec<Who>)> {
        let whos: Vec<Who> = self.names.iter().map(Who::of).collect();
        let ids = self.elements.table().iter().map(|element| element.id);
        let named = |vector: Vec<ThreadId>| vector.iter().map(|by| whos[by.index()]).collect();
        ids.zip(self.vectors.into_iter().map(named)).collect()
    }
}

impl Observer for Recorder<'_> {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        if self.names.len() < executed.names.len() {
            self.names.extend_from_slice(&executed.names[self.names.len()..]);
        }
        let what = &executed.what;
        if !self.holders.is_unlock(executed.thread, what) {
            for at in self.elements.touched(what).iter() {
                self.vectors[*at as usize].push(executed.thread);
            }
        }
        self.holders.executed(executed.thread, what);
        None
    }
}

/// One run, and its complete log; no log if the run says nothing. The laboratory has to see what the elements' profile says.
pub fn record(
    lab: &mut Laboratory<'_>,
    elements: &mut Elements,
    by: &mut dyn Scheduler,
    (build, id): (u64, LogId),
) -> (Run, Option<Log>) {
    let mut recorder = Recorder::new(elements);
    let run = lab.run(by, &mut recorder, Want::only(Detail::Outcome));
    let log = Ending::of(&run.outcome).map(|ending| Log {
        id,
        build,
        ending,
        vectors: recorder.vectors(),
    });
    (run, log)
}
