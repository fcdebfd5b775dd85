//! Source lines of a program's branches and calls, from the debug information of the kept modules.

use std::path::PathBuf;

use llvm_sys::core::{LLVMGetDebugLocDirectory, LLVMGetDebugLocFilename, LLVMGetDebugLocLine};
use llvm_sys::prelude::LLVMValueRef;
use unravel_recording::{BlockId, Frame, FunctionId};

use crate::extract::{blocks_of, instructions_of};
use crate::module::{Module, ModuleError};

/// A line of a source file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Line {
    pub file: PathBuf,
    pub line: u32,
}

/// The program of a log, to look up lines in.
pub struct Lines {
    module: Module,
}

impl Lines {
    pub fn of(program: &[u8]) -> Result<Lines, ModuleError> {
        Ok(Lines { module: Module::parse(program)? })
    }

    /// Where the block's last instruction with a line stands, or a frame's call.
    pub fn of_frame(&self, frame: Frame) -> Option<Line> {
        let function = *self.module.defined().get(frame.function.0 as usize)?;
        let block = *blocks_of(function).get(frame.block.0 as usize)?;
        let instructions = instructions_of(block);
        match frame.instruction {
            Some(call) => line_of(*instructions.get(call as usize)?),
            None => instructions.into_iter().rev().find_map(line_of),
        }
    }

    pub fn of_branch(&self, function: FunctionId, block: BlockId) -> Option<Line> {
        self.of_frame(Frame { function, block, instruction: None })
    }
}

fn line_of(instruction: LLVMValueRef) -> Option<Line> {
    // SAFETY: LLVM keeps the texts as long as the module, and returns null or 0 for an instruction without a line.
    unsafe {
        let line = LLVMGetDebugLocLine(instruction);
        let text = |name: *const std::ffi::c_char, length: u32| match name.is_null() {
            true => String::new(),
            false => {
                let bytes = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        let mut length = 0;
        let file = LLVMGetDebugLocFilename(instruction, &mut length);
        let file = text(file, length);
        let directory = LLVMGetDebugLocDirectory(instruction, &mut length);
        let directory = text(directory, length);
        let path = PathBuf::from(&file);
        let path = if path.is_absolute() { path } else { PathBuf::from(directory).join(path) };
        (line != 0 && !file.is_empty()).then_some(Line { file: path, line })
    }
}
