//! A thread's stream of bytes → what it did.
//!
//! The decoder walks the program's control flow as the thread did, and reads a record wherever the code wrote one: it always knows which
//! one that is, but inside unrecorded code, where marks say what comes. It keeps the call stack, so it knows where a return goes, which
//! frame an exception or a jump reached, and where a thread stands at the end.
//!
//! Unlocks mostly write nothing: their object is that of the lock which the frame took by the same pointer. What a thread does without a record is
//! taken as done where it stands in a call at the end, and as not done where a signal ended it or the rest of its path is lost.
//!
//! It errs in no direction: what does not fit ends the thread there ([`Lost::Undecodable`]).

mod reader;
mod restart;

use std::collections::HashMap;

use crate::code::{Code, CodeRef, FunctionIds};
use crate::file::{LogFile, Stream};
use crate::identifiers::Identified;
use crate::layout;
use crate::log::{Begin, BlockId, Frame, Lost, Object, Record, Stack, Sync, SyncKind};
use crate::numbering::{Node, Numbering};
use crate::shape::{CallKind, Leaves};
use crate::sync::{Objects, sync_kind};
use reader::{RawSync, Reader, Stop};

/// Deeper stacks than any system's default has room for come from damaged logs.
const DEEPEST: usize = 1 << 22;

/// The part of an object's address that all records have.
const OBJECT: u64 = (1 << 48) - 1;

/// More branches than a thread takes in an hour.
const MOST_BRANCHES: u64 = 1 << 40;

/// More unlocks than any code does without a branch or another call.
const MOST_UNPROVEN: usize = 1 << 16;

/// What one stream says.
#[derive(Clone, PartialEq, Debug)]
pub struct Decoded {
    pub begin: Begin,
    pub lost: Vec<Lost>,
    /// Where the thread stands at the end of its stream, outermost first.
    pub stack: Stack,
    /// The operation it waits in there, if its last record says so.
    pub pending: Option<(SyncKind, Object)>,
    /// How many bytes were read.
    pub bytes: u64,
}

/// A frame of the decoder's call stack.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Level {
    /// Code that is not recorded.
    Foreign,
    /// A sync operation of the runtime, which ends with its last record.
    Sync,
    /// Recorded code that stands in the call which ends the node.
    Inside { code: CodeRef, node: Node },
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Debug)]
struct At {
    code: CodeRef,
    /// The node at which the next path starts.
    node: Node,
}

/// The object of a lock that unlocks of the same frame give back; `None` if its call left no record.
struct Taken {
    depth: usize,
    code: CodeRef,
    number: u32,
    object: Option<u64>,
}

pub struct Decoder<'a, F> {
    code: &'a Code,
    functions: &'a FunctionIds,
    reader: Reader<'a>,
    objects: &'a mut Objects,
    stack: Vec<Level>,
    /// Frames that calls which return twice have named: depth of the stack, and the name.
    named: Vec<(usize, u32)>,
    sink: F,
    /// The place that is being walked.
    here: Option<At>,
    /// By object: the stamp of this thread's last operation on it.
    stamps: HashMap<u64, u64>,
    pending: Option<(SyncKind, Object)>,
    /// What locks took, by depth of the frame, function and number.
    taken: Vec<Taken>,
    /// Unlocks that were walked over since the last record; `None` where sync operations are not recorded.
    unproven: Vec<Option<Sync>>,
    /// A signal ended the process in this thread.
    crashed: bool,
    /// How many more branches are decoded: a damaged count of a loop could ask for any number.
    left: u64,
}

/// What remains of the walk: go on there, or in foreign code.
enum Next {
    Walk(At),
    Foreign,
}

impl<'a, F: FnMut(Record)> Decoder<'a, F> {
    pub fn new(
        log: &'a LogFile,
        stream: &'a Stream,
        code: &'a Code,
        functions: &'a FunctionIds,
        objects: &'a mut Objects,
        sink: F,
    ) -> Self {
        let reader = Reader::new(log, stream);
        Decoder {
            code,
            functions,
            reader,
            objects,
            stack: vec![Level::Foreign],
            named: Vec::new(),
            sink,
            here: None,
            stamps: HashMap::new(),
            pending: None,
            taken: Vec::new(),
            unproven: Vec::new(),
            crashed: log.ending.kind == layout::END_SIGNAL && log.ending.thread == stream.number,
            left: MOST_BRANCHES,
        }
    }

    /// Gives up after so many branches.
    pub fn at_most(mut self, branches: u64) -> Self {
        self.left = branches;
        self
    }

    /// Decodes the whole stream.
    pub fn run(mut self) -> Decoded {
        let mut lost = Vec::new();
        let (begin, next) = match self.restart(&mut lost) {
            Some(begin) => begin,
            None => {
                let stack = Vec::new();
                return Decoded { begin: Begin::Start, lost, stack, pending: None, bytes: 0 };
            }
        };
        match self.walk(next) {
            Stop::End if self.crashed => {}
            Stop::End => self.proven(),
            Stop::Tail => lost.push(Lost::Tail),
            Stop::Broken(reason) => {
                lost.push(Lost::Undecodable { bytes: self.reader.rest(), reason });
            }
        }
        let stack = self.frames();
        Decoded { begin, lost, stack, pending: self.pending, bytes: self.reader.taken() }
    }

    fn walk(&mut self, mut next: Next) -> Stop {
        loop {
            let step = match next {
                Next::Foreign => self.foreign(),
                Next::Walk(at) => self.path(at),
            };
            match step {
                Ok(after) => next = after,
                Err(stop) => return stop,
            }
        }
    }

    /// Reads marks until recorded code goes on.
    fn foreign(&mut self) -> Result<Next, Stop> {
        self.here = None;
        loop {
            let mark = self.reader.mark()?;
            self.proven();
            match mark {
                layout::RETURN => {
                    self.reader.skip(1);
                    self.took(None);
                    return self.returned();
                }
                layout::ENTER => {
                    let at = self.enter()?;
                    return Ok(Next::Walk(at));
                }
                layout::PAD => return self.land(),
                layout::TWICE => return self.jump(),
                layout::SYNC | layout::SYNC_SHORT | layout::SYNC_BARE => {
                    let record = self.reader.sync()?;
                    if record.half {
                        return Err(self.waits(record));
                    }
                    let last = self.sync(record)?;
                    if last {
                        self.took(Some(record.object & OBJECT));
                    }
                    if last && self.stack.last() == Some(&Level::Sync) {
                        return self.returned();
                    }
                }
                other => return Err(Stop::broken(format!("{other:#04x} is no mark"))),
            }
        }
    }

    /// A call of something that is not recorded returns.
    fn returned(&mut self) -> Result<Next, Stop> {
        match (self.stack.pop(), self.stack.pop()) {
            (Some(Level::Foreign | Level::Sync), Some(Level::Inside { code, node })) => {
                self.resume(code, node)
            }
            _ => Err(Stop::broken("a call returned that was not made")),
        }
    }

    /// The thread is in an operation that is not done: nothing can follow.
    fn waits(&mut self, record: RawSync) -> Stop {
        if self.reader.mark() != Err(Stop::End) {
            return Stop::broken("a sync operation without a stamp is not the last one");
        }
        match sync_kind(record.kind) {
            Some(kind @ (SyncKind::Lock | SyncKind::LockShared)) => {
                self.pending = Some((kind, self.objects.name(kind, record.object)));
            }
            // A try does not wait; it was interrupted.
            Some(
                SyncKind::TryLock { acquired: true } | SyncKind::TryLockShared { acquired: true },
            ) => {}
            _ => return Stop::broken("a sync operation has no stamp"),
        }
        Stop::End
    }

    /// Whether it is the last record of its call.
    fn sync(&mut self, record: RawSync) -> Result<bool, Stop> {
        if record.kind == layout::SYNC_NOT_LOCKED {
            return Ok(true);
        }
        let object = record.object & OBJECT;
        let before = self.stamps.get(&object).copied().unwrap_or(0);
        let number = record.kind & !layout::SYNC_MORE;
        let stamp = match number {
            layout::SYNC_UNLOCK => before,
            _ => record.stamp,
        };
        self.stamps.insert(object, stamp);
        let Some(kind) = sync_kind(number) else {
            return Err(Stop::broken(format!("{number} is no sync operation")));
        };
        let object = self.objects.name(kind, object);
        (self.sink)(Record::Sync(Sync { kind, object, stamp }));
        Ok(record.kind == number)
    }

    /// A lock that recorded code called is done, with this object.
    fn took(&mut self, object: Option<u64>) {
        let [.., Level::Inside { code, node }, Level::Sync] = self.stack[..] else { return };
        let numbering = self.code.numbering(code);
        let calls = &self.code.shape(code).blocks[numbering.block_of[node]].calls;
        let Some(CallKind::Sync(Some(number))) =
            calls.get(numbering.call_at(node)).map(|call| call.kind)
        else {
            return;
        };
        let depth = self.stack.len() - 2;
        self.taken.retain(|t| (t.depth, t.code, t.number) != (depth, code, number));
        self.taken.push(Taken { depth, code, number, object });
    }

    /// An unlock that wrote nothing. Where decoding began after its lock, the object is not known, and nothing is said.
    fn unlock(&mut self, code: CodeRef, number: u32) -> Result<(), Stop> {
        let depth = self.stack.len();
        let taken =
            self.taken.iter().rev().find(|t| (t.depth, t.code, t.number) == (depth, code, number));
        let object = taken.and_then(|t| t.object);
        if self.unproven.len() >= MOST_UNPROVEN {
            return Err(Stop::broken("there are more unlocks than can be"));
        }
        let kind = SyncKind::Unlock;
        let sync = object.map(|object| Sync {
            kind,
            stamp: self.stamps.get(&object).copied().unwrap_or(0),
            object: self.objects.name(kind, object),
        });
        self.unproven.push(sync);
        Ok(())
    }

    /// A later record was read: the unlocks before it were done.
    fn proven(&mut self) {
        for unlock in self.unproven.drain(..).flatten() {
            (self.sink)(Record::Sync(unlock));
        }
    }

    /// A record that names the function which is entered.
    fn enter(&mut self) -> Result<At, Stop> {
        let (module, what) = self.named_record()?;
        let Identified::Function(function) = what else {
            return Err(Stop::broken("something is entered that is no function"));
        };
        let code = CodeRef { module, function };
        self.check(code)?;
        if let Some(id) = self.functions[module as usize][function as usize] {
            (self.sink)(Record::Enter(id));
        }
        Ok(At { code, node: 0 })
    }

    fn named_record(&mut self) -> Result<(u32, Identified), Stop> {
        let identifier = self.reader.named()?;
        self.proven();
        let known = self.code.identified(identifier);
        known.ok_or_else(|| Stop::broken(format!("{identifier:#x} names nothing of the program")))
    }

    fn check(&self, code: CodeRef) -> Result<(), Stop> {
        if !self.code.is_recorded(code) {
            return Err(Stop::broken("a function is entered that is not recorded"));
        }
        if self.functions[code.module as usize][code.function as usize].is_none() {
            let name = &self.code.shape(code).name;
            return Err(Stop::broken(format!(
                "another copy of {name} ran than the kept program has"
            )));
        }
        if self.stack.len() > DEEPEST {
            return Err(Stop::broken("the call stack is impossibly deep"));
        }
        Ok(())
    }

    /// An exception has reached a landing pad: of the innermost frame that stands at an invoke with this pad.
    fn land(&mut self) -> Result<Next, Stop> {
        let (module, what) = self.named_record()?;
        let Identified::Pad { function, block } = what else {
            return Err(Stop::broken("an exception landed on no landing pad"));
        };
        let pad = CodeRef { module, function };
        let numbering = self.code.numbering(pad);
        while let Some(level) = self.stack.pop() {
            let Level::Inside { code, node } = level else { continue };
            if code != pad || !self.is_invoke(code, node) {
                continue;
            }
            let from = numbering.block_of[node];
            if self.code.shape(code).blocks[from].successors[1] as usize == block {
                self.forget_names();
                self.branch(code, from, 1);
                return Ok(Next::Walk(At { code, node: numbering.first_node[block] }));
            }
        }
        Err(Stop::broken("an exception landed in no frame of the stack"))
    }

    /// A call returned again: in the frame that was named when it returned first.
    fn jump(&mut self) -> Result<Next, Stop> {
        let (module, what) = self.named_record()?;
        let name = self.reader.number(4)? as u32;
        let Identified::Twice { function, node } = what else {
            return Err(Stop::broken("a jump reached no call that returns twice"));
        };
        let code = CodeRef { module, function };
        let Some(known) = self.named.iter().rposition(|&(_, n)| n == name) else {
            return Err(Stop::broken("a jump reached a frame that is gone"));
        };
        let (depth, _) = self.named[known];
        // The frame itself is not on the stack while it is walked, so it was as deep as the stack was then.
        self.stack.truncate(depth);
        self.forget_names();
        Ok(Next::Walk(At { code, node: node + 1 }))
    }

    /// Names of frames that are gone go too.
    fn forget_names(&mut self) {
        let depth = self.stack.len();
        self.named.retain(|&(at, _)| at <= depth);
        self.taken.retain(|taken| taken.depth <= depth);
    }

    fn is_invoke(&self, code: CodeRef, node: Node) -> bool {
        let numbering = self.code.numbering(code);
        let block = &self.code.shape(code).blocks[numbering.block_of[node]];
        block.leaves == Leaves::Invoke && numbering.call_at(node) + 1 == block.calls.len()
    }

    /// Goes on after the call that ended the node.
    fn resume(&mut self, code: CodeRef, node: Node) -> Result<Next, Stop> {
        self.forget_names();
        if !self.is_invoke(code, node) {
            return Ok(Next::Walk(At { code, node: node + 1 }));
        }
        let numbering = self.code.numbering(code);
        let to = self.code.shape(code).blocks[numbering.block_of[node]].successors[0];
        Ok(Next::Walk(At { code, node: numbering.first_node[to as usize] }))
    }

    fn branch(&mut self, code: CodeRef, block: usize, successor: u32) {
        if let Some(function) = self.functions[code.module as usize][code.function as usize] {
            (self.sink)(Record::Branch { function, block: BlockId(block as u32), successor });
        }
    }

    /// Reads one path and follows it to its end.
    fn path(&mut self, at: At) -> Result<Next, Stop> {
        self.here = Some(at);
        let At { code, mut node } = at;
        let numbering = self.code.numbering(code);
        let mut number = match numbering.width(node) {
            0 => 0,
            width => {
                let number = self.reader.number(width as usize)? - layout::PATH_BASE;
                self.proven();
                number
            }
        };
        loop {
            let block = numbering.block_of[node];
            let shape = &self.code.shape(code).blocks[block];
            if let Some(call) = shape.calls.get(numbering.call_at(node)) {
                return self.call(code, node, call.kind);
            }
            if shape.successors.is_empty() {
                return self.leave(shape.leaves);
            }
            let Some((edge, rest)) = numbering.follow(block, number) else {
                return Err(Stop::broken("no path has this number"));
            };
            number = rest;
            let edge = &numbering.edges[edge];
            if numbering.out[block].len() > 1 {
                self.spend(1)?;
                self.branch(code, block, edge.successors[0]);
            }
            node = numbering.first_node[edge.to];
            if let Some(counted) = edge.enters {
                self.here = Some(At { code, node });
                self.rounds(code, numbering, counted)?;
            }
            if edge.cut {
                return Ok(Next::Walk(At { code, node }));
            }
        }
    }

    fn spend(&mut self, branches: u64) -> Result<(), Stop> {
        self.left = self.left.checked_sub(branches).ok_or_else(|| {
            Stop::broken("there are more branches than can be decoded at once; is the log damaged?")
        })?;
        Ok(())
    }

    /// The rounds of a counted loop.
    fn rounds(&mut self, code: CodeRef, numbering: &Numbering, counted: usize) -> Result<(), Stop> {
        let trips = self.reader.trips()?;
        self.proven();
        let round = &numbering.counted[counted].round;
        let branches: Vec<(usize, u32)> = round
            .iter()
            .map(|&e| &numbering.edges[e])
            .filter(|e| numbering.out[e.from].len() > 1)
            .map(|e| (e.from, e.successors[0]))
            .collect();
        let many = trips.saturating_mul(branches.len() as u64);
        self.spend(many)?;
        for _ in 0..if branches.is_empty() { 0 } else { trips } {
            branches.iter().for_each(|&(block, successor)| self.branch(code, block, successor));
        }
        Ok(())
    }

    fn call(&mut self, code: CodeRef, node: Node, kind: CallKind) -> Result<Next, Stop> {
        match kind {
            CallKind::Recorded(callee) => {
                self.stack.push(Level::Inside { code, node });
                self.callee(CodeRef { function: callee, ..code })
            }
            CallKind::Tail(Some(callee)) => self.callee(CodeRef { function: callee, ..code }),
            CallKind::Foreign | CallKind::NoReturn => {
                self.stack.push(Level::Inside { code, node });
                self.stack.push(Level::Foreign);
                Ok(Next::Foreign)
            }
            CallKind::Unlock(number) => {
                self.unlock(code, number)?;
                Ok(Next::Walk(At { code, node: node + 1 }))
            }
            CallKind::Sync(_) => {
                self.stack.push(Level::Inside { code, node });
                self.stack.push(Level::Sync);
                Ok(Next::Foreign)
            }
            // The frame is gone; whoever called it waits for a mark.
            CallKind::Tail(None) => match self.stack.last() {
                Some(Level::Foreign) => Ok(Next::Foreign),
                _ => Err(Stop::broken("a tail call left a frame that nobody marks")),
            },
            CallKind::ReturnsTwice => {
                let (_, what) = self.named_record()?;
                let name = self.reader.number(4)? as u32;
                if what != (Identified::Twice { function: code.function, node }) {
                    return Err(Stop::broken("another call returned than was made"));
                }
                self.named.retain(|&(_, n)| n != name);
                self.named.push((self.stack.len(), name));
                Ok(Next::Walk(At { code, node: node + 1 }))
            }
        }
    }

    /// A recorded function is called by recorded code.
    fn callee(&mut self, code: CodeRef) -> Result<Next, Stop> {
        self.check(code)?;
        let shape = self.code.shape(code);
        if !shape.entered || shape.inner {
            return Ok(Next::Walk(At { code, node: 0 }));
        }
        self.here = None;
        let (module, what) = self.named_record()?;
        if module != code.module || what != Identified::Function(code.function) {
            return Err(Stop::broken("another function was entered than was called"));
        }
        Ok(Next::Walk(At { code, node: 0 }))
    }

    fn leave(&mut self, leaves: Leaves) -> Result<Next, Stop> {
        if leaves == Leaves::Stop {
            // An exception goes on, or nothing does: only a mark can follow, and no return to this frame.
            self.stack.push(Level::Foreign);
            return Ok(Next::Foreign);
        }
        match self.stack.pop() {
            Some(Level::Inside { code, node }) => self.resume(code, node),
            Some(Level::Foreign) => {
                self.stack.push(Level::Foreign);
                self.forget_names();
                Ok(Next::Foreign)
            }
            Some(Level::Sync) | None => Err(Stop::broken("a function returned to nobody")),
        }
    }

    /// The recorded frames of the stack, and the place that is walked.
    fn frames(&self) -> Stack {
        let inside = self.stack.iter().filter_map(|level| match *level {
            Level::Foreign | Level::Sync => None,
            Level::Inside { code, node } => self.frame(code, node, true),
        });
        let here = self.here.and_then(|at| self.frame(at.code, at.node, false));
        inside.chain(here).collect()
    }

    fn frame(&self, code: CodeRef, node: Node, at_call: bool) -> Option<Frame> {
        let function = self.functions[code.module as usize][code.function as usize]?;
        let numbering = self.code.numbering(code);
        let block = numbering.block_of[node];
        let call = self.code.shape(code).blocks[block].calls.get(numbering.call_at(node));
        let instruction = call.filter(|_| at_call).map(|call| call.instruction);
        Some(Frame { function, block: BlockId(block as u32), instruction })
    }
}
