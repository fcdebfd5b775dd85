//! Arithmetic of LLVM values. Integers are zero-extended in their slots.
//!
//! A shift by the width or more, poison in LLVM, gives 0 (or the sign for arithmetic shifts).

use unravel_code::code::*;

pub(crate) fn mask(bits: u8) -> u64 {
    if bits >= 64 { !0 } else { (1 << bits) - 1 }
}

pub(crate) fn mask_wide(bits: u8) -> u128 {
    if bits >= 128 { !0 } else { (1 << bits) - 1 }
}

pub(crate) fn sign_extend(value: u64, bits: u8) -> i64 {
    let shift = 64 - u32::from(bits.clamp(1, 64));
    ((value << shift) as i64) >> shift
}

pub(crate) fn sign_extend_wide(value: u128, bits: u8) -> i128 {
    let shift = 128 - u32::from(bits.clamp(1, 128));
    ((value << shift) as i128) >> shift
}

/// # Safety
/// `reg` and the slot behind it are in the frame.
pub(crate) unsafe fn wide(fp: *const u64, reg: Reg) -> u128 {
    // SAFETY: per the contract.
    unsafe { u128::from(*fp.add(reg as usize)) | u128::from(*fp.add(reg as usize + 1)) << 64 }
}

/// # Safety
/// As for [`wide`].
pub(crate) unsafe fn set_wide(fp: *mut u64, reg: Reg, value: u128) {
    // SAFETY: per the contract.
    unsafe {
        *fp.add(reg as usize) = value as u64;
        *fp.add(reg as usize + 1) = (value >> 64) as u64;
    }
}

/// `None`: a division that a processor refuses, by zero or with a quotient that does not fit.
pub(crate) fn binary(op: BinOp, bits: u8, a: u64, b: u64) -> Option<u64> {
    let width = u64::from(bits);
    let value = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => {
            if b >= width {
                0
            } else {
                a << b
            }
        }
        BinOp::LShr => {
            if b >= width {
                0
            } else {
                a >> b
            }
        }
        BinOp::AShr => (sign_extend(a, bits) >> b.min(63)) as u64,
        _ if b == 0 => return None,
        BinOp::UDiv => a / b,
        BinOp::URem => a % b,
        // Narrower numbers are divided as 32 bits, where the quotient fits.
        BinOp::SDiv | BinOp::SRem if bits >= 32 && b == mask(bits) && a == 1 << (bits - 1) => {
            return None;
        }
        BinOp::SDiv => sign_extend(a, bits).wrapping_div(sign_extend(b, bits)) as u64,
        BinOp::SRem => sign_extend(a, bits).wrapping_rem(sign_extend(b, bits)) as u64,
    };
    Some(value & mask(bits))
}

pub(crate) fn binary_wide(op: BinOp, bits: u8, a: u128, b: u128) -> Option<u128> {
    let width = u128::from(bits);
    let value = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => {
            if b >= width {
                0
            } else {
                a << b
            }
        }
        BinOp::LShr => {
            if b >= width {
                0
            } else {
                a >> b
            }
        }
        BinOp::AShr => (sign_extend_wide(a, bits) >> b.min(127)) as u128,
        _ if b == 0 => return None,
        BinOp::UDiv => a / b,
        BinOp::URem => a % b,
        BinOp::SDiv => sign_extend_wide(a, bits).wrapping_div(sign_extend_wide(b, bits)) as u128,
        BinOp::SRem => sign_extend_wide(a, bits).wrapping_rem(sign_extend_wide(b, bits)) as u128,
    };
    Some(value & mask_wide(bits))
}

pub(crate) fn compare(pred: Pred, bits: u8, a: u64, b: u64) -> bool {
    let (x, y) = (sign_extend(a, bits), sign_extend(b, bits));
    match pred {
        Pred::Eq => a == b,
        Pred::Ne => a != b,
        Pred::Ugt => a > b,
        Pred::Uge => a >= b,
        Pred::Ult => a < b,
        Pred::Ule => a <= b,
        Pred::Sgt => x > y,
        Pred::Sge => x >= y,
        Pred::Slt => x < y,
        Pred::Sle => x <= y,
    }
}

pub(crate) fn compare_wide(pred: Pred, bits: u8, a: u128, b: u128) -> bool {
    let (x, y) = (sign_extend_wide(a, bits), sign_extend_wide(b, bits));
    match pred {
        Pred::Eq => a == b,
        Pred::Ne => a != b,
        Pred::Ugt => a > b,
        Pred::Uge => a >= b,
        Pred::Ult => a < b,
        Pred::Ule => a <= b,
        Pred::Sgt => x > y,
        Pred::Sge => x >= y,
        Pred::Slt => x < y,
        Pred::Sle => x <= y,
    }
}

/// The value an atomic update stores.
pub(crate) fn update(op: RmwOp, bits: u8, old: u64, value: u64) -> u64 {
    let (x, y) = (sign_extend(old, bits), sign_extend(value, bits));
    let float = |f: fn(f64, f64) -> f64| {
        if bits == 32 {
            let (a, b) = (f32::from_bits(old as u32), f32::from_bits(value as u32));
            u64::from((f(f64::from(a), f64::from(b)) as f32).to_bits())
        } else {
            f(f64::from_bits(old), f64::from_bits(value)).to_bits()
        }
    };
    let new = match op {
        RmwOp::Exchange => value,
        RmwOp::Add => old.wrapping_add(value),
        RmwOp::Sub => old.wrapping_sub(value),
        RmwOp::And => old & value,
        RmwOp::Nand => !(old & value),
        RmwOp::Or => old | value,
        RmwOp::Xor => old ^ value,
        RmwOp::Max => x.max(y) as u64,
        RmwOp::Min => x.min(y) as u64,
        RmwOp::UMax => old.max(value),
        RmwOp::UMin => old.min(value),
        RmwOp::FAdd => float(|a, b| a + b),
        RmwOp::FSub => float(|a, b| a - b),
        RmwOp::FMax => float(f64::max),
        RmwOp::FMin => float(f64::min),
        RmwOp::UIncWrap => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        RmwOp::UDecWrap => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
    };
    new & mask(bits)
}

/// The same for integers of 128 bits.
pub(crate) fn update_wide(op: RmwOp, old: u128, value: u128) -> u128 {
    let (x, y) = (old as i128, value as i128);
    match op {
        RmwOp::Exchange => value,
        RmwOp::Add => old.wrapping_add(value),
        RmwOp::Sub => old.wrapping_sub(value),
        RmwOp::And => old & value,
        RmwOp::Nand => !(old & value),
        RmwOp::Or => old | value,
        RmwOp::Xor => old ^ value,
        RmwOp::Max => x.max(y) as u128,
        RmwOp::Min => x.min(y) as u128,
        RmwOp::UMax => old.max(value),
        RmwOp::UMin => old.min(value),
        // Of 128 bits these exist for integers only.
        RmwOp::FAdd | RmwOp::FSub | RmwOp::FMax | RmwOp::FMin => value,
        RmwOp::UIncWrap => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        RmwOp::UDecWrap => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
    }
}

// x87 long doubles are computed by the C compiler; Rust has no such type.
unsafe extern "C" {
    fn unravel_f80_binary(op: i32, dst: *mut u64, a: *const u64, b: *const u64);
    fn unravel_f80_compare(pred: i32, a: *const u64, b: *const u64) -> i32;
    fn unravel_f80_from_f64(dst: *mut u64, value: f64);
    fn unravel_f80_to_f64(src: *const u64) -> f64;
    fn unravel_f80_to_f32(src: *const u64) -> f32;
    fn unravel_f80_from_wide(dst: *mut u64, low: u64, high: u64, signed: i32);
    fn unravel_f80_to_i64(src: *const u64) -> i64;
    fn unravel_f80_to_u64(src: *const u64) -> u64;
    fn unravel_f80_to_wide(dst: *mut u64, src: *const u64, signed: i32);
}

fn float_op<T>(op: FloatOp, a: T, b: T) -> T
where
    T: std::ops::Add<Output = T>
        + std::ops::Sub<Output = T>
        + std::ops::Mul<Output = T>
        + std::ops::Div<Output = T>
        + std::ops::Rem<Output = T>,
{
    match op {
        FloatOp::Add => a + b,
        FloatOp::Sub => a - b,
        FloatOp::Mul => a * b,
        FloatOp::Div => a / b,
        FloatOp::Rem => a % b,
    }
}

/// # Safety
/// The slots of the operands and the result are in the frame.
#[inline]
pub(crate) unsafe fn float(
    op: FloatOp,
    kind: FloatKind,
    dst: *mut u64,
    a: *const u64,
    b: *const u64,
) {
    // SAFETY: per the contract.
    unsafe {
        match kind {
            FloatKind::F64 => {
                *dst = float_op(op, f64::from_bits(*a), f64::from_bits(*b)).to_bits();
            }
            FloatKind::F32 => {
                let value = float_op(op, f32::from_bits(*a as u32), f32::from_bits(*b as u32));
                *dst = u64::from(value.to_bits());
            }
            FloatKind::F80 => unravel_f80_binary(op as i32, dst, a, b),
        }
    }
}

/// # Safety
/// As for [`float`].
pub(crate) unsafe fn float_neg(kind: FloatKind, dst: *mut u64, a: *const u64) {
    // SAFETY: per the contract.
    unsafe {
        match kind {
            FloatKind::F32 => *dst = *a ^ (1 << 31),
            FloatKind::F64 => *dst = *a ^ (1 << 63),
            FloatKind::F80 => {
                let high = *a.add(1);
                *dst = *a;
                *dst.add(1) = high ^ 0x8000;
            }
        }
    }
}

/// # Safety
/// As for [`float`].
pub(crate) unsafe fn float_compare(
    pred: FloatPred,
    kind: FloatKind,
    a: *const u64,
    b: *const u64,
) -> bool {
    // SAFETY: per the contract.
    let (x, y) = unsafe {
        match kind {
            FloatKind::F80 => return unravel_f80_compare(i32::from(pred.0), a, b) != 0,
            FloatKind::F64 => (f64::from_bits(*a), f64::from_bits(*b)),
            FloatKind::F32 => {
                (f64::from(f32::from_bits(*a as u32)), f64::from(f32::from_bits(*b as u32)))
            }
        }
    };
    let holds = |bit: u8| pred.0 >> bit & 1 == 1;
    holds(0) && x == y
        || holds(1) && x > y
        || holds(2) && x < y
        || holds(3) && (x.is_nan() || y.is_nan())
}

/// What an x86 processor gives. A value out of range, poison in LLVM, is the smallest signed integer of the
/// instruction that clang chooses: 32 bits wide for small signed results, 64 for others.
pub(crate) fn float_to_int(value: f64, signed: bool, bits: u8) -> u64 {
    let to_i64 = |value: f64| {
        let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
        if fits { value as i64 } else { i64::MIN }
    };
    match (signed, bits) {
        (true, ..=32) | (false, ..=16) => {
            let fits = value > -2_147_483_649.0 && value < 2_147_483_648.0;
            (if fits { value as i32 } else { i32::MIN }) as u64
        }
        (true, _) | (false, ..=32) => to_i64(value) as u64,
        (false, _) => {
            // The upper half of the range is converted with its highest bit taken off.
            let low = to_i64(value);
            let high = to_i64(value - 9_223_372_036_854_775_808.0);
            (low | high & (low >> 63)) as u64
        }
    }
}

pub(crate) fn f80_to_i64(value: &[u64; 2]) -> i64 {
    // SAFETY: two slots.
    unsafe { unravel_f80_to_i64(value.as_ptr()) }
}

/// # Safety
/// `src` is a long double.
unsafe fn f80_to_wide(src: *const u64, signed: bool) -> u128 {
    let mut value = [0; 2];
    // SAFETY: per the contract.
    unsafe {
        unravel_f80_to_wide(value.as_mut_ptr(), src, i32::from(signed));
        wide(value.as_ptr(), 0)
    }
}

/// # Safety
/// As for [`float`]; two slots for 80- and 128-bit values.
pub(crate) unsafe fn convert(op: Convert, from: u8, to: u8, dst: *mut u64, src: *const u64) {
    // SAFETY: per the contract.
    unsafe {
        match op {
            Convert::FloatToSigned | Convert::FloatToUnsigned if to > 64 => {
                let value = match (from, op == Convert::FloatToSigned) {
                    (80, signed) => f80_to_wide(src, signed),
                    (32, true) => f32::from_bits(*src as u32) as i128 as u128,
                    (32, false) => f32::from_bits(*src as u32) as u128,
                    (_, true) => f64::from_bits(*src) as i128 as u128,
                    (_, false) => f64::from_bits(*src) as u128,
                };
                set_wide(dst, 0, value & mask_wide(to));
            }
            Convert::FloatToSigned | Convert::FloatToUnsigned => {
                let signed = op == Convert::FloatToSigned;
                let value = match from {
                    80 if signed => unravel_f80_to_i64(src) as u64,
                    80 => unravel_f80_to_u64(src),
                    32 => float_to_int(f64::from(f32::from_bits(*src as u32)), signed, to),
                    _ => float_to_int(f64::from_bits(*src), signed, to),
                };
                *dst = value & mask(to);
            }
            Convert::SignedToFloat | Convert::UnsignedToFloat => {
                let signed = op == Convert::SignedToFloat;
                let raw = if from > 64 { wide(src, 0) } else { u128::from(*src) };
                if to == 80 {
                    let value = if signed { sign_extend_wide(raw, from) as u128 } else { raw };
                    unravel_f80_from_wide(
                        dst,
                        value as u64,
                        (value >> 64) as u64,
                        i32::from(signed),
                    );
                    return;
                }
                *dst = match (to, signed) {
                    (32, true) => u64::from((sign_extend_wide(raw, from) as f32).to_bits()),
                    (32, false) => u64::from((raw as f32).to_bits()),
                    (_, true) => (sign_extend_wide(raw, from) as f64).to_bits(),
                    (_, false) => (raw as f64).to_bits(),
                };
            }
            Convert::FloatToFloat => match (from, to) {
                (32, 64) => *dst = f64::from(f32::from_bits(*src as u32)).to_bits(),
                (64, 32) => *dst = u64::from((f64::from_bits(*src) as f32).to_bits()),
                (32, 80) => unravel_f80_from_f64(dst, f64::from(f32::from_bits(*src as u32))),
                (64, 80) => unravel_f80_from_f64(dst, f64::from_bits(*src)),
                (80, 64) => *dst = unravel_f80_to_f64(src).to_bits(),
                (80, 32) => *dst = u64::from(unravel_f80_to_f32(src).to_bits()),
                _ => {
                    *dst = *src;
                    if from > 64 {
                        *dst.add(1) = *src.add(1);
                    }
                }
            },
        }
    }
}
