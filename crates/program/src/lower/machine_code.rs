//! Inline assembly that is more than a barrier or a hint, and intrinsics of the processor (`_mm_add_epi8`):
//! compiled, and called like a native function.
//!
//! Not compiled, and a trap if executed: assembly that uses segment registers (but see [`super::thread_block`]), that LLVM rejects, that refers to symbols, that takes the
//! address of a global as an immediate, that enters the kernel, that goes on elsewhere or on another stack
//! ([`super::departures`]), or whose result is random. The time stamp
//! counter is replaced by the VM's clock, so that a run can be repeated; so is nothing else, and `cpuid`
//! tells what it tells on this machine.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use unravel_code::layout::TIME_STAMP;
use unravel_code::{Arg, Function, FunctionId, MachineCode, Signature, THREAD_BLOCK};

use super::assembly::without_comments;
use super::call::{Arity, CallResult, Callee};
use super::departures::departure;
use super::function::FunctionLowering;
use super::thread_block::{Offset, names_segment, reads_block};
use super::{ModuleLowering, types};
use crate::debug::Spot;
use crate::ir::{Assembler, Type, Value};

/// What is known about assembly so far.
#[derive(Default)]
pub(super) struct Assemblies<'m> {
    /// Made when it is needed first.
    assembler: Option<Assembler>,
    known: FxHashMap<Key<'m>, Result<FunctionId, Rc<str>>>,
}

/// All that decides what assembly compiles to. LLVM has one value for equal text, constraints and type, and
/// one for equal constants.
#[derive(PartialEq, Eq, Hash)]
struct Key<'m> {
    assembly: Value<'m>,
    immediates: Vec<Option<Value<'m>>>,
    memory: Vec<Option<Type<'m>>>,
    features: String,
}

impl<'l, 'm> FunctionLowering<'l, 'm> {
    /// Calls what the assembly compiles to.
    pub(super) fn call_assembly(&mut self, inst: Value<'m>) {
        let function = match self.lowering.assemble(inst, self.function) {
            Ok(function) => function,
            Err(reason) => {
                return self.trap(format!("{} ({reason})", describe(inst.callee())));
            }
        };
        let operands = inst.assembly_operands();
        let mut args = Vec::new();
        for value in &operands {
            let reg = self.register(*value);
            let abi = types::abi(self.lowering.layout, value.ty(), false);
            args.push(Arg { reg, slots: self.slots(value.ty()), abi });
        }
        let memory = &self.lowering.program.function(function).machine_code;
        let memory = memory.as_ref().map_or(&[][..], |code| &code.memory);
        let pointer = operands.iter().zip(memory).find(|(value, _)| value.ty().is_pointer());
        let path = pointer.map(|(value, bytes)| (*value, u64::from(*bytes)));
        let path = path.and_then(|(value, bytes)| {
            let spot = if bytes > 0 { Spot::Bytes(bytes) } else { Spot::Object(None) };
            self.path(value, inst, spot)
        });
        let result = CallResult {
            dst: self.result(inst),
            slots: self.slots(inst.ty()),
            abi: types::abi(self.lowering.layout, inst.ty(), false),
        };
        let arity = Arity { fixed: args.len() as u32, variadic: false };
        self.emit_call(inst, Callee::Function(function), args, result, arity, path);
    }
}

impl<'m> ModuleLowering<'m> {
    /// The function that the assembly called by `inst` in `caller` becomes, or why it becomes none.
    fn assemble(&mut self, inst: Value<'m>, caller: Value<'m>) -> Result<FunctionId, Rc<str>> {
        let immediates = inst.arguments().into_iter().map(|v| v.is_constant_int().then_some(v));
        let key = Key {
            assembly: inst.callee(),
            immediates: immediates.collect(),
            memory: inst.assembly_memory(self.module),
            features: caller.target_features(),
        };
        if let Some(known) = self.assemblies.known.get(&key) {
            return known.clone();
        }
        let made = self.compile_assembly(inst, caller, &key.memory);
        self.assemblies.known.insert(key, made.clone());
        made
    }

    fn compile_assembly(
        &mut self,
        inst: Value<'m>,
        caller: Value<'m>,
        memory: &[Option<Type<'m>>],
    ) -> Result<FunctionId, Rc<str>> {
        let intrinsic = !inst.callee().is_inline_asm();
        let (text, constraints) =
            if intrinsic { Default::default() } else { inst.callee().inline_asm() };
        if intrinsic && inst.callee().name().split('.').any(is_refused) {
            return Err("its result is random".into());
        }
        if let Some(word) = words(&without_comments(&text)).find(|word| is_refused(word)) {
            return Err(format!("because of '{word}'").into());
        }
        if let Some(how) = departure(&text) {
            return Err(how.into());
        }
        let operands = inst.assembly_operands();
        if names_segment(&text) {
            return self.thread_block(inst, &text, &operands);
        }
        let values = operands.iter().map(|value| value.ty()).chain([inst.ty()]);
        if values.into_iter().any(|ty| self.lies_differently(ty)) {
            return Err("of a vector whose elements are not whole bytes".into());
        }
        let replaced = without_time_stamps(&text);
        let assemblies = &mut self.assemblies;
        let assembler = match &mut assemblies.assembler {
            Some(assembler) => assembler,
            none => {
                let made = Assembler::new(self.module).map_err(|e| Rc::from(e.to_string()))?;
                none.insert(made)
            }
        };
        let compiled = assembler.compile(self.module, inst, caller, &replaced);
        let bytes = compiled.map_err(|e| Rc::from(e.to_string()))?;
        let arguments = inst.arguments();
        let memory = arguments.iter().zip(memory).filter(|(value, _)| !value.is_constant_int());
        let memory = memory.map(|(_, ty)| ty.map_or(0, |ty| self.layout.size(ty) as u32)).collect();
        let visible = operands.iter().any(|value| value.ty().is_pointer())
            || constraints.contains("~{memory}");
        let abi = |ty| types::abi(self.layout, ty, false);
        let name = if intrinsic { inst.callee().name() } else { "inline assembly".to_owned() };
        Ok(self.add_function(Function {
            display_name: name.clone(),
            name,
            body: None,
            signature: Signature {
                params: operands.iter().map(|value| abi(value.ty())).collect(),
                result: abi(inst.ty()),
                variadic: false,
            },
            machine_code: Some(MachineCode {
                bytes,
                memory,
                visible,
                reads_time: replaced != text,
            }),
            weak: false,
            address_taken: false,
        }))
    }

    /// The function that stands for assembly which reads the address of the thread's own block; its only operand is an
    /// offset into that.
    fn thread_block(
        &mut self,
        inst: Value<'m>,
        text: &str,
        operands: &[Value<'m>],
    ) -> Result<FunctionId, Rc<str>> {
        let refused = || Rc::from("because of a segment register");
        let arguments = inst.arguments();
        let is_address = inst.ty().is_pointer() || self.layout.size(inst.ty()) == 8;
        let is_zero = |value: &Value<'m>| value.as_u64() == Some(0);
        let fits = match (reads_block(text), arguments.as_slice()) {
            (Some(Offset::Zero), []) => true,
            (Some(Offset::Operand(1)), [offset]) => operands.len() == 1 || is_zero(offset),
            _ => false,
        };
        if !fits || !is_address {
            return Err(refused());
        }
        let abi = |ty| types::abi(self.layout, ty, false);
        Ok(self.add_function(Function {
            display_name: "inline assembly".to_owned(),
            name: THREAD_BLOCK.to_owned(),
            body: None,
            signature: Signature {
                params: operands.iter().map(|value| abi(value.ty())).collect(),
                result: abi(inst.ty()),
                variadic: false,
            },
            machine_code: None,
            weak: false,
            address_taken: false,
        }))
    }

    /// Does a value of this type, or a part of it, lie in slots otherwise than in memory?
    fn lies_differently(&self, ty: Type<'m>) -> bool {
        types::is_packed(self.layout, ty)
            || ty.fields().into_iter().any(|field| self.lies_differently(field))
    }
}

/// What is not compiled, in words.
fn describe(callee: Value<'_>) -> String {
    if !callee.is_inline_asm() {
        return format!("the intrinsic '{}'", callee.name());
    }
    let (text, _) = callee.inline_asm();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = text.chars().take(SHOWN).collect();
    let more = if short.len() < text.len() { " …" } else { "" };
    format!("inline assembly '{}{more}'", short.trim_end())
}

/// How much of assembly a message shows: who reads it looks at the source.
const SHOWN: usize = 60;

/// The words of assembly: mnemonics, names of registers, directives.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// What the VM must not execute: it would not notice what the kernel does to the program (or to the VM), and
/// a run with random numbers cannot be repeated.
fn is_refused(word: &str) -> bool {
    const WORDS: [&str; 10] = [
        "syscall", "sysenter", "int", "int3", "wrfsbase", "wrgsbase", "rdrand", "rdseed", "rdpmc",
        "rdpid",
    ];
    // With or without the suffix for the operand's size.
    let matches = |known: &&str| {
        let rest = word.get(..known.len()).filter(|start| start.eq_ignore_ascii_case(known));
        rest.is_some() && matches!(&word[known.len()..], "" | "w" | "l" | "q" | "W" | "L" | "Q")
    };
    WORDS.iter().any(matches)
}

/// Replaces reads of the time stamp counter by reads of [`TIME_STAMP`], which change the same registers and
/// as little of the flags. Bytes, so that they are right in both dialects.
fn without_time_stamps(text: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let length = rest[start..].find(|c| !is_word(c)).unwrap_or(rest.len() - start);
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(length);
        replaced.push_str(before);
        match word.to_ascii_lowercase().as_str() {
            "rdtsc" => replaced.push_str(&read_time_stamp(&[])),
            // Tells the processor's number too, in ecx: mov ecx, 0.
            "rdtscp" => replaced.push_str(&read_time_stamp(&[0xb9, 0, 0, 0, 0])),
            _ => replaced.push_str(word),
        }
        rest = after;
    }
    replaced + rest
}

fn read_time_stamp(more: &[u8]) -> String {
    /// `mov eax, [address]`.
    const LOAD: u8 = 0xa1;
    /// `mov edx, eax`.
    const MOVE: [u8; 2] = [0x89, 0xc2];
    let mut code = vec![LOAD];
    code.extend((TIME_STAMP + 4).to_le_bytes());
    code.extend(MOVE);
    code.push(LOAD);
    code.extend(TIME_STAMP.to_le_bytes());
    code.extend(more);
    let bytes: Vec<String> = code.iter().map(|byte| format!("{byte:#04x}")).collect();
    format!(".byte {}", bytes.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be_repeated() {
        let refused = |text| words(text).any(is_refused);
        assert!(refused("movl $$60, %eax\n\tsyscall"));
        assert!(refused("int $$0x80"));
        assert!(refused("rdrandq $0"));
        assert!(refused("RDRAND $0; setc $1"));
        assert!(!refused("lock; xaddl $0, $1"));
        assert!(!refused("cvttss2si $1, $0"));
    }

    #[test]
    fn replaces_the_time_stamp_counter() {
        assert_eq!(without_time_stamps("lock\n xaddl $0, $1 "), "lock\n xaddl $0, $1 ");
        let load = ".byte 0xa1,0x04,0x08,0x00,0x00,0x00,0x10,0x00,0x00,0x89,0xc2,\
                    0xa1,0x00,0x08,0x00,0x00,0x00,0x10,0x00,0x00";
        let text = without_time_stamps("lfence; rdtsc\n\tshlq $$32, %rdx");
        assert_eq!(text, format!("lfence; {load}\n\tshlq $$32, %rdx"));
        assert_eq!(without_time_stamps("rdtscp"), format!("{load},0xb9,0x00,0x00,0x00,0x00"));
    }
}
