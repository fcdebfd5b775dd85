//! LLVM intrinsics on integers and on the machine. Lowering strips type suffixes; widths come from the call.

use unravel_trace::FailureKind;

use super::{Args, Family, Flow, OK};
use crate::arith::{mask, mask_wide, sign_extend_wide};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("llvm.va_start", va_start),
    ("llvm.va_end", |_, _| OK),
    ("llvm.va_copy", va_copy),
    ("llvm.stacksave", |m, _| {
        let slot = m.threads[m.current].slot;
        Flow::Return(m.memory.stack_top[slot])
    }),
    ("llvm.stackrestore", |m, a| {
        let slot = m.threads[m.current].slot;
        m.memory.set_stack_top(slot, a.word(0));
        OK
    }),
    ("llvm.trap", |m, _| m.fail(FailureKind::Abort, "a trap was executed")),
    ("llvm.debugtrap", |m, _| m.fail(FailureKind::Abort, "a trap was executed")),
    ("llvm.ubsantrap", |m, _| m.fail(FailureKind::Abort, "a trap was executed")),
    ("llvm.returnaddress", |m, _| Flow::Return(m.threads[m.current].at.base)),
    ("llvm.frameaddress", |m, _| Flow::Return(m.threads[m.current].at.base)),
    ("llvm.prefetch", |_, _| OK),
    ("llvm.expect", |_, a| Flow::Return(a.word(0))),
    ("llvm.expect.with.probability", |_, a| Flow::Return(a.word(0))),
    ("llvm.launder.invariant.group", |_, a| Flow::Return(a.word(0))),
    ("llvm.strip.invariant.group", |_, a| Flow::Return(a.word(0))),
    ("llvm.ptr.annotation", |_, a| Flow::Return(a.word(0))),
    ("llvm.annotation", |_, a| Flow::Return(a.word(0))),
    ("llvm.ptrmask", |_, a| Flow::Return(a.word(0) & a.word(1))),
    ("llvm.is.constant", |_, _| OK),
    ("llvm.objectsize", |_, a| Flow::Return(if a.word(1) & 1 != 0 { 0 } else { u64::MAX })),
    ("llvm.sadd.with.overflow", |_, a| {
        overflow(a, true, i128::checked_add, |x, y| x.wrapping_add(y))
    }),
    ("llvm.uadd.with.overflow", |_, a| {
        overflow(a, false, i128::checked_add, |x, y| x.wrapping_add(y))
    }),
    ("llvm.ssub.with.overflow", |_, a| {
        overflow(a, true, i128::checked_sub, |x, y| x.wrapping_sub(y))
    }),
    ("llvm.usub.with.overflow", |_, a| {
        overflow(a, false, i128::checked_sub, |x, y| x.wrapping_sub(y))
    }),
    ("llvm.smul.with.overflow", |_, a| {
        overflow(a, true, i128::checked_mul, |x, y| x.wrapping_mul(y))
    }),
    ("llvm.umul.with.overflow", |_, a| {
        overflow(a, false, i128::checked_mul, |x, y| x.wrapping_mul(y))
    }),
    ("llvm.sadd.sat", |_, a| saturate(a, true, |x, y| x + y)),
    ("llvm.uadd.sat", |_, a| saturate(a, false, |x, y| x + y)),
    ("llvm.ssub.sat", |_, a| saturate(a, true, |x, y| x - y)),
    ("llvm.usub.sat", |_, a| saturate(a, false, |x, y| x - y)),
    ("llvm.smax", |_, a| pick(a, true, |x, y| x > y)),
    ("llvm.smin", |_, a| pick(a, true, |x, y| x < y)),
    ("llvm.umax", |_, a| pick(a, false, |x, y| x > y)),
    ("llvm.umin", |_, a| pick(a, false, |x, y| x < y)),
    ("llvm.scmp", |_, a| three_way(a, true)),
    ("llvm.ucmp", |_, a| three_way(a, false)),
    ("llvm.abs", |_, a| {
        let value = sign_extend_wide(a.wide(0), a.bits(0));
        wide(a, value.wrapping_abs() as u128)
    }),
    ("llvm.ctpop", |_, a| wide(a, u128::from(a.wide(0).count_ones()))),
    ("llvm.ctlz", |_, a| {
        wide(a, u128::from(a.wide(0).leading_zeros() - (128 - u32::from(a.bits(0)))))
    }),
    ("llvm.cttz", |_, a| wide(a, u128::from(a.wide(0).trailing_zeros().min(u32::from(a.bits(0)))))),
    ("llvm.bswap", |_, a| wide(a, a.wide(0).swap_bytes() >> (128 - u32::from(a.bits(0))))),
    ("llvm.bitreverse", |_, a| wide(a, a.wide(0).reverse_bits() >> (128 - u32::from(a.bits(0))))),
    ("llvm.fshl", |_, a| funnel(a, true)),
    ("llvm.fshr", |_, a| funnel(a, false)),
];

/// A `va_list` whose register parts are used up, so that everything is taken from the overflow area.
fn va_start(m: &mut Machine, a: Args) -> Flow {
    let list = a.word(0);
    m.check_sync(list, 24, true);
    let thread = &m.threads[m.current];
    let varargs = thread.frames.last().map_or(0, |f| f.varargs);
    // SAFETY: checked.
    unsafe {
        *(list as *mut u32) = 48;
        *((list + 4) as *mut u32) = 176;
        *((list + 8) as *mut u64) = varargs;
        *((list + 16) as *mut u64) = 0;
    }
    OK
}

fn va_copy(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(0), 24, true);
    m.check_sync(a.word(1), 24, false);
    // SAFETY: checked.
    unsafe { std::ptr::copy(a.word(1) as *const u8, a.word(0) as *mut u8, 24) };
    OK
}

fn wide(a: Args, value: u128) -> Flow {
    let value = value & mask_wide(a.result_bits());
    Flow::Pair(value as u64, (value >> 64) as u64)
}

fn operands(a: Args, signed: bool) -> (i128, i128) {
    let bits = a.bits(0);
    if signed {
        (sign_extend_wide(a.wide(0), bits), sign_extend_wide(a.wide(1), bits))
    } else {
        ((a.wide(0) & mask_wide(bits)) as i128, (a.wide(1) & mask_wide(bits)) as i128)
    }
}

/// The result `{ iN, i1 }` lies in slots as in memory. Up to 64 bits an `i128` holds any result; at 128 bits
/// unsigned operands that do not fit one are handled apart.
fn overflow(
    a: Args,
    signed: bool,
    checked: fn(i128, i128) -> Option<i128>,
    wrapping: fn(u128, u128) -> u128,
) -> Flow {
    let bits = a.bits(0);
    let value = wrapping(a.wide(0), a.wide(1)) & mask_wide(bits);
    let (x, y) = operands(a, signed);
    let overflows = if bits <= 64 {
        let exact = checked(x, y);
        let back = if signed { sign_extend_wide(value, bits) } else { value as i128 };
        exact != Some(back)
    } else if signed {
        checked(x, y).is_none()
    } else {
        // Only sums and differences of 128 bits occur in practice; products are checked by division.
        let (p, q) = (a.wide(0), a.wide(1));
        if wrapping(1, 1) == 2 {
            p.checked_add(q).is_none()
        } else if wrapping(1, 1) == 0 {
            p.checked_sub(q).is_none()
        } else {
            p.checked_mul(q).is_none()
        }
    };
    let flag = u64::from(overflows);
    match bits {
        // The flag's byte follows the integer's storage.
        0..=8 => Flow::Return(value as u64 | flag << 8),
        9..=16 => Flow::Return(value as u64 | flag << 16),
        17..=32 => Flow::Return(value as u64 | flag << 32),
        33..=64 => Flow::Pair(value as u64, flag),
        _ => Flow::Wide(value, flag),
    }
}

fn saturate(a: Args, signed: bool, op: fn(i128, i128) -> i128) -> Flow {
    let bits = a.bits(0).min(64);
    let (x, y) = operands(a, signed);
    let (low, high) = if signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, i128::from(mask(bits)))
    };
    Flow::Return(op(x, y).clamp(low, high) as u64 & mask(bits))
}

fn pick(a: Args, signed: bool, first: fn(i128, i128) -> bool) -> Flow {
    let (x, y) = operands(a, signed);
    // At 128 bits unsigned, compare as such.
    let left = if !signed && a.bits(0) > 64 {
        let greater = first(1, 0);
        if greater { a.wide(0) > a.wide(1) } else { a.wide(0) < a.wide(1) }
    } else {
        first(x, y)
    };
    wide(a, if left { a.wide(0) } else { a.wide(1) })
}

fn three_way(a: Args, signed: bool) -> Flow {
    let (x, y) = operands(a, signed);
    Flow::Return((x > y) as u64).and_less(x < y, a.result_bits())
}

impl Flow {
    fn and_less(self, less: bool, bits: u8) -> Flow {
        if less { Flow::Return(mask(bits)) } else { self }
    }
}

fn funnel(a: Args, left: bool) -> Flow {
    let bits = u32::from(a.bits(0));
    let (high, low) = (a.wide(0), a.wide(1));
    let shift = (a.wide(2) % u128::from(bits)) as u32;
    let value = match (left, shift) {
        (true, 0) => high,
        (false, 0) => low,
        (true, _) => high << shift | low >> (bits - shift),
        (false, _) => high << (bits - shift) | low >> shift,
    };
    wide(a, value)
}

#[cfg(test)]
mod tests {
    use crate::arith::sign_extend;

    #[test]
    fn sign_extension_keeps_the_sign_bit() {
        assert_eq!(sign_extend(0x80, 8), -128);
        assert_eq!(sign_extend(0x7f, 8), 127);
    }
}
