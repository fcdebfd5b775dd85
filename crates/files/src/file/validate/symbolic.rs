//! The symbolic part of a run: its indices, and what [`Symbolic`] promises about its order.
//!
//! Whether an expression names only symbols that have their values by then is *not* checked: that depends on the
//! order of steps, which may be unknown.

use unravel_trace::{
    Access, Bug, ExprId, InitialSync, Node, Request, Shadow, Step, SymbolId, Symbolic, SyncState,
    ThreadId, ThreadTrace, Trace, Wants, mask,
};

use super::{in_range, location, thread};

pub(super) fn symbolic(trace: &Trace, symbolic: &Symbolic) -> Result<(), String> {
    all_but_conditions(trace, symbolic)?;
    for (i, condition) in symbolic.conditions.iter().enumerate() {
        decided(trace, condition.thread, condition.after)
            .and_then(|()| bit(symbolic, condition.holds))
            .map_err(|e| format!("condition {i} {e}"))?;
    }
    Ok(())
}

/// The part of one thread: nothing in it is another's, and a condition comes after the first event if it comes after
/// none of its own, even where there is none at all.
pub(super) fn part(part: &ThreadTrace) -> Result<(), String> {
    let (trace, symbolic, own) = (&part.trace, &part.symbolic, part.thread);
    all_but_conditions(trace, symbolic)?;
    let foreign = |what: &str, i: usize| Err(format!("{what} {i} is another thread's"));
    if let Some(i) = trace.events.iter().position(|event| event.thread != own) {
        return foreign("event", i);
    }
    if let Some(i) = symbolic.steps.iter().position(|step| step.thread != own) {
        return foreign("step", i);
    }
    for (i, condition) in symbolic.conditions.iter().enumerate() {
        if condition.thread != own {
            return foreign("condition", i);
        }
        in_range("event", condition.after, trace.events.len().max(1))
            .and_then(|()| bit(symbolic, condition.holds))
            .map_err(|e| format!("condition {i} {e}"))?;
    }
    for input in &symbolic.inputs {
        range(input.address, input.bytes).map_err(|e| format!("an input {e}"))?;
    }
    part.unscheduled.iter().try_for_each(|step| in_range("step", *step, symbolic.steps.len()))
}

fn all_but_conditions(trace: &Trace, symbolic: &Symbolic) -> Result<(), String> {
    if let Some(problem) = symbolic.exprs.problem() {
        return Err(format!("there is {problem}"));
    }
    let reads = shadows(trace, symbolic)?;
    for (i, access) in symbolic.accesses.iter().enumerate() {
        self::access(symbolic, access, reads[i].then_some(i))
            .map_err(|e| format!("access {i} {e}"))?;
    }
    for (id, node, bits) in symbolic.exprs.iter() {
        if let Node::Symbol(of) = node {
            symbol(symbolic, &reads, of, bits).map_err(|e| format!("expression {} {e}", id.0))?;
        }
    }
    steps(trace, &symbolic.steps)?;
    initial(symbolic)?;
    for (i, InitialSync { at, state }) in symbolic.sync.iter().enumerate() {
        location(trace, *at)
            .and_then(|()| match state {
                SyncState::Held { by, .. } => thread(trace, *by),
                SyncState::Semaphore(_) | SyncState::Barrier(_) | SyncState::Done => Ok(()),
            })
            .map_err(|e| format!("initial sync object {i} {e}"))?;
    }
    bug(trace, symbolic).map_err(|e| format!("the bug {e}"))
}

/// Which accesses are reads. Each belongs to at most one event.
fn shadows(trace: &Trace, symbolic: &Symbolic) -> Result<Vec<bool>, String> {
    let (shadows, events) = (symbolic.shadows.len(), trace.events.len());
    if shadows != events {
        return Err(format!("there are {events} events, but the accesses of {shadows}"));
    }
    let mut reads = vec![false; symbolic.accesses.len()];
    let mut end = 0;
    for (i, shadow) in symbolic.shadows.iter().enumerate() {
        let Shadow { first, reads: some, writes } = *shadow;
        let [first, read, all] = [0, some, some.saturating_add(writes)]
            .map(|count| (first as usize).saturating_add(count as usize));
        if first == all {
            continue;
        }
        if all > reads.len() {
            return Err(format!(
                "event {i} refers to access {}, but there are {}",
                all - 1,
                reads.len()
            ));
        }
        if first < end {
            return Err(format!("event {i} refers to access {first}, which is an earlier event's"));
        }
        reads[first..read].fill(true);
        end = all;
    }
    Ok(reads)
}

/// `read` is the number of the access if it is a read.
fn access(symbolic: &Symbolic, access: &Access, read: Option<usize>) -> Result<(), String> {
    range(access.address, access.bytes)?;
    expression(symbolic, access.value)?;
    let (wide, bytes) = (symbolic.exprs.bits(access.value), access.bytes);
    if wide != 8 * bytes {
        return Err(format!("of {bytes} bytes has a value of {wide} bits"));
    }
    match (read, symbolic.exprs.node(access.value)) {
        (Some(own), Node::Symbol(symbol)) if symbol.0 as usize == own => Ok(()),
        (Some(_), _) => Err("is a read, but its value is not its symbol".to_owned()),
        (None, _) => Ok(()),
    }
}

/// Bytes of one access or initial value.
fn range(address: u64, bytes: u8) -> Result<(), String> {
    if !(1..=16).contains(&bytes) {
        return Err(format!("has {bytes} bytes"));
    }
    match address.checked_add(u64::from(bytes)) {
        Some(_) => Ok(()),
        None => Err("reaches beyond the end of memory".to_owned()),
    }
}

fn symbol(
    symbolic: &Symbolic,
    reads: &[bool],
    SymbolId(of): SymbolId,
    bits: u8,
) -> Result<(), String> {
    in_range("access", of, reads.len())?;
    if !reads[of as usize] {
        return Err(format!("is the symbol of access {of}, which is not a read"));
    }
    let bytes = symbolic.accesses[of as usize].bytes;
    if bits != 8 * bytes {
        return Err(format!("has {bits} bits, but its access has {bytes} bytes"));
    }
    Ok(())
}

/// Every event is in exactly one step, and the steps come in the order of their events.
fn steps(trace: &Trace, steps: &[Step]) -> Result<(), String> {
    let mut next = 0;
    for (i, step) in steps.iter().enumerate() {
        thread(trace, step.thread).map_err(|e| format!("step {i} {e}"))?;
        let first = step.first as usize;
        let end = first.saturating_add(step.events as usize);
        if end > trace.events.len() {
            let there = trace.events.len();
            return Err(format!("step {i} ends at event {end}, but there are {there}"));
        }
        if step.events == 0 {
            continue;
        }
        if first != next {
            return Err(format!("step {i} begins at event {first}, but {next} is next"));
        }
        let mut events = trace.events[first..end].iter();
        if let Some(other) = events.find(|e| e.thread != step.thread) {
            let (own, other) = (step.thread.0, other.thread.0);
            return Err(format!("step {i} of thread {own} has an event of thread {other}"));
        }
        next = end;
    }
    if next != trace.events.len() {
        return Err(format!("event {next} is in no step"));
    }
    Ok(())
}

/// Something that a thread decides after one of its events.
fn decided(trace: &Trace, by: ThreadId, after: u32) -> Result<(), String> {
    thread(trace, by)?;
    in_range("event", after, trace.events.len())?;
    let owner = trace.events[after as usize].thread;
    if owner != by {
        return Err(format!(
            "is decided by thread {} after event {after}, which is thread {}'s",
            by.0, owner.0
        ));
    }
    Ok(())
}

fn expression(symbolic: &Symbolic, id: ExprId) -> Result<(), String> {
    in_range("expression", id.0, symbolic.exprs.len())
}

fn bit(symbolic: &Symbolic, id: ExprId) -> Result<(), String> {
    expression(symbolic, id)?;
    match symbolic.exprs.bits(id) {
        1 => Ok(()),
        bits => Err(format!("has {bits} bits instead of one")),
    }
}

fn initial(symbolic: &Symbolic) -> Result<(), String> {
    let mut end = 0;
    for (i, initial) in symbolic.initial.iter().enumerate() {
        let complain = |e: String| format!("initial value {i} {e}");
        range(initial.address, initial.bytes).map_err(complain)?;
        if initial.address < end {
            return Err(complain("overlaps the one before it, or is out of order".to_owned()));
        }
        if initial.value.is_some_and(|value| value > mask(8 * initial.bytes)) {
            return Err(complain(format!("does not fit into {} bytes", initial.bytes)));
        }
        end = initial.address + u64::from(initial.bytes);
    }
    Ok(())
}

fn bug(trace: &Trace, symbolic: &Symbolic) -> Result<(), String> {
    match &symbolic.bug {
        Bug::None | Bug::Opaque => Ok(()),
        Bug::Condition { thread, after, fails } => {
            decided(trace, *thread, *after).and_then(|()| bit(symbolic, *fails))
        }
        Bug::Reached { thread, after } => decided(trace, *thread, *after),
        Bug::Deadlock { requests } => requests.iter().enumerate().try_for_each(|(i, r)| {
            request(trace, r).map_err(|e| format!("has a request {i} that {e}"))
        }),
    }
}

fn request(trace: &Trace, request: &Request) -> Result<(), String> {
    thread(trace, request.thread)?;
    match request.wants {
        Wants::Lock { at, .. }
        | Wants::Semaphore { at }
        | Wants::Barrier { at }
        | Wants::Once { at } => location(trace, at),
        Wants::Wake { at, mutex } => location(trace, at).and_then(|()| location(trace, mutex)),
        Wants::Join { child } => thread(trace, child),
        Wants::Other => Ok(()),
    }
}
