//! Unlocks whose object a decoder can infer, so that they need no record.
//!
//! An unlock through a pointer (one value of the optimised code) gives back what the last lock through the same value took in the same frame, if no
//! way from the function's entry reaches the unlock without such a lock: the value is not computed anew between the two, for a way from the new
//! computation to the unlock without a lock would then be one from the entry, too. All other unlocks keep their records, and so do those of functions with calls that
//! return twice, whose ways are not all in the control flow.

use llvm_sys::core::{LLVMGetCalledValue, LLVMGetOperand};
use llvm_sys::prelude::*;

use unravel_recording::shape::{BlockShape, CallKind};

use super::instructions_of;
use crate::module::name_of;

/// Objects of these are taken and given back by functions with this before their names.
const FAMILIES: [&str; 3] = ["pthread_mutex_", "pthread_rwlock_", "pthread_spin_"];

/// A lock or unlock: where it is, and of what.
struct Operation {
    block: usize,
    call: usize,
    gives: bool,
    object: (usize, LLVMValueRef),
}

pub fn infer(blocks: &[LLVMBasicBlockRef], shapes: &mut [BlockShape]) {
    if shapes.iter().flat_map(|b| &b.calls).any(|c| c.kind == CallKind::ReturnsTwice) {
        return;
    }
    let operations = operations(blocks, shapes);
    let mut objects: Vec<(usize, LLVMValueRef)> = Vec::new();
    for unlock in operations.iter().filter(|o| o.gives) {
        let locks: Vec<&Operation> =
            operations.iter().filter(|o| !o.gives && o.object == unlock.object).collect();
        let before = |lock: &&&Operation| lock.block == unlock.block && lock.call < unlock.call;
        let locked = locks.iter().any(|lock| before(&lock))
            || !locks.is_empty() && !is_reached(unlock.block, shapes, &locks);
        if !locked {
            continue;
        }
        let known = objects.iter().position(|o| *o == unlock.object);
        let number = known.unwrap_or_else(|| {
            objects.push(unlock.object);
            objects.len() - 1
        });
        shapes[unlock.block].calls[unlock.call].kind = CallKind::Unlock(number as u32);
        for lock in locks {
            shapes[lock.block].calls[lock.call].kind = CallKind::Sync(Some(number as u32));
        }
    }
}

fn operations(blocks: &[LLVMBasicBlockRef], shapes: &[BlockShape]) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (block, shape) in shapes.iter().enumerate() {
        if !shape.calls.iter().any(|c| c.kind == CallKind::Sync(None)) {
            continue;
        }
        let instructions = instructions_of(blocks[block]);
        for (call, shape) in shape.calls.iter().enumerate() {
            if shape.kind != CallKind::Sync(None) {
                continue;
            }
            let instruction = instructions[shape.instruction as usize];
            // SAFETY: it is a live call of a function that takes the object first.
            let (callee, value) =
                unsafe { (LLVMGetCalledValue(instruction), LLVMGetOperand(instruction, 0)) };
            let name = name_of(callee);
            let Some(family) = FAMILIES.iter().position(|family| name.starts_with(family)) else {
                continue;
            };
            let gives = name.ends_with("unlock");
            operations.push(Operation { block, call, gives, object: (family, value) });
        }
    }
    operations
}

/// Whether some way from the entry leads to a block without passing one of these locks.
fn is_reached(block: usize, shapes: &[BlockShape], locks: &[&Operation]) -> bool {
    let mut seen = vec![false; shapes.len()];
    let mut todo = vec![0];
    while let Some(at) = todo.pop() {
        if at == block {
            return true;
        }
        if std::mem::replace(&mut seen[at], true) || locks.iter().any(|lock| lock.block == at) {
            continue;
        }
        todo.extend(shapes[at].successors.iter().map(|&to| to as usize));
    }
    false
}
