//! Guides: what a partial log says of a run of which the paths are known, too, so that a solver can fill in the rest.
//!
//! CoopREP, thesis §3.6 leaves it open how programs are replayed whose logs have nothing in common (Manager). Paths that were recorded in the same run
//! (`unravel_trace::Paths`) say what each thread did, in its own order; a vector says whose access came when. So the nth entry of a thread is its nth
//! access to the element on its path, and entries one behind the other are orders that the solver has to keep.
//!
//! *Not modelled*: accesses of a thread that is alone are no events of a recorded run, but a path has them. Before it creates a thread that is
//! seen; after all others have ended it is not, but there the vector has ended, and entries are counted from the beginning.

use rustc_hash::FxHashMap;
use unravel_trace::{
    Event, EventKind, Op, Operand, Pending, PointRule, ThreadId, Trace, VisibleSet,
};

use crate::elements::{ElementId, Elements, Holders};
use crate::log::{Log, Who};

/// Events of a trace, each by its position, in the order in which a thread touches an element.
type Touches = FxHashMap<(ElementId, ThreadId), Vec<u32>>;

/// The orders of a log over the events of a trace that has the same paths: pairs of positions, the first before the second.
pub fn known_orders(
    elements: &mut Elements,
    log: &Log,
    trace: &Trace,
    visible: &VisibleSet,
) -> Vec<(u32, u32)> {
    let touches = touches(elements, trace, visible);
    let mut threads: FxHashMap<Who, ThreadId> = FxHashMap::default();
    for (number, name) in trace.threads.iter().enumerate() {
        threads.insert(Who::of(name), ThreadId(number as u32));
    }
    let mut orders = Vec::new();
    for (element, vector) in &log.vectors {
        let mut done: FxHashMap<Who, usize> = FxHashMap::default();
        let mut last: Option<(Who, u32)> = None;
        for who in vector {
            let nth = done.entry(*who).or_default();
            let known = threads.get(who).and_then(|thread| touches.get(&(*element, *thread)));
            // A path that ends earlier says nothing of the rest.
            let Some(&event) = known.and_then(|all| all.get(*nth)) else { break };
            *nth += 1;
            orders.extend(last.filter(|(by, _)| by != who).map(|(_, before)| (before, event)));
            last = Some((*who, event));
        }
    }
    orders
}

/// What the threads of a trace touch; the order among threads does not count.
fn touches(elements: &mut Elements, trace: &Trace, visible: &VisibleSet) -> Touches {
    let mut touches = Touches::default();
    let mut holders = Holders::default();
    let mut has_created = false;
    for (position, event) in trace.events.iter().enumerate() {
        has_created |= matches!(event.kind, EventKind::Fork { .. });
        let Some(what) = pending_of(trace, event) else { continue };
        let alive = if has_created { 2 } else { 1 };
        let is_event = PointRule::of_event(&event.kind).is_one(event.site, visible, alive);
        if is_event && !holders.is_unlock(event.thread, &what) {
            for at in elements.touched(&what).iter() {
                let element = elements.table()[*at as usize].id;
                touches.entry((element, event.thread)).or_default().push(position as u32);
            }
        }
        holders.executed(event.thread, &what);
    }
    touches
}

/// The pending event that this one was.
fn pending_of(trace: &Trace, event: &Event) -> Option<Pending> {
    use EventKind::*;
    let mutex = |at| Operand::Mutex(trace.address(at));
    let (op, operand) = match event.kind {
        Read { .. } => (Op::Read, Operand::None),
        Write { .. } => (Op::Write, Operand::None),
        ReadModifyWrite { .. } => (Op::Update, Operand::None),
        Free { .. } => (Op::Free, Operand::None),
        Lock { shared: true, .. } | TryLock { shared: true, .. } => {
            (Op::AcquireShared, Operand::None)
        }
        Lock { .. } | TryLock { .. } | SemWait { .. } | SemTryWait { .. } => {
            (Op::Acquire, Operand::None)
        }
        Unlock { .. } | SemPost { .. } => (Op::Release, Operand::None),
        Wait { mutex: at, .. } => (Op::Wait, mutex(at)),
        Wake { mutex: at, .. } => (Op::Acquire, mutex(at)),
        Signal { .. } | Broadcast { .. } => (Op::Signal, Operand::None),
        BarrierArrive { .. } => (Op::Wait, Operand::None),
        BarrierLeave { .. } => (Op::Acquire, Operand::None),
        SyncInit { .. } | SyncDestroy { .. } => (Op::Release, Operand::None),
        _ => return None,
    };
    let at = event.kind.location()?;
    Some(Pending {
        op,
        address: trace.address(at),
        bytes: trace.location(at).bytes,
        site: event.site,
        caller: None,
        operand,
        atomic: false,
    })
}
