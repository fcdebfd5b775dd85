//! Sections of locks, and which of them each event lies in.

use unravel_trace::{SyncState, ThreadId};

use super::{Model, Op, Section, StepId, SyncId};

/// Fills `sections`, `locksets` and `held`.
pub(super) fn find(model: &mut Model) {
    let mut finder = Finder {
        sections: Vec::new(),
        locksets: vec![0..0; model.step_of_event.len()],
        held: Vec::new(),
        open: Vec::new(),
        current: 0..0,
    };
    for thread in 0..model.threads.len() {
        finder.walk(model, ThreadId(thread as u32));
    }
    model.sections = finder.sections;
    model.locksets = finder.locksets;
    model.held = finder.held;
}

struct Finder {
    sections: Vec<Section>,
    locksets: Vec<std::ops::Range<u32>>,
    held: Vec<u32>,
    /// Sections of this thread that have not ended, outermost first.
    open: Vec<u32>,
    /// `open`, as a range of `held`.
    current: std::ops::Range<u32>,
}

impl Finder {
    fn walk(&mut self, model: &Model, thread: ThreadId) {
        self.open.clear();
        for (index, object) in model.syncs.iter().enumerate() {
            for state in &object.initial {
                if let SyncState::Held { by, shared } = *state
                    && by == thread
                {
                    self.begin(SyncId(index as u32), thread, shared, None);
                }
            }
        }
        self.keep();
        for &step in model.thread_steps(thread) {
            // Within a step of several events a lock counts as held only if it is held all along: to be safe.
            let before = self.current.clone();
            let mut changed = false;
            for position in model.op_range(step) {
                let op = model.ops[position];
                if let Some((lock, shared)) = op.takes() {
                    self.begin(lock, thread, shared, Some(step));
                    changed = true;
                } else if let Op::Release { lock } = op {
                    changed |= self.end(lock, step, model.is_synthetic(position, thread));
                }
            }
            if changed {
                self.keep();
            }
            let events = model.events_of(step);
            let inside = if events.len() == 1 { before } else { self.both(before) };
            for event in events {
                self.locksets[event as usize] = inside.clone();
            }
        }
    }

    fn begin(&mut self, lock: SyncId, thread: ThreadId, shared: bool, acquire: Option<StepId>) {
        self.open.push(self.sections.len() as u32);
        let (release, synthetic) = (None, false);
        self.sections.push(Section { lock, thread, shared, acquire, release, synthetic });
    }

    fn end(&mut self, lock: SyncId, step: StepId, synthetic: bool) -> bool {
        let of_lock = |s: &u32| self.sections[*s as usize].lock == lock;
        let Some(last) = self.open.iter().rposition(of_lock) else { return false };
        let section = self.open.remove(last);
        self.sections[section as usize].release = Some(step);
        self.sections[section as usize].synthetic = synthetic;
        true
    }

    fn keep(&mut self) {
        let start = self.held.len() as u32;
        self.held.extend_from_slice(&self.open);
        self.current = start..self.held.len() as u32;
    }

    fn both(&mut self, before: std::ops::Range<u32>) -> std::ops::Range<u32> {
        if before == self.current {
            return before;
        }
        let start = self.held.len() as u32;
        for index in before {
            let section = self.held[index as usize];
            if self.open.contains(&section) {
                self.held.push(section);
            }
        }
        start..self.held.len() as u32
    }
}

impl Model {
    /// Whether this op of a thread releases a lock though no event did.
    pub(crate) fn is_synthetic(&self, position: usize, thread: ThreadId) -> bool {
        position >= self.synthetic[thread.index()] as usize
    }
}
