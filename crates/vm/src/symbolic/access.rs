//! Loads and stores: what the shadow of memory holds, and the symbols and stored values of those that are events.
//!
//! A read that is an event returns a fresh symbol if recorded writes explain the bytes that are there. If they do
//! not, somebody wrote unseen (native code, a site that is no event): the read is then no access at all, and
//! returns what the shadow of memory says.

use unravel_code::Reg;
use unravel_code::code::RmwOp;
use unravel_trace::{BinaryOp, CompareOp, ConditionKind, ExprId, FloatOp, Otherwise};

use super::{Byte, Concolic, Recorded};
use crate::machine::Machine;

/// Longer accesses are several of eight bytes.
const LONGEST: u64 = 16;

fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    let piece = if bytes <= LONGEST { LONGEST } else { 8 };
    (0..bytes).step_by(piece as usize).map(move |at| (address + at, piece.min(bytes - at) as u8))
}

impl Machine {
    /// What a load of the current thread returned: what its event saw, else what memory holds.
    pub(super) fn loaded(&mut self, address: u64, bytes: u64) -> Vec<Byte> {
        let thread = self.current;
        let concolic = &mut self.concolic;
        let seen = std::mem::take(&mut concolic.thread(thread).seen);
        // SAFETY: the access was checked, and is happening.
        let mut all = unsafe { concolic.memory.load(&mut concolic.graph, address, bytes) };
        for (start, length, id) in &seen {
            for i in 0..*length {
                let at = start + u64::from(i);
                if !(address..address + bytes).contains(&at) {
                    continue;
                }
                let slot = &mut all[(at - address) as usize];
                *slot = match concolic.graph.exprs.as_const(*id) {
                    Some(value) => Byte::Known((value >> (8 * u32::from(i))) as u8),
                    None => Byte::Part(*id, i),
                };
            }
        }
        concolic.thread(thread).seen = seen;
        all
    }

    /// An event is about to read: fresh symbols.
    pub(crate) fn observe(&mut self, address: u64, bytes: u64) {
        let event = self.recorder.events() as u32;
        let thread = self.current;
        for (address, bytes) in pieces(address, bytes) {
            let concolic = &mut self.concolic;
            // SAFETY: the access was checked, and is happening.
            let held =
                unsafe { concolic.memory.load(&mut concolic.graph, address, u64::from(bytes)) };
            let memory = concolic.graph.value_of(&held);
            let value = concolic.graph.value(memory);
            let symbol = concolic.accesses.len() as u32;
            // Memory that got an input unseen was not like this before the run with any input.
            let input = concolic.graph.depends_on_input(memory);
            let unseen = input && !concolic.is_followed(address, bytes);
            let seen = if !unseen && concolic.is_explained(address, value, bytes) {
                let value = self.guessed(symbol, value);
                let concolic = &mut self.concolic;
                // What was computed of inputs is followed further.
                let id = match input {
                    true => concolic.graph.input(symbol, 8 * bytes, value, thread),
                    false => concolic.graph.symbol(symbol, 8 * bytes, value, thread),
                };
                concolic.accesses.push(Recorded {
                    event,
                    thread,
                    write: false,
                    address,
                    bytes,
                    value: id,
                    memory,
                });
                id
            } else {
                memory
            };
            self.concolic.thread(thread).seen.push((address, bytes, seen));
        }
    }

    /// An event is about to write: memory as it is now may be what it was before the run.
    pub(crate) fn before_write(&mut self, address: u64, bytes: u64) {
        for at in address..address + bytes {
            // SAFETY: the access was checked.
            let now = unsafe { *(at as *const u8) };
            if self.concolic.explained.insert(at, now).is_none() {
                self.concolic.initial.insert(at, now);
            }
        }
    }

    /// An event has written what memory and its shadow hold now.
    pub(crate) fn wrote_symbolically(&mut self, address: u64, bytes: u64) {
        let event = self.recorder.events() as u32;
        let thread = self.current;
        for (address, bytes) in pieces(address, bytes) {
            let concolic = &mut self.concolic;
            // SAFETY: the access has happened.
            let held =
                unsafe { concolic.memory.load(&mut concolic.graph, address, u64::from(bytes)) };
            let value = concolic.graph.value_of(&held);
            let concrete = concolic.graph.value(value);
            for i in 0..bytes {
                let byte = (concrete >> (8 * u32::from(i))) as u8;
                concolic.explained.insert(address + u64::from(i), byte);
            }
            concolic.accesses.push(Recorded {
                event,
                thread,
                write: true,
                address,
                bytes,
                value,
                memory: value,
            });
        }
    }

    /// Whether an access that is no event is one all the same, because it touches what events touched.
    pub fn is_event_after_all(&mut self, address: u64, bytes: u64) -> bool {
        self.records_accesses()
            && (address..address + bytes).any(|at| self.concolic.explained.contains_key(&at))
    }

    /// A load has happened.
    pub fn shadow_load(&mut self, fp: *const u64, dst: Reg, address: u64, bytes: u32, bits: u8) {
        let thread = self.current;
        let slots = bytes.div_ceil(8);
        let count = u64::from(bytes);
        if self.concolic.thread(thread).seen.is_empty() && !self.concolic.memory.any(address, count)
        {
            return self.frame_at(fp).clear(dst, slots);
        }
        let value = self.loaded(address, count);
        self.concolic.thread(thread).seen.clear();
        let mut frame = self.frame_at(fp);
        frame.give_bytes(dst, &value);
        if frame.concolic.guide.is_on() {
            frame.take_guess(dst, slots);
        }
        // Only the low bits count.
        let (last, bits) = match bits {
            0 | 64 | 128 => return,
            1..64 => (dst, bits),
            _ => (dst + 1, bits - 64),
        };
        if let Some(id) = frame.get(last) {
            let id = frame.concolic.graph.resize(id, bits);
            frame.give(last, id);
        }
    }

    pub(super) fn shadow_frame_load(
        &mut self,
        fp: *const u64,
        dst: Reg,
        base: u64,
        offset: u32,
        bytes: u32,
    ) {
        self.shadow_load(fp, dst, base + u64::from(offset), bytes, 0);
    }

    /// A store happens: memory gets the shadow of the value.
    pub fn shadow_store(&mut self, fp: *const u64, src: Reg, address: u64, bytes: u32) {
        let mut frame = self.frame_at(fp);
        if frame.any(src, bytes.div_ceil(8)) {
            let value = frame.bytes(src, 0, bytes);
            self.concolic.memory.store(address, &value);
        } else {
            self.concolic.memory.forget(address, u64::from(bytes));
        }
    }

    /// Bytes are copied: what the reads of this call saw, else what memory holds.
    pub fn shadow_copy(&mut self, from: u64, to: u64, bytes: u64) {
        if !self.concolic.is_on() {
            return;
        }
        let thread = self.current;
        if self.concolic.thread(thread).seen.is_empty() && !self.concolic.memory.any(from, bytes) {
            return self.concolic.memory.forget(to, bytes);
        }
        let value = self.loaded(from, bytes);
        self.concolic.memory.store(to, &value);
    }

    /// Every byte of a range gets the lowest byte of a value.
    pub fn shadow_fill(&mut self, to: u64, bytes: u64, byte: Option<ExprId>) {
        match byte {
            Some(id) => {
                let byte = Byte::Part(id, 0);
                (to..to + bytes).for_each(|at| self.concolic.memory.store(at, &[byte]));
            }
            None => self.shadow_forget(to, bytes),
        }
    }

    /// Bytes were written that do not depend on any read, or on values that were kept.
    pub fn shadow_forget(&mut self, address: u64, bytes: u64) {
        if self.concolic.is_on() {
            self.concolic.memory.forget(address, bytes);
        }
    }

    /// A library function looks at bytes: they keep their values.
    pub fn shadow_look(&mut self, address: u64, bytes: u64) {
        if !self.concolic.is_on() {
            return;
        }
        let thread = self.current;
        if self.concolic.thread(thread).seen.is_empty() && !self.concolic.memory.any(address, bytes)
        {
            return;
        }
        let value = self.loaded(address, bytes);
        self.fix_bytes(&value);
    }

    /// A library function is going to look at memory, or to overwrite it.
    pub fn shadow_hand_over(&mut self, address: u64, bytes: u64, write: bool) {
        if write {
            self.shadow_forget(address, bytes);
        } else {
            self.shadow_look(address, bytes);
        }
    }

    /// A library function returns what its read of up to sixteen bytes returned.
    pub fn shadow_return_loaded(&mut self, address: u64, bytes: u64) {
        if self.concolic.is_on() {
            let value = self.loaded(address, bytes);
            self.shadow_return_bytes(&value);
        }
    }

    fn shadow_return_bytes(&mut self, value: &[Byte]) {
        let mut slots = value.chunks(8);
        let mut next = || slots.next().and_then(|part| self.concolic.graph.assemble(part));
        let result = [next(), next()];
        self.shadow_result(result);
    }

    /// An atomic update by a library function, which returns the old value, is about to store `new`.
    pub fn shadow_library_update(
        &mut self,
        op: RmwOp,
        object: (u64, u64),
        (value, new): (u128, u128),
    ) {
        if self.concolic.is_on() {
            let record = self.records_accesses();
            let old = self.shadow_update(op, object, None, (value, new), record);
            let bytes = self.concolic.graph.bytes(old, object.1 as usize);
            self.shadow_return_bytes(&bytes);
        }
    }

    /// And has.
    pub fn shadow_updated(&mut self, address: u64, bytes: u64) {
        if self.concolic.is_on() && self.records_accesses() {
            self.wrote_symbolically(address, bytes);
        }
    }

    /// A library function is about to overwrite memory with bytes that were kept.
    pub fn shadow_overwrite(&mut self, address: u64, bytes: u64) {
        if self.concolic.is_on() {
            if self.records_accesses() {
                self.before_write(address, bytes);
            }
            self.shadow_forget(address, bytes);
        }
    }

    /// A compare-and-exchange by a library function is about to happen; what it expects and stores was kept.
    /// Returns the condition that it succeeds.
    pub fn shadow_library_exchange(
        &mut self,
        (address, expected): (u64, u64),
        bytes: u64,
        equal: bool,
    ) -> Option<ExprId> {
        if !self.concolic.is_on() {
            return None;
        }
        let thread = self.current;
        self.concolic.thread(thread).seen.clear();
        if self.records_accesses() {
            self.observe(address, bytes);
        }
        let old = self.loaded(address, bytes);
        self.concolic.thread(thread).seen.clear();
        let Concolic { memory, graph, .. } = &mut self.concolic;
        // SAFETY: checked by the model.
        let wanted = unsafe { memory.load(graph, expected, bytes) };
        let (before, wanted) = (graph.value_of(&old), graph.value_of(&wanted));
        let same = graph.exprs.compare(CompareOp::Eq, before, wanted);
        if equal {
            self.shadow_overwrite(address, bytes);
        } else {
            self.concolic.memory.store(expected, &old);
        }
        Some(same)
    }

    /// A library function decided by a condition, which is now known to have been so.
    pub fn shadow_went(&mut self, condition: Option<ExprId>, taken: bool) {
        if let Some(condition) = condition {
            // As for the instruction.
            let next = self.branches_taken();
            self.add_branch(condition, taken, Otherwise::Turns(next));
        }
    }

    /// An atomic update is about to store `new`. Returns the old value's expression.
    pub fn shadow_update(
        &mut self,
        op: RmwOp,
        (address, bytes): (u64, u64),
        value: Option<ExprId>,
        concrete: (u128, u128),
        record: bool,
    ) -> ExprId {
        let thread = self.current;
        let (operand, new) = concrete;
        let bits = 8 * bytes as u8;
        self.concolic.thread(thread).seen.clear();
        if record {
            self.observe(address, bytes);
            self.before_write(address, bytes);
        }
        let old = self.loaded(address, bytes);
        self.concolic.thread(thread).seen.clear();
        let graph = &mut self.concolic.graph;
        let old = graph.value_of(&old);
        let by = match value {
            Some(id) => graph.resize(id, bits),
            None => graph.exprs.constant(operand, bits),
        };
        let mut stored = update(graph, op, old, by);
        if graph.value(stored) != new {
            // No expression for this case (an operation on numbers that are none).
            stored = graph.exprs.constant(new, bits);
            self.fix(old, ConditionKind::Fixed);
            self.fix(by, ConditionKind::Fixed);
        }
        let bytes = self.concolic.graph.bytes(stored, bytes as usize);
        self.concolic.memory.store(address, &bytes);
        old
    }

    /// The same for an update by an instruction, of up to 64 bits.
    pub fn shadow_rmw(
        &mut self,
        op: RmwOp,
        fp: *const u64,
        (dst, value): (Reg, Reg),
        object: (u64, u64),
        new: u64,
        record: bool,
    ) {
        let mut frame = self.frame_at(fp);
        let (operand, shadow) = (u128::from(frame.value(value)), frame.get(value));
        let old = self.shadow_update(op, object, shadow, (operand, u128::from(new)), record);
        self.frame_at(fp).give(dst, old);
    }

    /// A compare-and-exchange is about to happen. The slots are those of `expected`, `new` and the result.
    pub fn shadow_exchange(
        &mut self,
        fp: *const u64,
        bits: u8,
        (address, equal): (u64, bool),
        (expected, new): (Reg, Reg),
        record: bool,
    ) -> (ExprId, ExprId) {
        let thread = self.current;
        let bytes = u64::from(bits) / 8;
        self.concolic.thread(thread).seen.clear();
        if record {
            self.observe(address, bytes);
            if equal {
                self.before_write(address, bytes);
            }
        }
        let old = self.loaded(address, bytes);
        self.concolic.thread(thread).seen.clear();
        let old = self.concolic.graph.value_of(&old);
        let mut frame = self.frame_at(fp);
        let wanted = frame.operand_of(expected, bits);
        if equal {
            let stored = frame.bytes(new, 0, bytes as u32);
            self.concolic.memory.store(address, &stored);
        }
        let same = self.concolic.graph.exprs.compare(CompareOp::Eq, old, wanted);
        (old, same)
    }

    /// The exchange has happened and is recorded: its result, and the condition that it went this way, if the values
    /// decided it.
    pub fn shadow_exchanged(
        &mut self,
        fp: *const u64,
        dst: Reg,
        bits: u8,
        (old, same): (ExprId, ExprId),
        (equal, by_value): (bool, bool),
    ) {
        let bytes = usize::from(bits) / 8;
        let mut result = self.concolic.graph.bytes(old, bytes);
        result.push(Byte::Known(u8::from(equal)));
        self.frame_at(fp).insert_bytes(dst, 0, &result);
        if !by_value {
            return;
        }
        // What comes of it shows at the next branch.
        let next = self.branches_taken();
        self.add_branch(same, equal, Otherwise::Turns(next));
    }
}

impl Machine {
    /// An update of 128 bits, which is a library function's.
    pub fn shadow_before_wide_update(&mut self, fp: *const u64, value: Reg, dst: Reg) {
        self.fix_slots(fp, value, 2, ConditionKind::Fixed);
        self.frame_at(fp).clear(dst, 2);
        self.shadow_result([None; 2]);
    }

    pub fn shadow_after_wide_update(&mut self, fp: *const u64, dst: Reg) {
        let current = self.current;
        let result = std::mem::take(&mut self.concolic.thread(current).result);
        for (reg, id) in (dst..).zip(result) {
            self.frame_at(fp).set(reg, id);
        }
    }
}

impl super::Concolic {
    /// Whether recorded accesses have touched all of this.
    fn is_followed(&self, address: u64, bytes: u8) -> bool {
        (address..address + u64::from(bytes)).all(|at| self.explained.contains_key(&at))
    }

    /// Whether recorded writes, or the memory before them, explain a value.
    fn is_explained(&mut self, address: u64, value: u128, bytes: u8) -> bool {
        (0..bytes).fold(true, |all, i| {
            let (at, byte) = (address + u64::from(i), (value >> (8 * u32::from(i))) as u8);
            let known = *self.explained.entry(at).or_insert_with(|| {
                self.initial.insert(at, byte);
                byte
            });
            all && known == byte
        })
    }
}

/// What an update stores.
fn update(graph: &mut super::graph::Graph, op: RmwOp, old: ExprId, by: ExprId) -> ExprId {
    let exprs = &mut graph.exprs;
    let bits = exprs.bits(old);
    let mut pick = |compare, a, b| {
        let condition = exprs.compare(compare, a, b);
        exprs.ite(condition, old, by)
    };
    match op {
        RmwOp::Exchange => by,
        RmwOp::Max => pick(CompareOp::Sle, by, old),
        RmwOp::Min => pick(CompareOp::Sle, old, by),
        RmwOp::UMax => pick(CompareOp::Ule, by, old),
        RmwOp::UMin => pick(CompareOp::Ule, old, by),
        RmwOp::Add => exprs.binary(BinaryOp::Add, old, by),
        RmwOp::Sub => exprs.binary(BinaryOp::Sub, old, by),
        RmwOp::And => exprs.binary(BinaryOp::And, old, by),
        RmwOp::Or => exprs.binary(BinaryOp::Or, old, by),
        RmwOp::Xor => exprs.binary(BinaryOp::Xor, old, by),
        RmwOp::Nand => {
            let both = exprs.binary(BinaryOp::And, old, by);
            let ones = exprs.constant(u128::MAX, bits);
            exprs.binary(BinaryOp::Xor, both, ones)
        }
        RmwOp::FAdd => exprs.float(FloatOp::Add, old, by),
        RmwOp::FSub => exprs.float(FloatOp::Sub, old, by),
        RmwOp::FMax | RmwOp::FMin => {
            // Ordered and greater, or ordered and less.
            let predicate = if op == RmwOp::FMax { 0b0010 } else { 0b0100 };
            let condition = exprs.float_compare(predicate, old, by);
            exprs.ite(condition, old, by)
        }
        RmwOp::UIncWrap => {
            let (zero, one) = (exprs.constant(0, bits), exprs.constant(1, bits));
            let wraps = exprs.compare(CompareOp::Ule, by, old);
            let next = exprs.binary(BinaryOp::Add, old, one);
            exprs.ite(wraps, zero, next)
        }
        RmwOp::UDecWrap => {
            let one = exprs.constant(1, bits);
            let above = exprs.compare(CompareOp::Ult, by, old);
            let zero = exprs.constant(0, bits);
            let is_zero = exprs.compare(CompareOp::Eq, old, zero);
            let wraps = exprs.binary(BinaryOp::Or, above, is_zero);
            let next = exprs.binary(BinaryOp::Sub, old, one);
            exprs.ite(wraps, by, next)
        }
    }
}
