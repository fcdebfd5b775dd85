//! Inputs as symbols, in runs that leave them open ([`FreeInput`]): a read of a cell whose value nobody knows before the
//! run, made by the last event of the thread that asked for the input. Execution goes on with the concrete value.
//!
//! Besides `__VERIFIER_nondet_*` these are numbers that the program makes of text: of an argument by `atoi` and its like, of
//! a word of standard input by `scanf` with plain conversions, and of a byte by `getchar`. A number is recognised
//! only if its text is the number in decimal and nothing else; all other input stays concrete, kept by conditions where it
//! is looked at ([`super::calls`]).
//!
//! What a thread computes of inputs and stores is an event, at visible sites and others: threads that are created later
//! read it from there, and a value that passes unseen would be a constant to them.
//!
//! *Not modelled*: inputs of floating point, and what a program learns from the text itself. Errs on the side of finding
//! nothing: what is found is executed with the input written out ([`unravel_trace::Input::with_values`]).

use unravel_code::{Abi, CallSite, Reg};
use unravel_trace::{
    CompareOp, Condition, ConditionKind, ExprId, FreeInput, InputCell, InputSource, Otherwise,
    SiteId, ThreadId, input_cell, words,
};

use super::{Byte, Recorded};
use crate::budgets::MOST_STORES;
use crate::host;
use crate::machine::Machine;
use crate::site_tables::RECORD;

/// A library function that makes a value of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reader {
    /// Of its first argument; its third is the base, if it has one.
    Number { base: bool },
    /// Its format is this argument; the one before it, if there is one, is the stream.
    Scan { format: usize },
    /// Its first argument is the stream, if it has one.
    Character { stream: bool },
}

impl Reader {
    pub fn named(name: &str) -> Option<Reader> {
        let plain = name.strip_prefix("__isoc99_").or_else(|| name.strip_prefix("__isoc23_"));
        Some(match plain.unwrap_or(name) {
            "atoi" | "atol" | "atoll" => Reader::Number { base: false },
            "strtol" | "strtoll" | "strtoul" | "strtoull" | "strtoimax" | "strtoumax" => {
                Reader::Number { base: true }
            }
            "scanf" => Reader::Scan { format: 0 },
            "fscanf" => Reader::Scan { format: 1 },
            "getchar" | "getchar_unlocked" => Reader::Character { stream: false },
            "fgetc" | "getc" | "fgetc_unlocked" | "getc_unlocked" | "_IO_getc" => {
                Reader::Character { stream: true }
            }
            _ => return None,
        })
    }
}

/// What the library function that is being executed reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    Argument {
        index: u32,
    },
    /// Words of standard input, stored at these addresses with so many bytes.
    Words {
        targets: Vec<(u64, u8)>,
    },
    Character,
}

impl Machine {
    fn is_free(&self, input: FreeInput) -> bool {
        self.concolic.free >= input
    }

    /// A symbol for an input that is read now.
    fn input_symbol(&mut self, what: InputSource, bytes: u8, value: u64) -> Option<ExprId> {
        let thread = self.current;
        let address = input_cell(&what, ThreadId(thread as u32));
        let concolic = &mut self.concolic;
        // Nobody reads before its first event, which is its start.
        let event = concolic.thread(thread).last_event?;
        concolic.inputs.entry(address).or_insert(InputCell { address, bytes, what, value });
        let symbol = concolic.accesses.len() as u32;
        let concrete = u128::from(value);
        let memory = concolic.graph.exprs.constant(concrete, 8 * bytes);
        let value = concolic.graph.input(symbol, 8 * bytes, concrete, thread);
        let write = false;
        concolic.accesses.push(Recorded { event, thread, write, address, bytes, value, memory });
        Some(value)
    }

    /// What the current thread's call number `index` of `__VERIFIER_nondet_*` returns, a value of so many bits.
    pub fn nondet_symbol(&mut self, index: u32, value: u64, bits: u8) -> Option<ExprId> {
        if !self.is_free(FreeInput::Nondet) {
            return None;
        }
        let bytes = bits.div_ceil(8);
        let what = InputSource::Nondet { thread: self.names[self.current].clone(), index };
        let symbol = self.input_symbol(what, bytes, value)?;
        if bits < 8 * bytes {
            // A `bool` is 0 or 1.
            let exprs = &mut self.concolic.graph.exprs;
            let limit = exprs.constant(1 << bits, 8 * bytes);
            let holds = exprs.compare(CompareOp::Ult, symbol, limit);
            self.bound_input(holds);
        }
        Some(self.concolic.graph.resize(symbol, bits))
    }

    /// The low bits of a number that text spells. Numbers that do not fit are no inputs anybody wants to see.
    fn low_bits(&mut self, symbol: ExprId, bits: u8) -> ExprId {
        let graph = &mut self.concolic.graph;
        let low = graph.resize(symbol, bits);
        let whole = graph.exprs.sign_extend(low, graph.exprs.bits(symbol));
        let holds = graph.exprs.compare(CompareOp::Eq, whole, symbol);
        if graph.value(holds) == 1 {
            self.bound_input(holds);
        }
        low
    }

    /// An input is of a type with fewer values than its cell has.
    fn bound_input(&mut self, holds: ExprId) {
        if self.concolic.graph.exprs.as_const(holds).is_some() {
            return;
        }
        let thread = self.current;
        let after = self.concolic.thread(thread).last_event.unwrap_or(0);
        let site = self.current_site();
        // Not what decided anything, so it is not the thread's last condition.
        self.concolic.conditions.push(Condition {
            thread: ThreadId(thread as u32),
            after,
            holds,
            site,
            why: ConditionKind::Fixed,
            otherwise: Otherwise::Unknown,
        });
    }

    /// An input that is used in a way that is not followed stays what it is.
    pub fn keep_input(&mut self, input: Option<ExprId>) {
        if let Some(id) = input {
            self.fix(id, ConditionKind::Fixed);
        }
    }

    /// Fills memory with inputs, byte by byte.
    pub fn store_inputs(&mut self, address: u64, bytes: &[(u8, Option<ExprId>)], site: SiteId) {
        let is_event = bytes.iter().any(|(_, id)| id.is_some());
        let count = bytes.len() as u64;
        if is_event {
            self.before_write(address, count);
        }
        for (at, (byte, _)) in (address..).zip(bytes) {
            // SAFETY: the model checked that memory is there.
            unsafe { *(at as *mut u8) = *byte };
        }
        if is_event {
            let shadow = |(byte, id): &(u8, Option<ExprId>)| match id {
                Some(id) => Byte::Part(*id, 0),
                None => Byte::Known(*byte),
            };
            let shadows: Vec<Byte> = bytes.iter().map(shadow).collect();
            self.concolic.memory.store(address, &shadows);
            self.record_write(RECORD, address, count, site);
        }
    }

    /// Whether a store is an event because of what it stores.
    pub fn stores_input(&mut self, fp: *const u64, src: Reg, bytes: u32) -> bool {
        if !self.is_free(FreeInput::Nondet) {
            return false;
        }
        let shadows = self.frame_at(fp).take(src, bytes.div_ceil(8));
        let graph = &mut self.concolic.graph;
        let depends = shadows.into_iter().flatten().any(|id| graph.depends_on_input(id));
        depends && self.count_store()
    }

    /// The same for bytes that are copied.
    pub fn copies_input(&mut self, from: u64, bytes: u64) -> bool {
        if !self.is_free(FreeInput::Nondet) || !self.concolic.memory.any(from, bytes) {
            return false;
        }
        let depends = self.loaded(from, bytes).iter().any(|byte| match byte {
            Byte::Part(id, _) => self.concolic.graph.depends_on_input(*id),
            Byte::Known(_) => false,
        });
        depends && self.count_store()
    }

    fn count_store(&mut self) -> bool {
        self.concolic.input_stores += 1;
        self.recorder.is_on() && self.concolic.input_stores <= MOST_STORES
    }
}

impl Machine {
    /// A library function is about to read input. `None` if it is not recognised.
    pub(super) fn begin_reading(
        &mut self,
        reader: Reader,
        site: &CallSite,
        fp: *const u64,
    ) -> Option<Reading> {
        if !self.is_free(FreeInput::All) {
            return None;
        }
        let word = |m: &mut Machine, index: usize| {
            site.args.get(index).map(|arg| m.frame_at(fp).value(arg.reg))
        };
        let stdin = host::standard_streams()[0];
        match reader {
            Reader::Number { base } => {
                let base = if base { word(self, 2)? as i32 } else { 10 };
                let text = word(self, 0)?;
                let index = self.natives.argument_at(text)?;
                (base == 10 || base == 0).then_some(Reading::Argument { index })
            }
            Reader::Scan { format } => {
                if format > 0 && word(self, 0)? != stdin {
                    return None;
                }
                let text = word(self, format)?;
                let sizes = conversions(&self.c_string(text))?;
                let mut targets = Vec::new();
                for (index, bytes) in (format + 1..).zip(sizes) {
                    let address = word(self, index)?;
                    self.memory.check(address, u64::from(bytes)).ok()?;
                    targets.push((address, bytes));
                }
                for (address, bytes) in &targets {
                    self.before_write(*address, u64::from(*bytes));
                }
                Some(Reading::Words { targets })
            }
            Reader::Character { stream } => {
                (!stream || word(self, 0)? == stdin).then_some(Reading::Character)
            }
        }
    }

    /// The library function has returned: what it read becomes a symbol.
    pub(super) fn end_reading(
        &mut self,
        reading: Reading,
        site: &CallSite,
        result: u64,
    ) -> Option<ExprId> {
        let bits = match site.result {
            Abi::Int { bits, .. } => bits,
            _ => return None,
        };
        match reading {
            Reading::Argument { index } => {
                let text = self.natives.args().get(index as usize + 1)?;
                let value: i64 = text.parse().ok()?;
                if value as u64 & crate::arith::mask(bits) != result {
                    return None;
                }
                let what = InputSource::Argument { index };
                let symbol = self.input_symbol(what, 8, value as u64)?;
                Some(self.low_bits(symbol, bits))
            }
            Reading::Words { targets } => {
                self.scanned(&targets, result as i32, site.site);
                None
            }
            Reading::Character => {
                let byte = u8::try_from(result as i32).ok()?;
                let offset = host::stdin_position()?.checked_sub(1)?;
                let what = InputSource::Byte { offset: u32::try_from(offset).ok()? };
                let symbol = self.input_symbol(what, 1, u64::from(byte))?;
                Some(self.concolic.graph.resize(symbol, bits))
            }
        }
    }

    /// The last words up to the stream's position were stored here, as many as the result says.
    fn scanned(&mut self, targets: &[(u64, u8)], stored: i32, site: SiteId) {
        let stored = usize::try_from(stored).unwrap_or(0);
        let Some(position) = host::stdin_position() else { return };
        let text = self.natives.stdin().unwrap_or_default();
        let read: Vec<(usize, Option<i64>)> = words(text)
            .into_iter()
            .enumerate()
            .filter(|(_, word)| word.end as u64 <= position)
            .map(|(index, word)| (index, number(&text[word])))
            .collect();
        let Some(first) = read.len().checked_sub(stored) else { return };
        for ((address, bytes), (index, value)) in targets.iter().zip(&read[first..]) {
            // SAFETY: checked before the call, which stored there.
            let held = unsafe { crate::interpret::load_word(*address, u64::from(*bytes)) };
            let Some(value) = value.map(|value| value as u64) else { continue };
            if value & crate::arith::mask(8 * bytes) != held {
                continue;
            }
            let what = InputSource::Number { index: *index as u32 };
            let Some(symbol) = self.input_symbol(what, 8, value) else { continue };
            let low = self.low_bits(symbol, 8 * bytes);
            let shadow: Vec<Byte> = (0..*bytes).map(|i| Byte::Part(low, i)).collect();
            self.concolic.memory.store(*address, &shadow);
            self.record_write(RECORD, *address, u64::from(*bytes), site);
        }
    }
}

fn number(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// How many bytes each conversion of a format stores, if all it has is plain conversions of integers and blanks.
fn conversions(format: &str) -> Option<Vec<u8>> {
    let pieces = format.split('%').map(str::trim_ascii);
    let mut pieces = pieces.peekable();
    if !pieces.next()?.is_empty() {
        return None;
    }
    let size = |piece: &str| match piece.strip_suffix(['d', 'i', 'u'])? {
        "hh" => Some(1),
        "h" => Some(2),
        "" => Some(4),
        "l" | "ll" | "j" | "z" | "t" => Some(8),
        _ => None,
    };
    pieces.map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_conversions_are_recognised() {
        assert_eq!(conversions("%d"), Some(vec![4]));
        assert_eq!(conversions(" %d %ld\n%hhu%lli"), Some(vec![4, 8, 1, 8]));
        for other in ["%s", "%d,%d", "n=%d", "%*d", "%3d", "%%", "%x", "%f", "%"] {
            assert_eq!(conversions(other), None, "{other}");
        }
    }

    #[test]
    fn all_versions_of_a_reader_are_one() {
        let scan = Some(Reader::Scan { format: 0 });
        assert_eq!(Reader::named("__isoc99_scanf"), scan);
        assert_eq!(Reader::named("__isoc23_scanf"), scan);
        assert_eq!(Reader::named("__isoc23_strtol"), Some(Reader::Number { base: true }));
        assert_eq!(Reader::named("sscanf"), None);
    }
}
