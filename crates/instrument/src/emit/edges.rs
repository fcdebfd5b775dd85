//! What is done on an edge of control flow, and where its code goes: into the successor if nobody else leads there, before the
//! terminator if it leads nowhere else, else into a new block between.

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::prelude::*;

use unravel_recording::identifiers::Identified;
use unravel_recording::layout;
use unravel_recording::numbering::{Edge, Node, Numbering};
use unravel_recording::places::{PlaceKind, trace};
use unravel_recording::shape::{CallKind, FunctionShape, Leaves};

use super::constants::Constants;
use super::{Emitter, NO_NAME, Variables};
use crate::extract::instructions_of;

#[derive(Clone, Copy, Debug)]
enum Action {
    Trace(u32),
    /// The pointer comes back from an invoke.
    Take,
    Return(Node),
    Pad(u32, Node),
    Path {
        width: u32,
        sum: (Option<u64>, u64),
        next: Node,
    },
    Trips(Node),
    /// To the path's number, which may be known.
    Add(Option<u64>, u64),
    SetPath,
    StartTrips,
}

impl Emitter {
    pub(super) fn edges(
        &self,
        variables: &Variables,
        shape: &FunctionShape,
        (numbering, constants): (&Numbering, &Constants),
        blocks: &[LLVMBasicBlockRef],
    ) {
        let mut pads = std::collections::HashSet::new();
        for edge in &numbering.edges {
            let unwinds = unwinds(shape, edge);
            // One record a pad: nobody but invokes lead there.
            if unwinds && !pads.insert(edge.to) {
                continue;
            }
            let mut actions = Vec::new();
            match unwinds {
                true => self.landing(variables, numbering, edge, &mut actions),
                false => {
                    let branches = numbering.out[edge.from].len() > 1;
                    if self.trace.is_some() && branches && !is_invoke(shape, edge) {
                        let number = trace::branch(variables.number, edge.from, edge.successors[0]);
                        actions.push(Action::Trace(number));
                    }
                    if is_invoke(shape, edge) {
                        actions.push(Action::Take);
                    }
                    recording(shape, (numbering, constants), edge, &mut actions);
                }
            }
            if actions.is_empty() {
                continue;
            }
            let between = self.place(numbering, edge, blocks, unwinds);
            actions.iter().for_each(|&action| self.act(variables, action));
            if let Some(between) = between {
                self.splice(edge, blocks, between);
            }
        }
    }

    /// The headers of counted loops count, and begin the path that goes on after the last round. Nothing is done on the edge that closes the loop, so that it
    /// stays one.
    pub(super) fn headers(
        &self,
        variables: &Variables,
        numbering: &Numbering,
        blocks: &[LLVMBasicBlockRef],
    ) {
        for counted in &numbering.counted {
            // SAFETY: the block is live and ends with a terminator.
            unsafe { LLVMPositionBuilderBefore(self.builder, first_plain(blocks[counted.header])) };
            self.count_trip(variables);
            if numbering.width(numbering.first_node[counted.header]) > 0 {
                self.set_path(variables);
            }
        }
    }

    /// What happens at a landing pad.
    fn landing(
        &self,
        variables: &Variables,
        numbering: &Numbering,
        edge: &Edge,
        actions: &mut Vec<Action>,
    ) {
        let (function, next) = (variables.number, numbering.first_node[edge.to]);
        if self.trace.is_some() {
            actions.push(Action::Trace(trace::pad(function, edge.to)));
        }
        actions.push(Action::Take);
        let pad = Identified::Pad { function, block: edge.to };
        actions.push(Action::Pad(self.known.number(pad), next));
        if numbering.width(next) > 0 {
            actions.push(Action::SetPath);
        }
    }

    /// Moves the builder to where the edge's code goes. Returns the new block if there is one.
    fn place(
        &self,
        numbering: &Numbering,
        edge: &Edge,
        blocks: &[LLVMBasicBlockRef],
        unwinds: bool,
    ) -> Option<LLVMBasicBlockRef> {
        let (from, to) = (blocks[edge.from], blocks[edge.to]);
        // SAFETY: all of them are live.
        unsafe {
            if unwinds || numbering.into[edge.to].len() == 1 {
                LLVMPositionBuilderBefore(self.builder, first_plain(to));
                return None;
            }
            let terminator = LLVMGetBasicBlockTerminator(from);
            if numbering.out[edge.from].len() == 1 && LLVMIsAInvokeInst(terminator).is_null() {
                LLVMPositionBuilderBefore(self.builder, terminator);
                return None;
            }
            let between = LLVMInsertBasicBlockInContext(self.context, to, NO_NAME);
            LLVMPositionBuilderAtEnd(self.builder, between);
            Some(between)
        }
    }

    /// Leads the edge through the new block. The C interface cannot change a phi's predecessor, so phis are built anew.
    fn splice(&self, edge: &Edge, blocks: &[LLVMBasicBlockRef], between: LLVMBasicBlockRef) {
        let (from, to) = (blocks[edge.from], blocks[edge.to]);
        // SAFETY: everything is live; a phi is erased after all its uses were replaced.
        unsafe {
            LLVMPositionBuilderAtEnd(self.builder, between);
            LLVMBuildBr(self.builder, to);
            let terminator = LLVMGetBasicBlockTerminator(from);
            edge.successors.iter().for_each(|&s| LLVMSetSuccessor(terminator, s, between));
            let mut phis = instructions_of(to);
            phis.retain(|&i| !LLVMIsAPHINode(i).is_null());
            for old in phis {
                LLVMPositionBuilderBefore(self.builder, old);
                let new = LLVMBuildPhi(self.builder, LLVMTypeOf(old), NO_NAME);
                let line = LLVMInstructionGetDebugLoc(old);
                if !line.is_null() {
                    LLVMInstructionSetDebugLoc(new, line);
                }
                let mut led = false;
                for i in 0..LLVMCountIncoming(old) {
                    let mut value = [LLVMGetIncomingValue(old, i)];
                    let mut block = [LLVMGetIncomingBlock(old, i)];
                    if value[0] == old {
                        value[0] = new;
                    }
                    if block[0] == from {
                        if led {
                            continue;
                        }
                        led = true;
                        block[0] = between;
                    }
                    LLVMAddIncoming(new, value.as_mut_ptr(), block.as_mut_ptr(), 1);
                }
                LLVMReplaceAllUsesWith(old, new);
                LLVMInstructionEraseFromParent(old);
            }
        }
    }

    fn act(&self, variables: &Variables, action: Action) {
        match action {
            Action::Trace(number) => self.call_trace(number),
            Action::Return(next) => self.write_return(variables, next),
            Action::Pad(number, next) => self.write_named(variables, layout::PAD, number, next),
            Action::Take => self.take_pointer(variables.pointer),
            Action::Path { width, sum, next } => {
                self.write_path(variables, width, sum, (PlaceKind::Path, next));
            }
            Action::Trips(header) => self.write_trips(variables, header),
            Action::Add(known, value) => self.add_to_path(variables, known, value),
            Action::SetPath => self.set_path(variables),
            Action::StartTrips => self.start_trips(variables),
        }
    }
}

/// The first instruction of a block that other code may be put before.
fn first_plain(block: LLVMBasicBlockRef) -> LLVMValueRef {
    // SAFETY: instructions of a live block are live.
    let plain = |&i: &LLVMValueRef| unsafe {
        LLVMIsAPHINode(i).is_null() && LLVMIsALandingPadInst(i).is_null()
    };
    instructions_of(block).into_iter().find(plain).expect("a terminator is neither")
}

fn is_invoke(shape: &FunctionShape, edge: &Edge) -> bool {
    shape.blocks[edge.from].leaves == Leaves::Invoke
}

fn unwinds(shape: &FunctionShape, edge: &Edge) -> bool {
    is_invoke(shape, edge) && edge.successors[0] == 1
}

/// What recording does on an edge that is not taken by an exception.
fn recording(
    shape: &FunctionShape,
    (numbering, constants): (&Numbering, &Constants),
    edge: &Edge,
    actions: &mut Vec<Action>,
) {
    let known = constants.at_end(edge.from);
    let next = numbering.first_node[edge.to];
    let width = numbering.width(numbering.last_node(edge.from));
    if is_invoke(shape, edge) {
        let call = shape.blocks[edge.from].calls.last();
        if call.is_some_and(|c| c.kind == CallKind::Foreign) {
            actions.push(Action::Return(next));
        }
    } else if edge.back_of.is_none() {
        if let Some(counted) = edge.exit_of {
            let header = numbering.counted[counted].header;
            actions.push(Action::Trips(numbering.first_node[header]));
        }
        if edge.cut && width > 0 {
            actions.push(Action::Path { width, sum: (known, edge.value), next });
        } else if !edge.cut && width > 0 && edge.value != 0 && !edge.dead {
            actions.push(Action::Add(known, edge.value));
        }
    }
    // A counted loop's header begins its path itself.
    if edge.cut && edge.enters.is_none() && edge.back_of.is_none() && numbering.width(next) > 0 {
        actions.push(Action::SetPath);
    }
    if edge.enters.is_some() {
        actions.push(Action::StartTrips);
    }
}
