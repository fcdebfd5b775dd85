//! Thin wrappers: small functions of the program around one operation that threads synchronise by, such as
//! `void take(struct guard *g) { check(pthread_mutex_lock(&g->mutex)); }`, a method `Lock` around `std::mutex`, a guard's
//! constructor, a `malloc` that ends the program when there is none left. Every use goes through their one line, which says
//! nothing; so the line of the operation is *seen through* ([`unravel_trace::Place::wrapper`]), and what happens there is
//! shown where the wrapper was called. Wrappers of wrappers are found in the same way.
//!
//! A function is a wrapper if it is short, has no loop, is only ever called by its name, and does nothing that another thread could
//! notice but one operation (or a signal and the release of a lock, or a wait and a release): it writes no memory but its own locals, and,
//! if it is a constructor, the object. An atomic access must be to the object that it is handed, or to a member of it: `load(&x)` and
//! `enter(&gate)` are wrappers, `next_ticket()` is code that has something to say. So is a function that frees what its object points to;
//! one that frees just what it is handed is a wrapper. What only happens before the program ends, and calls that do neither, are left aside.
//!
//! A library of locks of its own has more to it: `twist(bolt, BY, +1)` adds to the bolt's number, wakes all who wait and releases, and
//! `wait_for(bolt, TO_BE, 0)` waits in a loop. Such a *part of a protocol* is seen through if its caller holds or gets the lock: it
//! waits, or signals and releases, without taking a lock itself, and touches nothing but one member of the object that it is handed. What takes and
//! releases a lock is a whole step, with lines of its own to look at (`push(queue, item)`).
//!
//! Errs on the side of too few: what is not found is shown at its own line, as before, and can be named by hand
//! ([`mark_named`]). *Not found*: functions that are called by pointer or virtually, spin locks (they loop), lambdas.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{Place, Site};

use crate::{AccessKind, Body, CallId, Function, FunctionId, Inst, Program, Reg, patch};

/// Instructions of a wrapper at most.
const LONGEST: usize = 96;

/// The same of a part of a protocol, which has cases.
const LONGEST_PART: usize = 256;

/// What an operation does, as far as it matters what else may stand beside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Operation {
    Acquire,
    Release,
    Wait,
    Signal,
    Atomic,
    Free,
    /// Anything else that takes an object: set up, torn down, tried, posted, allocated.
    Other,
}

impl Operation {
    /// Whether only what the function is handed can be meant: a function that frees a member of its object, or counts in a
    /// global, decides what is freed or counted, and its line is the one to look at.
    fn is_of_what_is_handed(self) -> bool {
        matches!(self, Operation::Atomic | Operation::Free)
    }
}

/// What the functions that the program does not define do, by how their names begin; the first that fits.
const OPERATIONS: [(&str, Operation); 43] = [
    ("pthread_mutex_lock", Operation::Acquire),
    ("pthread_mutex_unlock", Operation::Release),
    ("pthread_mutexattr_", Operation::Other),
    ("pthread_mutex_", Operation::Other),
    ("pthread_spin_lock", Operation::Acquire),
    ("pthread_spin_unlock", Operation::Release),
    ("pthread_spin_", Operation::Other),
    ("pthread_rwlock_rdlock", Operation::Acquire),
    ("pthread_rwlock_wrlock", Operation::Acquire),
    ("pthread_rwlock_unlock", Operation::Release),
    ("pthread_rwlock_", Operation::Other),
    ("pthread_cond_wait", Operation::Wait),
    ("pthread_cond_timedwait", Operation::Wait),
    ("pthread_cond_clockwait", Operation::Wait),
    ("pthread_cond_signal", Operation::Signal),
    ("pthread_cond_broadcast", Operation::Signal),
    ("pthread_cond_", Operation::Other),
    ("pthread_barrier_", Operation::Other),
    ("pthread_create", Operation::Other),
    ("pthread_join", Operation::Other),
    ("sem_", Operation::Other),
    ("mtx_lock", Operation::Acquire),
    ("mtx_unlock", Operation::Release),
    ("mtx_", Operation::Other),
    ("cnd_wait", Operation::Wait),
    ("cnd_timedwait", Operation::Wait),
    ("cnd_signal", Operation::Signal),
    ("cnd_broadcast", Operation::Signal),
    ("cnd_", Operation::Other),
    ("thrd_create", Operation::Other),
    ("thrd_join", Operation::Other),
    ("_ZNSt18condition_variable4wait", Operation::Wait),
    ("_ZNSt18condition_variable10notify_", Operation::Signal),
    ("_ZNSt18condition_variable", Operation::Other),
    ("malloc", Operation::Other),
    ("calloc", Operation::Other),
    ("realloc", Operation::Other),
    ("aligned_alloc", Operation::Other),
    ("posix_memalign", Operation::Other),
    ("free", Operation::Free),
    ("_Zn", Operation::Other),
    ("_Zd", Operation::Free),
    ("__atomic_", Operation::Atomic),
];

/// What a function does to memory that others may see, with all that it calls. In rising order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Effect {
    None,
    Writes,
    Synchronises,
}

/// Marks the lines of all wrappers.
pub fn mark(program: &mut Program) {
    let mut search = Search::new(program);
    // Wrappers of wrappers are found in the next round.
    while search.round() {}
    let lines = search.lines;
    mark_places(program, |place| lines.contains(&line_of(place)));
}

/// Marks all lines of the functions with these names, as the programmer writes them or as the linker does. Returns those that
/// no function has.
pub fn mark_named(program: &mut Program, names: &[String]) -> Vec<String> {
    let mut missing = names.to_vec();
    let mut functions: FxHashSet<String> = FxHashSet::default();
    for function in program.functions.iter().filter(|function| function.body.is_some()) {
        let known = |name: &String| *name == function.name || *name == function.display_name;
        if names.iter().any(known) {
            functions.insert(function.display_name.clone());
            missing.retain(|name| !known(name));
        }
    }
    mark_places(program, |place| place.is_own() && functions.contains(&*place.function));
    missing
}

fn mark_places(program: &mut Program, is_wrapper: impl Fn(&Place) -> bool) {
    for site in &mut program.sites {
        let Site { place, inlined_at, .. } = site;
        for place in [place].into_iter().chain(inlined_at) {
            place.wrapper |= is_wrapper(place);
        }
    }
}

/// A line of a function. The same line of a header is there once for each unit that has it.
type Line = (std::sync::Arc<str>, std::sync::Arc<str>, u32);

fn line_of(place: &Place) -> Line {
    (place.function.clone(), place.file.clone(), place.line)
}

/// What is known so far.
struct Search<'p> {
    program: &'p Program,
    effects: Vec<Effect>,
    /// By function of the compiler's headers: what it does, if it is one operation.
    library: FxHashMap<FunctionId, Option<Operation>>,
    /// By wrapper: what it does.
    wrappers: FxHashMap<FunctionId, Operation>,
    lines: FxHashSet<Line>,
}

impl<'p> Search<'p> {
    fn new(program: &'p Program) -> Search<'p> {
        Search {
            program,
            effects: effects(program),
            library: FxHashMap::default(),
            wrappers: FxHashMap::default(),
            lines: FxHashSet::default(),
        }
    }

    /// Looks at every function again. Says whether there are more wrappers than before.
    fn round(&mut self) -> bool {
        let before = self.wrappers.len();
        for index in 0..self.program.functions.len() {
            let id = FunctionId(index as u32);
            if self.wrappers.contains_key(&id) || !self.may_wrap(id) {
                continue;
            }
            let found = self.operations_of(id).or_else(|| self.part_of_protocol(id));
            if let Some((operation, lines)) = found {
                self.wrappers.insert(id, operation);
                self.lines.extend(lines);
            }
        }
        self.wrappers.len() > before
    }

    fn may_wrap(&self, id: FunctionId) -> bool {
        let function = self.program.function(id);
        let Some(body) = &function.body else { return false };
        body.code.len() <= LONGEST_PART
            && !body.atomic
            && !function.address_taken
            && self.program.main != Some(id)
            && !function.display_name.contains("lambda")
            && !self.is_library(body)
            && self.effects[id.0 as usize] == Effect::Synchronises
    }

    fn is_library(&self, body: &Body) -> bool {
        let first = body.places.first().and_then(|site| self.program.sites.get(site.index()));
        first.is_none_or(|site| site.place.line == 0 || site.place.is_system())
    }

    /// The one operation of a function and its lines, if it does nothing else.
    fn operations_of(&mut self, id: FunctionId) -> Option<(Operation, Vec<Line>)> {
        let program = self.program;
        let function = program.function(id);
        let body = function.body.as_ref()?;
        if body.code.len() > LONGEST || has_loop(program, body) {
            return None;
        }
        let (locals, handed) = (local_addresses(body), handed_addresses(body));
        let mut found: Vec<Operation> = Vec::new();
        let mut lines = Vec::new();
        for (inst, place) in body.code.iter().zip(&body.places) {
            let operation = match *inst {
                Inst::Call { function, call, .. } => {
                    self.of_call(&handed, function, self.first_argument(call), &locals).ok()?
                }
                Inst::CallExternal { function, call, .. } => {
                    let name = &program.function(function).name;
                    let operation = operation_of(name);
                    let is_handed =
                        || self.first_argument(call).is_some_and(|reg| handed.contains(&reg));
                    match operation {
                        Some(operation) if operation.is_of_what_is_handed() && !is_handed() => {
                            return None;
                        }
                        None if writes(name) => return None,
                        _ => operation,
                    }
                }
                Inst::CallIndirect { .. } | Inst::IndirectJump { .. } => return None,
                _ => match accessed(program, inst) {
                    Some((ptr, true, _)) if !handed.contains(&ptr) => return None,
                    Some((_, true, _)) => Some(Operation::Atomic),
                    Some((ptr, false, true))
                        if !locals.contains(&ptr) && !is_constructor(function) =>
                    {
                        return None;
                    }
                    _ => None,
                },
            };
            if let Some(operation) = operation {
                found.push(operation);
                lines.push(line_of(&program.sites[place.index()].place));
            }
        }
        use Operation::{Release, Signal, Wait};
        let operation = match found[..] {
            [only] => only,
            [Signal, Release] | [Release, Signal] => Signal,
            // The second release is that of an exception.
            [Wait, Release] | [Wait, Release, Release] => Wait,
            [first, ref rest @ ..]
                if rest.iter().all(|next| *next == first && first == Release) =>
            {
                first
            }
            _ => return None,
        };
        Some((operation, lines))
    }

    /// What a function of a lock of the program's own does under it, and its lines: it waits, or signals and releases.
    fn part_of_protocol(&mut self, id: FunctionId) -> Option<(Operation, Vec<Line>)> {
        use Operation::{Release, Signal, Wait};
        let program = self.program;
        let body = program.function(id).body.as_ref()?;
        let (locals, members) = (local_addresses(body), members(body)?);
        let all_handed: FxHashSet<Reg> = members.keys().copied().collect();
        let mut found: FxHashSet<Operation> = FxHashSet::default();
        let mut touched: FxHashSet<i64> = FxHashSet::default();
        let mut lines = Vec::new();
        for (inst, place) in body.code.iter().zip(&body.places) {
            let operation = match *inst {
                Inst::Call { function, call, .. } => {
                    let first = self.first_argument(call);
                    let operation = self.of_call(&all_handed, function, first, &locals).ok()?;
                    operation.map(|operation| (operation, first))
                }
                Inst::CallExternal { function, call, .. } => {
                    let name = &program.function(function).name;
                    match operation_of(name) {
                        None if writes(name) => return None,
                        operation => operation.map(|op| (op, self.first_argument(call))),
                    }
                }
                Inst::CallIndirect { .. } | Inst::IndirectJump { .. } => return None,
                _ => {
                    match accessed(program, inst) {
                        None => {}
                        Some((_, true, _)) => return None,
                        Some((ptr, ..)) if locals.contains(&ptr) => {}
                        Some((ptr, ..)) => {
                            touched.insert(*members.get(&ptr)?);
                            lines.push(line_of(&program.sites[place.index()].place));
                        }
                    }
                    None
                }
            };
            if let Some((operation, on)) = operation {
                // What it waits for and releases is in the same object.
                members.get(&on?)?;
                found.insert(operation);
                lines.push(line_of(&program.sites[place.index()].place));
            }
        }
        let is =
            |all: &[Operation]| all.len() == found.len() && all.iter().all(|o| found.contains(o));
        let operation = match () {
            () if is(&[Wait]) => Wait,
            () if is(&[Signal, Release]) => Signal,
            () => return None,
        };
        (touched.len() == 1).then_some((operation, lines))
    }

    /// What a call does; an error if that is more than a wrapper may do.
    fn of_call(
        &mut self,
        handed: &FxHashSet<Reg>,
        callee: FunctionId,
        first: Option<Reg>,
        locals: &FxHashSet<Reg>,
    ) -> Result<Option<Operation>, ()> {
        let called = self.program.function(callee).body.as_ref().ok_or(())?;
        if let Some(operation) = self.wrappers.get(&callee) {
            let is_handed = first.is_some_and(|reg| handed.contains(&reg));
            return match operation.is_of_what_is_handed() && !is_handed {
                true => Err(()),
                false => Ok(Some(*operation)),
            };
        }
        if is_end(called) {
            return Ok(None);
        }
        let is_library = self.is_library(called);
        match self.effects[callee.0 as usize] {
            Effect::None => Ok(None),
            // The library sets up an object of its own, such as a guard, in a local of this function.
            Effect::Writes if is_library && first.is_some_and(|reg| locals.contains(&reg)) => {
                Ok(None)
            }
            Effect::Writes => Err(()),
            Effect::Synchronises if is_library => {
                let operation = self.of_library(callee, 8).ok_or(())?;
                let is_handed = first.is_some_and(|reg| handed.contains(&reg));
                if operation.is_of_what_is_handed() && !is_handed {
                    return Err(());
                }
                Ok(Some(operation))
            }
            Effect::Synchronises => Err(()),
        }
    }

    /// What a function of the compiler's headers does, if it is one kind of operation.
    fn of_library(&mut self, id: FunctionId, depth: u32) -> Option<Operation> {
        if let Some(known) = self.library.get(&id) {
            return *known;
        }
        let depth = depth.checked_sub(1)?;
        self.library.insert(id, None);
        let program = self.program;
        let body = program.function(id).body.as_ref()?;
        let mut found: FxHashSet<Operation> = FxHashSet::default();
        for inst in &body.code {
            match *inst {
                Inst::CallExternal { function, .. } => {
                    found.extend(operation_of(&program.function(function).name));
                }
                Inst::Call { function, .. } => {
                    let called = program.function(function).body.as_ref()?;
                    if self.effects[function.0 as usize] < Effect::Synchronises || is_end(called) {
                        continue;
                    }
                    let operation = match self.wrappers.get(&function) {
                        Some(operation) => *operation,
                        None if self.is_library(called) => self.of_library(function, depth)?,
                        None => return None,
                    };
                    found.insert(operation);
                }
                Inst::CallIndirect { .. } => return None,
                _ => {
                    let is_atomic = accessed(program, inst).is_some_and(|(_, atomic, _)| atomic);
                    found.extend(is_atomic.then_some(Operation::Atomic));
                }
            }
        }
        let only = match found.len() {
            1 => found.into_iter().next(),
            _ => None,
        };
        // What a wrapper that is found later makes of it is asked again.
        match only {
            Some(_) => self.library.insert(id, only),
            None => self.library.remove(&id),
        };
        only
    }

    fn first_argument(&self, call: CallId) -> Option<Reg> {
        self.program.call(call).args.first().map(|arg| arg.reg)
    }
}

fn operation_of(name: &str) -> Option<Operation> {
    let found = OPERATIONS.iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map(|(_, operation)| *operation)
}

/// Whether a function that the program does not define writes memory that it is given.
fn writes(name: &str) -> bool {
    const WRITERS: [&str; 7] = ["llvm.mem", "mem", "str", "snprintf", "sprintf", "read", "recv"];
    !matches!(name, "strerror" | "strlen" | "strcmp" | "memcmp")
        && WRITERS.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a function never returns.
fn is_end(body: &Body) -> bool {
    !body.code.iter().any(|inst| matches!(inst, Inst::Return { .. } | Inst::ReturnVoid))
}

/// Slots that hold the address of an object that the function is handed, or of a member of it.
fn handed_addresses(body: &Body) -> FxHashSet<Reg> {
    let mut handed: FxHashSet<Reg> = body.params.iter().map(|(first, _)| *first).collect();
    for inst in &body.code {
        if let Inst::AddImm { dst, a, .. } = inst
            && handed.contains(a)
        {
            handed.insert(*dst);
        }
    }
    handed
}

/// Slots that hold the address of a member of the first object that the function is handed, with its offset.
fn members(body: &Body) -> Option<FxHashMap<Reg, i64>> {
    let (object, _) = body.params.first()?;
    let mut members = FxHashMap::from_iter([(*object, 0)]);
    for inst in &body.code {
        if let Inst::AddImm { dst, a, imm, .. } = inst
            && let Some(offset) = members.get(a)
        {
            let offset = offset + i64::from(*imm);
            members.insert(*dst, offset);
        }
    }
    Some(members)
}

/// Slots that hold nothing but the address of a local.
fn local_addresses(body: &Body) -> FxHashSet<Reg> {
    let address = |inst: &Inst| match inst {
        Inst::FrameAddr { dst, .. } => Some(*dst),
        _ => None,
    };
    body.code.iter().filter_map(address).collect()
}

/// By the name of its symbol: `_ZN4HoldC2EP5Mutex`.
fn is_constructor(function: &Function) -> bool {
    function.name.starts_with("_ZN")
        && ["C1E", "C2E", "D1E", "D2E"].iter().any(|mark| function.name.contains(mark))
}

/// The pointer of an access to memory, whether it is atomic, and whether it writes.
fn accessed(program: &Program, inst: &Inst) -> Option<(Reg, bool, bool)> {
    use Inst::*;
    let (ptr, site, writes) = match *inst {
        Load8 { ptr, site, .. }
        | Load16 { ptr, site, .. }
        | Load32 { ptr, site, .. }
        | Load64 { ptr, site, .. }
        | LoadN { ptr, site, .. } => (ptr, site, false),
        Store8 { ptr, site, .. }
        | Store16 { ptr, site, .. }
        | Store32 { ptr, site, .. }
        | Store64 { ptr, site, .. }
        | StoreN { ptr, site, .. } => (ptr, site, true),
        Rmw { ptr, .. } | CmpXchg { ptr, .. } => return Some((ptr, true, true)),
        _ => return None,
    };
    let kind = program.accesses.get(site.index()).map(|access| access.kind);
    Some((ptr, kind == Some(AccessKind::Atomic), writes))
}

/// What every function does, with all that it calls: the least fixed point.
fn effects(program: &Program) -> Vec<Effect> {
    let of = |inst: &Inst| match *inst {
        Inst::CallIndirect { .. } => Effect::Synchronises,
        Inst::CallExternal { function, .. } => {
            let name = &program.function(function).name;
            match operation_of(name) {
                Some(_) => Effect::Synchronises,
                None if writes(name) => Effect::Writes,
                None => Effect::None,
            }
        }
        _ => match accessed(program, inst) {
            Some((_, true, _)) => Effect::Synchronises,
            Some((_, false, true)) => Effect::Writes,
            _ => Effect::None,
        },
    };
    let mut callees: Vec<Vec<FunctionId>> = Vec::with_capacity(program.functions.len());
    let mut effects = Vec::with_capacity(program.functions.len());
    for function in &program.functions {
        let code = function.body.as_ref().map_or(&[][..], |body| &body.code);
        effects.push(code.iter().map(of).max().unwrap_or(Effect::None));
        let called = code.iter().filter_map(|inst| match inst {
            Inst::Call { function, .. } => Some(*function),
            _ => None,
        });
        callees.push(called.collect());
    }
    let mut grew = true;
    while grew {
        grew = false;
        for (index, callees) in callees.iter().enumerate() {
            let below = callees.iter().map(|id| effects[id.0 as usize]).max();
            if let Some(below) = below.filter(|below| *below > effects[index]) {
                effects[index] = below;
                grew = true;
            }
        }
    }
    effects
}

/// Whether some instruction can come again in one call.
fn has_loop(program: &Program, body: &Body) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Open,
        Done,
    }
    let next_of = |at: usize| {
        let mut next = Vec::new();
        let mut inst = body.code[at];
        patch::targets(&mut inst, |to| next.push(*to as usize));
        if let Inst::Switch { table, .. } = inst {
            let switch = &program.switches[table as usize];
            next.extend(switch.cases.values().map(|to| *to as usize));
            next.push(switch.default as usize);
        }
        if inst.falls_through() {
            next.push(at + 1);
        }
        next.retain(|to| *to < body.code.len());
        next
    };
    let mut seen = vec![Seen::Not; body.code.len()];
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    if !body.code.is_empty() {
        seen[0] = Seen::Open;
        open.push((0, next_of(0)));
    }
    while let Some((at, next)) = open.last_mut() {
        match next.pop() {
            Some(to) if seen[to] == Seen::Open => return true,
            Some(to) if seen[to] == Seen::Not => {
                seen[to] = Seen::Open;
                open.push((to, next_of(to)));
            }
            Some(_) => {}
            None => {
                seen[*at] = Seen::Done;
                open.pop();
            }
        }
    }
    false
}
