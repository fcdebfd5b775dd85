//! `setjmp` and `longjmp`: a position in the interpreted frames.
//!
//! A jump must stay within the innermost call from native code or from Rust; others are inconclusive.

use unravel_code::{Inst, Reg};

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;
use crate::thread::Cursor;

pub(crate) const MODELS: Family = &[
    ("setjmp", set_jump),
    ("_setjmp", set_jump),
    ("sigsetjmp", set_jump),
    ("__sigsetjmp", set_jump),
    ("__sigsetjmp_cancel", set_jump),
    ("longjmp", |m, a| long_jump(m, a.word(0), a.int(1))),
    ("_longjmp", |m, a| long_jump(m, a.word(0), a.int(1))),
    ("siglongjmp", |m, a| long_jump(m, a.word(0), a.int(1))),
    ("__longjmp_chk", |m, a| long_jump(m, a.word(0), a.int(1))),
];

#[derive(Clone, Copy, Debug)]
pub(crate) struct JumpBuffer {
    thread: usize,
    depth: usize,
    at: Cursor,
    top: u64,
    dst: Reg,
}

impl JumpBuffer {
    /// How many frames there were.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

fn set_jump(m: &mut Machine, a: Args) -> Flow {
    let thread = &m.threads[m.current];
    // SAFETY: a saved position is inside the code of the running function.
    let dst = match unsafe { *thread.at.pc } {
        Inst::CallExternal { dst, .. } | Inst::CallIndirect { dst, .. } => dst,
        _ => return OK,
    };
    let buffer = JumpBuffer {
        thread: m.current,
        depth: thread.frames.len(),
        at: thread.at,
        top: m.memory.stack_top[thread.slot],
        dst,
    };
    m.jumps.insert(a.word(0), buffer);
    OK
}

pub(crate) fn long_jump(m: &mut Machine, buffer: u64, value: i32) -> Flow {
    let Some(target) = m.jumps.get(&buffer).copied() else {
        m.finish_inconclusive("longjmp without setjmp".into());
    };
    let slot = m.threads[m.current].slot;
    let thread = m.current_thread();
    let crosses =
        thread.frames.get(target.depth..).is_none_or(|above| above.iter().any(|f| f.entry));
    if target.thread != thread.id.index() || crosses {
        m.finish_inconclusive("longjmp leaves a native frame or the thread".into());
    }
    thread.frames.truncate(target.depth);
    // SAFETY: the frame of the setjmp is still there, as POSIX demands.
    unsafe {
        *target.at.fp.add(target.dst as usize) = if value == 0 { 1 } else { value as u32 as u64 };
        thread.at = Cursor { pc: target.at.pc.add(1), ..target.at };
    }
    m.memory.set_stack_top(slot, target.top);
    m.shadow_clear_slot(target.at.fp, target.dst);
    Flow::Jump
}
