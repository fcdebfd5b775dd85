//! What is a point: where the scheduler is asked, so what a schedule counts.
//!
//! Operations on threads and sync objects always are. What touches memory or the world outside is one only while another
//! thread is alive, and so is the end of the process; of these a plain access only at a visible site, an atomic one at any. Every room that counts events
//! asks here.

use crate::{EventKind, Op, Pending, SiteId, VisibleSet};

/// When an event is a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointRule {
    Always,
    /// While another thread is alive.
    InCompany,
    /// While another thread is alive, if its site is visible.
    IfVisible,
}

impl PointRule {
    /// When an event of this kind is one.
    pub fn of(op: Op, atomic: bool) -> PointRule {
        match op {
            Op::Read | Op::Write if !atomic => PointRule::IfVisible,
            Op::Read | Op::Write | Op::Update | Op::Free | Op::Fence | Op::External | Op::End => {
                PointRule::InCompany
            }
            Op::Start
            | Op::Acquire
            | Op::AcquireShared
            | Op::Release
            | Op::Wait
            | Op::Signal
            | Op::Fork
            | Op::Join
            | Op::Exit
            | Op::Cancel
            | Op::Alloc
            | Op::Yield => PointRule::Always,
        }
    }

    /// The same of a recorded event. What was recorded of memory was visible.
    pub fn of_event(kind: &EventKind) -> PointRule {
        match kind {
            EventKind::Read { .. }
            | EventKind::Write { .. }
            | EventKind::ReadModifyWrite { .. }
            | EventKind::Fence
            | EventKind::AtomicBegin
            | EventKind::Free { .. }
            | EventKind::External { .. } => PointRule::InCompany,
            _ => PointRule::Always,
        }
    }

    /// Whether it is one at this site, with so many threads alive.
    pub fn is_one(self, site: SiteId, visible: &VisibleSet, alive: usize) -> bool {
        match self {
            PointRule::Always => true,
            PointRule::InCompany => alive > 1,
            PointRule::IfVisible => alive > 1 && visible.contains(site),
        }
    }
}

/// Whether an event is a point with this visible set, while so many threads are alive.
pub fn is_point(what: &Pending, visible: &VisibleSet, alive: usize) -> bool {
    PointRule::of(what.op, what.atomic).is_one(what.site, visible, alive)
}

/// Whether an event that is a point would be one with this, smaller visible set, too.
pub fn is_counted(what: &Pending, visible: &VisibleSet) -> bool {
    is_point(what, visible, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operand;

    fn event(op: Op, atomic: bool) -> Pending {
        let operand = Operand::None;
        Pending { op, address: 8, bytes: 4, site: SiteId(3), caller: None, operand, atomic }
    }

    #[test]
    fn atomic_accesses_are_points_at_every_site() {
        let nothing = VisibleSet::default();
        assert!(is_counted(&event(Op::Read, true), &nothing));
        assert!(is_counted(&event(Op::Write, true), &nothing));
        assert!(is_counted(&event(Op::Update, true), &nothing));
        assert!(!is_counted(&event(Op::Read, false), &nothing));
        let mut visible = VisibleSet::default();
        visible.insert(SiteId(3));
        assert!(is_counted(&event(Op::Write, false), &visible));
    }

    #[test]
    fn who_is_alone_is_asked_about_sync_operations_only() {
        let mut visible = VisibleSet::default();
        visible.insert(SiteId(3));
        for op in [Op::Read, Op::Write, Op::Update, Op::Free, Op::External, Op::Fence] {
            assert!(!is_point(&event(op, op == Op::Update), &visible, 1), "{op:?}");
            assert!(is_point(&event(op, op == Op::Update), &visible, 2), "{op:?}");
        }
        assert!(is_point(&event(Op::Acquire, false), &VisibleSet::default(), 1));
    }
}
