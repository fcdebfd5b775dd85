//! Writing: the stores into the log, and the labels by which addresses of the program are mapped to places of the module.
//!
//! `unravel_recording::places` says what a label's entry in the section `.unravel_places` is. The section is not loaded.

use llvm_sys::LLVMInlineAsmDialect;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use unravel_recording::identifiers::Identified;
use unravel_recording::layout;
use unravel_recording::numbering::Node;
use unravel_recording::places::PlaceKind;

use super::{Emitter, NO_NAME, Variables};
use crate::module::c_string;

/// What a label says of the store after it.
struct Place {
    next: Node,
    kind: PlaceKind,
    size: u32,
}

impl Emitter {
    fn long(&self, value: u64) -> LLVMValueRef {
        // SAFETY: the type is live.
        unsafe { LLVMConstInt(self.long, value, 0) }
    }

    fn word(&self, value: u64) -> LLVMValueRef {
        // SAFETY: the type is live.
        unsafe { LLVMConstInt(self.word, value, 0) }
    }

    pub(super) fn load(&self, kind: LLVMTypeRef, from: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the builder stands in the function that `from` belongs to.
        unsafe { LLVMBuildLoad2(self.builder, kind, from, NO_NAME) }
    }

    pub(super) fn store(&self, value: LLVMValueRef, to: LLVMValueRef) {
        // SAFETY: as above.
        unsafe { LLVMBuildStore(self.builder, value, to) };
    }

    fn label(&self, variables: &Variables, place: &Place) -> String {
        let (function, kind, size) = (variables.number, place.kind as u32, place.size);
        let label = ".Lunravel${:uid}";
        format!(
            "{label}:\n\t.pushsection .unravel_places,\"?\",@progbits\n\t.quad {label}, {}\n\t\
             .long {function}, {}, {kind}, {size}\n\t.popsection",
            self.hash, place.next
        )
    }

    /// One store of `value` where the log's pointer points, and the pointer `advance` further.
    fn write(
        &self,
        variables: &Variables,
        value: LLVMValueRef,
        advance: LLVMValueRef,
        place: &Place,
    ) {
        let at = variables.pointer;
        let label = self.label(variables, place);
        // SAFETY: everything is built at the builder's place in the live function.
        unsafe {
            let bits = LLVMGetIntTypeWidth(LLVMTypeOf(value));
            let (suffix, register) = match bits {
                8 => ("b", "b"),
                16 => ("w", "w"),
                32 => ("l", "k"),
                _ => ("q", "q"),
            };
            let constant = bits < 64 && !LLVMIsAConstantInt(value).is_null();
            let (operand, constraints) = match constant {
                true => ("$2".to_owned(), "=r,0,i"),
                false => (format!("${{2:{register}}}"), "=r,0,q"),
            };
            let text = format!("{label}\n\tmov{suffix} {operand}, ($0)");
            let mut types = [self.pointer, LLVMTypeOf(value)];
            let function = LLVMFunctionType(self.pointer, types.as_mut_ptr(), 2, 0);
            let assembly = assembly(function, &text, constraints);
            let mut arguments = [self.load(self.pointer, at), value];
            let count = arguments.len() as u32;
            let builder = self.builder;
            let stored =
                LLVMBuildCall2(builder, function, assembly, arguments.as_mut_ptr(), count, NO_NAME);
            let mut index = [advance];
            let next = LLVMBuildGEP2(builder, self.byte, stored, index.as_mut_ptr(), 1, NO_NAME);
            self.store(next, at);
        }
    }

    /// The path's number, `known` or not, plus `add`; nothing if there is only one path.
    pub(super) fn write_path(
        &self,
        variables: &Variables,
        width: u32,
        (known, add): (Option<u64>, u64),
        (kind, next): (PlaceKind, Node),
    ) {
        if width == 0 {
            return;
        }
        // SAFETY: as in `write`.
        let value = unsafe {
            let mut value = self.path(variables, known, add);
            if width < 4 {
                let kind = LLVMIntTypeInContext(self.context, width * 8);
                value = LLVMBuildTrunc(self.builder, value, kind, NO_NAME);
            }
            value
        };
        let place = Place { next, kind, size: width };
        self.write(variables, value, self.long(u64::from(width)), &place);
    }

    /// The mark after a foreign call.
    pub(super) fn write_return(&self, variables: &Variables, next: Node) {
        // SAFETY: the type is live.
        let value = unsafe { LLVMConstInt(self.byte, u64::from(layout::RETURN), 0) };
        let place = Place { next, kind: PlaceKind::Return, size: 1 };
        self.write(variables, value, self.long(1), &place);
    }

    /// A mark, and the lower half of the identifier's address after it.
    pub(super) fn write_named(&self, variables: &Variables, mark: u8, number: u32, next: Node) {
        // SAFETY: as in `write`.
        let value = unsafe {
            let builder = self.builder;
            let mut index = [self.long(u64::from(number))];
            let (table, index) = (self.identifiers, index.as_mut_ptr());
            let address = LLVMBuildInBoundsGEP2(builder, self.byte, table, index, 1, NO_NAME);
            let address = LLVMBuildPtrToInt(builder, address, self.long, NO_NAME);
            let lower = LLVMBuildAnd(builder, address, self.long(0xffff_ffff), NO_NAME);
            let shifted = LLVMBuildShl(builder, lower, self.long(8), NO_NAME);
            LLVMBuildOr(builder, shifted, self.long(u64::from(mark)), NO_NAME)
        };
        let kind = match mark {
            layout::ENTER => PlaceKind::Enter,
            layout::PAD => PlaceKind::Pad,
            _ => PlaceKind::Twice,
        };
        let place = Place { next, kind, size: layout::NAMED as u32 };
        self.write(variables, value, self.long(layout::NAMED as u64), &place);
    }

    /// The call that ends `node` has returned, perhaps again: which call, and in which frame.
    pub(super) fn write_twice(&self, variables: &Variables, node: Node) {
        let known = self.known.number(Identified::Twice { function: variables.number, node });
        self.write_named(variables, layout::TWICE, known, node + 1);
        // SAFETY: as in `write`. The address of a variable that stays in memory names the frame.
        let frame = unsafe {
            let slot = LLVMBuildPtrToInt(self.builder, self.frame(variables), self.long, NO_NAME);
            let lower = LLVMBuildTrunc(self.builder, slot, self.word, NO_NAME);
            LLVMBuildOr(self.builder, lower, self.word(1), NO_NAME)
        };
        let place = Place { next: node + 1, kind: PlaceKind::Frame, size: 4 };
        self.write(variables, frame, self.long(4), &place);
    }

    /// A variable that is never anything but memory, because its address is taken.
    fn frame(&self, variables: &Variables) -> LLVMValueRef {
        variables.frame.expect("functions with calls that return twice have one")
    }

    /// How often a counted loop went round. The path that goes on after it started at the header.
    pub(super) fn write_trips(&self, variables: &Variables, header: Node) {
        // SAFETY: as in `write`.
        let (value, advance) = unsafe {
            let builder = self.builder;
            let mut trips = [self.load(self.long, variables.trips)];
            // The code generator must not count the shifted number beside the plain one in the loop.
            let hide = LLVMFunctionType(self.long, [self.long].as_mut_ptr(), 1, 0);
            let hidden = assembly(hide, "", "=r,0");
            let trips = LLVMBuildCall2(builder, hide, hidden, trips.as_mut_ptr(), 1, NO_NAME);
            let less = llvm_sys::LLVMIntPredicate::LLVMIntULT;
            let limit = self.long(layout::COUNT_SHORT);
            let short = LLVMBuildICmp(builder, less, trips, limit, NO_NAME);
            let shifted = LLVMBuildShl(builder, trips, self.long(8), NO_NAME);
            let mark = self.long(u64::from(layout::COUNT_LONG));
            let long = LLVMBuildOr(builder, shifted, mark, NO_NAME);
            (
                LLVMBuildSelect(builder, short, trips, long, NO_NAME),
                LLVMBuildSelect(builder, short, self.long(1), self.long(8), NO_NAME),
            )
        };
        let place = Place { next: header, kind: PlaceKind::Trips, size: 0 };
        self.write(variables, value, advance, &place);
    }

    /// Says which call follows.
    pub(super) fn label_call(&self, variables: &Variables, node: Node) {
        let text = self.label(variables, &Place { next: node, kind: PlaceKind::Call, size: 0 });
        let nothing = std::ptr::null_mut();
        // SAFETY: builds a call at the builder's place.
        unsafe {
            let kind = LLVMFunctionType(LLVMVoidTypeInContext(self.context), nothing, 0, 0);
            let label = assembly(kind, &text, "");
            LLVMBuildCall2(self.builder, kind, label, std::ptr::null_mut(), 0, NO_NAME);
        }
    }

    fn path(&self, variables: &Variables, known: Option<u64>, add: u64) -> LLVMValueRef {
        match (known, add) {
            (Some(known), _) => self.word(known + add),
            (None, 0) => self.load(self.word, variables.path),
            // SAFETY: as in `write`.
            (None, _) => unsafe {
                let path = self.load(self.word, variables.path);
                LLVMBuildAdd(self.builder, path, self.word(add), NO_NAME)
            },
        }
    }

    pub(super) fn set_path(&self, variables: &Variables) {
        self.store(self.word(layout::PATH_BASE), variables.path);
    }

    pub(super) fn add_to_path(&self, variables: &Variables, known: Option<u64>, value: u64) {
        self.store(self.path(variables, known, value), variables.path);
    }

    pub(super) fn start_trips(&self, variables: &Variables) {
        self.store(self.long(0), variables.trips);
    }

    pub(super) fn count_trip(&self, variables: &Variables) {
        let trips = self.load(self.long, variables.trips);
        // SAFETY: as in `write`.
        let sum = unsafe { LLVMBuildAdd(self.builder, trips, self.long(1), NO_NAME) };
        self.store(sum, variables.trips);
    }

    pub(super) fn call_trace(&self, number: u32) {
        let Some((kind, function)) = self.trace else { return };
        let mut arguments = [self.word(u64::from(number))];
        // SAFETY: as in `write`.
        unsafe { LLVMBuildCall2(self.builder, kind, function, arguments.as_mut_ptr(), 1, NO_NAME) };
    }
}

fn assembly(kind: LLVMTypeRef, text: &str, constraints: &str) -> LLVMValueRef {
    let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
    let (long, length) = (text.len(), constraints.len());
    let (text, constraints) = (c_string(text), c_string(constraints));
    // SAFETY: both texts are passed with their lengths and copied.
    unsafe {
        LLVMGetInlineAsm(kind, text.as_ptr(), long, constraints.as_ptr(), length, 1, 0, dialect, 0)
    }
}
