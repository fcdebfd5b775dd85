//! The shape of a module: all of its control flow that numbering and decoding need, without LLVM.
//!
//! It is taken from the optimised module once, by the instrumenter, and written beside the bitcode. Instrumenter and decoder
//! number the same shape with the same code (`numbering.rs`), so they cannot disagree.

use serde::{Deserialize, Serialize};

/// The functions with a body, in the module's order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ModuleShape {
    /// The source, as the compiler was given it.
    pub source: String,
    pub functions: Vec<FunctionShape>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FunctionShape {
    pub name: String,
    /// Nobody outside the module can name it: another module may have one of the same name.
    pub local: bool,
    /// It writes a record when it is entered, because unrecorded code or another module may call it.
    pub entered: bool,
    /// Recorded code of the module calls it past that record, with the log's pointer in a register.
    pub inner: bool,
    pub recorded: Recorded,
    /// The entry first.
    pub blocks: Vec<BlockShape>,
    /// Headers of innermost loops that count their trips instead of writing a record each: none of their exits depends on
    /// something that the loop loads.
    pub counted: Vec<u32>,
}

/// Whether a function's paths are written down.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Recorded {
    Yes,
    /// It has one path and calls nobody who writes: there is nothing to write.
    Silent,
    /// It cannot be: why.
    No(String),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockShape {
    /// As in the terminator, repetitions included.
    pub successors: Vec<u32>,
    /// Calls that cut a path, in order. An invoke is the last one of its block.
    pub calls: Vec<CallShape>,
    pub leaves: Leaves,
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Leaves {
    /// To one of its successors.
    Branch,
    /// By an invoke: to the first successor, or to the second, a landing pad.
    Invoke,
    /// It returns (or is a tail call that must be one).
    Return,
    /// `unreachable`, or `resume`: the thread goes on elsewhere or not at all.
    Stop,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallShape {
    /// Its position in the block.
    pub instruction: u32,
    pub kind: CallKind,
}

/// What a decoder may expect after a call. Calls of functions that neither write, nor unwind, nor call back are no calls here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CallKind {
    /// Exactly this function of the same module.
    Recorded(u32),
    /// Anything; a mark is written when it returns.
    Foreign,
    /// One of `layout::SYNC_FUNCTIONS`: its own records say that it returned. With a number, they also say which object the function's
    /// unlocks of that number give back.
    Sync(Option<u32>),
    /// Gives back the object that the last lock with this number took in the same frame, and writes nothing.
    Unlock(u32),
    /// Anything, and it does not return.
    NoReturn,
    /// Returns more than once; each time a record is written that names the call and the frame.
    ReturnsTwice,
    /// The frame is replaced by one of this function, or of anything.
    Tail(Option<u32>),
}

impl FunctionShape {
    pub fn is_recorded(&self) -> bool {
        self.recorded == Recorded::Yes
    }
}

impl ModuleShape {
    /// Whether all numbers refer to something: shapes are read from files.
    pub fn is_sound(&self) -> bool {
        let functions = self.functions.len() as u32;
        self.functions.iter().all(|function| {
            let blocks = function.blocks.len() as u32;
            let block = |block: &BlockShape| {
                let calls = block.calls.iter().all(|call| match call.kind {
                    CallKind::Recorded(callee) | CallKind::Tail(Some(callee)) => callee < functions,
                    _ => true,
                });
                let invoke = block.leaves != Leaves::Invoke
                    || block.successors.len() == 2 && !block.calls.is_empty();
                let ends = block.leaves == Leaves::Branch || block.leaves == Leaves::Invoke;
                calls
                    && invoke
                    && ends != block.successors.is_empty()
                    && block.successors.iter().all(|&s| s < blocks)
            };
            blocks > 0
                && function.blocks.iter().all(block)
                && function.counted.iter().all(|&header| header < blocks)
        })
    }
}
