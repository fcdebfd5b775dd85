//! The flags of repairs that were woven into a program ([`unravel_code::weave`]). Their locks are ordinary mutexes.
//!
//! A flag is an atomic variable that begins as 0 and is set to 1 for good. Waiting for it is reading it, once it is
//! set: those who wait do not depend on each other.

use unravel_code::code::RmwOp;
use unravel_code::weave::{AWAIT, RAISE};
use unravel_trace::Op;

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[(RAISE, raise), (AWAIT, wait)];

const BYTES: u64 = 4;
const LOWERED: u32 = 0;
const RAISED: u128 = 1;

fn raise(m: &mut Machine, a: Args) -> Flow {
    m.update_atomically(RmwOp::Exchange, (a.word(0), BYTES), RAISED, a.site());
    OK
}

fn wait(m: &mut Machine, a: Args) -> Flow {
    let flag = a.word(0);
    m.point(Op::Read, flag, BYTES as u32, a.site(), Need::Changed(flag, LOWERED));
    m.record_read(flag, BYTES, a.site());
    m.shadow_look(flag, BYTES);
    OK
}
