//! LLVM intrinsics on floating-point numbers. They give what the C library's functions of the same names
//! give, each type its own: `sinf` is not a rounded `sin`.

use unravel_code::Abi;

use super::{Args, Family, Flow};
use crate::arith::float_to_int;
use crate::machine::Machine;
use crate::resolve::native_address;

pub(crate) const MODELS: Family = &[
    ("llvm.fabs", |m, a| unary(m, a, f32::abs, f64::abs, "fabsl")),
    ("llvm.sqrt", |m, a| unary(m, a, f32::sqrt, f64::sqrt, "sqrtl")),
    ("llvm.floor", |m, a| unary(m, a, f32::floor, f64::floor, "floorl")),
    ("llvm.ceil", |m, a| unary(m, a, f32::ceil, f64::ceil, "ceill")),
    ("llvm.trunc", |m, a| unary(m, a, f32::trunc, f64::trunc, "truncl")),
    ("llvm.round", |m, a| unary(m, a, f32::round, f64::round, "roundl")),
    ("llvm.rint", |m, a| unary(m, a, f32::round_ties_even, f64::round_ties_even, "rintl")),
    ("llvm.nearbyint", |m, a| {
        unary(m, a, f32::round_ties_even, f64::round_ties_even, "nearbyintl")
    }),
    ("llvm.roundeven", |m, a| {
        unary(m, a, f32::round_ties_even, f64::round_ties_even, "roundevenl")
    }),
    ("llvm.sin", |m, a| unary(m, a, f32::sin, f64::sin, "sinl")),
    ("llvm.cos", |m, a| unary(m, a, f32::cos, f64::cos, "cosl")),
    ("llvm.tan", |m, a| unary(m, a, f32::tan, f64::tan, "tanl")),
    ("llvm.asin", |m, a| unary(m, a, f32::asin, f64::asin, "asinl")),
    ("llvm.acos", |m, a| unary(m, a, f32::acos, f64::acos, "acosl")),
    ("llvm.atan", |m, a| unary(m, a, f32::atan, f64::atan, "atanl")),
    ("llvm.sinh", |m, a| unary(m, a, f32::sinh, f64::sinh, "sinhl")),
    ("llvm.cosh", |m, a| unary(m, a, f32::cosh, f64::cosh, "coshl")),
    ("llvm.tanh", |m, a| unary(m, a, f32::tanh, f64::tanh, "tanhl")),
    ("llvm.exp", |m, a| unary(m, a, f32::exp, f64::exp, "expl")),
    ("llvm.exp2", |m, a| unary(m, a, f32::exp2, f64::exp2, "exp2l")),
    ("llvm.exp10", |m, a| unary(m, a, |x| exp10f(x), |x| exp10(x), "exp10l")),
    ("llvm.log", |m, a| unary(m, a, f32::ln, f64::ln, "logl")),
    ("llvm.log2", |m, a| unary(m, a, f32::log2, f64::log2, "log2l")),
    ("llvm.log10", |m, a| unary(m, a, f32::log10, f64::log10, "log10l")),
    ("llvm.pow", |m, a| binary(m, a, f32::powf, f64::powf, "powl")),
    ("llvm.copysign", |m, a| binary(m, a, f32::copysign, f64::copysign, "copysignl")),
    ("llvm.minnum", |m, a| binary(m, a, f32::min, f64::min, "fminl")),
    ("llvm.maxnum", |m, a| binary(m, a, f32::max, f64::max, "fmaxl")),
    ("llvm.minimum", |m, a| {
        binary(m, a, |x, y| minimum(x.into(), y.into()) as f32, minimum, "fminl")
    }),
    ("llvm.maximum", |m, a| {
        binary(m, a, |x, y| -minimum(-f64::from(x), -f64::from(y)) as f32, maximum, "fmaxl")
    }),
    ("llvm.fma", |m, a| ternary(m, a, f32::mul_add, f64::mul_add, "fmal")),
    ("llvm.powi", power),
    ("llvm.ldexp", scale),
    ("llvm.frexp", split),
    ("llvm.is.fpclass", is_class),
    ("llvm.lround", |m, a| to_integer(m, a, f64::round, "roundl")),
    ("llvm.llround", |m, a| to_integer(m, a, f64::round, "roundl")),
    ("llvm.lrint", |m, a| to_integer(m, a, f64::round_ties_even, "rintl")),
    ("llvm.llrint", |m, a| to_integer(m, a, f64::round_ties_even, "rintl")),
];

unsafe extern "C" {
    safe fn exp10f(x: f32) -> f32;
    safe fn exp10(x: f64) -> f64;
    safe fn ldexpf(x: f32, exponent: i32) -> f32;
    safe fn ldexp(x: f64, exponent: i32) -> f64;
    fn frexp(x: f64, exponent: *mut i32) -> f64;
    /// Calls a native function of `count` long doubles.
    fn unravel_f80_call(function: u64, count: i32, result: *mut Long, arguments: *const Long);
    fn unravel_f80_class(value: *const Long) -> u32;
    fn unravel_f80_scale(result: *mut Long, value: *const Long, exponent: i32);
    fn unravel_f80_power(result: *mut Long, value: *const Long, exponent: i32);
}

/// A long double in its two slots.
type Long = [u64; 2];

fn long(a: Args, index: usize) -> Long {
    let value = a.wide(index);
    [value as u64, (value >> 64) as u64]
}

fn float(a: Args, index: usize) -> f32 {
    f32::from_bits(a.word(index) as u32)
}

impl Flow {
    fn f32(value: f32) -> Flow {
        Flow::Return(u64::from(value.to_bits()))
    }

    fn f64(value: f64) -> Flow {
        Flow::Return(value.to_bits())
    }

    fn f80(value: &Long) -> Flow {
        Flow::Pair(value[0], value[1])
    }
}

fn unsupported(m: &mut Machine) -> ! {
    m.finish_inconclusive("an operation on a floating-point type that is not supported".into())
}

/// The C library's function of this name, for long doubles.
fn call_long<const N: usize>(m: &mut Machine, name: &str, arguments: [Long; N]) -> Long {
    let Some(function) = native_address(name) else { unsupported(m) };
    let mut result = [0; 2];
    // SAFETY: a function of the C library that takes and gives long doubles.
    unsafe { unravel_f80_call(function, N as i32, &mut result, arguments.as_ptr()) };
    result
}

fn unary(
    m: &mut Machine,
    a: Args,
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
    name: &str,
) -> Flow {
    match a.abi(0) {
        Some(Abi::F64) => Flow::f64(double(a.f64(0))),
        Some(Abi::F32) => Flow::f32(single(float(a, 0))),
        Some(Abi::F80) => Flow::f80(&call_long(m, name, [long(a, 0)])),
        _ => unsupported(m),
    }
}

fn binary(
    m: &mut Machine,
    a: Args,
    single: fn(f32, f32) -> f32,
    double: fn(f64, f64) -> f64,
    name: &str,
) -> Flow {
    match a.abi(0) {
        Some(Abi::F64) => Flow::f64(double(a.f64(0), a.f64(1))),
        Some(Abi::F32) => Flow::f32(single(float(a, 0), float(a, 1))),
        Some(Abi::F80) => Flow::f80(&call_long(m, name, [long(a, 0), long(a, 1)])),
        _ => unsupported(m),
    }
}

fn ternary(
    m: &mut Machine,
    a: Args,
    single: fn(f32, f32, f32) -> f32,
    double: fn(f64, f64, f64) -> f64,
    name: &str,
) -> Flow {
    match a.abi(0) {
        Some(Abi::F64) => Flow::f64(double(a.f64(0), a.f64(1), a.f64(2))),
        Some(Abi::F32) => Flow::f32(single(float(a, 0), float(a, 1), float(a, 2))),
        Some(Abi::F80) => Flow::f80(&call_long(m, name, [0, 1, 2].map(|i| long(a, i)))),
        _ => unsupported(m),
    }
}

/// The smaller number, NaN if there is one, and -0 below +0.
fn minimum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x == y {
        if x.is_sign_negative() { x } else { y }
    } else {
        x.min(y)
    }
}

fn maximum(x: f64, y: f64) -> f64 {
    -minimum(-x, -y)
}

fn power(m: &mut Machine, a: Args) -> Flow {
    let exponent = a.int(1);
    let mut result = [0; 2];
    match a.abi(0) {
        Some(Abi::F64) => Flow::f64(a.f64(0).powi(exponent)),
        Some(Abi::F32) => Flow::f32(float(a, 0).powi(exponent)),
        Some(Abi::F80) => {
            // SAFETY: two slots each.
            unsafe { unravel_f80_power(&mut result, &long(a, 0), exponent) };
            Flow::f80(&result)
        }
        _ => unsupported(m),
    }
}

fn scale(m: &mut Machine, a: Args) -> Flow {
    let exponent = a.int(1);
    let mut result = [0; 2];
    // SAFETY: functions of numbers; two slots for each long double.
    unsafe {
        match a.abi(0) {
            Some(Abi::F64) => Flow::f64(ldexp(a.f64(0), exponent)),
            Some(Abi::F32) => Flow::f32(ldexpf(float(a, 0), exponent)),
            Some(Abi::F80) => {
                unravel_f80_scale(&mut result, &long(a, 0), exponent);
                Flow::f80(&result)
            }
            _ => unsupported(m),
        }
    }
}

/// `llvm.frexp`: `{ T, i32 }`.
fn split(m: &mut Machine, a: Args) -> Flow {
    let mut exponent = 0;
    // A fraction of a float is one exactly, computed as a double.
    // SAFETY: a function of numbers that stores the exponent.
    let mut fraction = |x: f64| unsafe { frexp(x, &mut exponent) };
    match a.abi(0) {
        Some(Abi::F64) => {
            let fraction = fraction(a.f64(0));
            Flow::Pair(fraction.to_bits(), exponent as u32 as u64)
        }
        Some(Abi::F32) => {
            let fraction = fraction(f64::from(float(a, 0))) as f32;
            Flow::Return(u64::from(fraction.to_bits()) | (exponent as u32 as u64) << 32)
        }
        Some(Abi::F80) => {
            let [mantissa, high] = long(a, 0);
            let biased = high & 0x7fff;
            if mantissa == 0 || biased == 0x7fff {
                // Zero, infinity and NaN are their own fractions.
                return Flow::Wide(u128::from(mantissa) | u128::from(high) << 64, 0);
            }
            // The mantissa of a number too small to be normal has leading zeros.
            let shift = mantissa.leading_zeros();
            let exponent = biased.max(1) as i32 - 0x3ffe - shift as i32;
            let fraction = u128::from(mantissa << shift) | u128::from(high & 0x8000 | 0x3ffe) << 64;
            Flow::Wide(fraction, exponent as u32 as u64)
        }
        _ => unsupported(m),
    }
}

fn to_integer(m: &mut Machine, a: Args, round: fn(f64) -> f64, name: &str) -> Flow {
    match a.abi(0) {
        Some(Abi::F64) => Flow::Return(float_to_int(round(a.f64(0)), true, 64)),
        // Rounding a float to an integer is exact as a double.
        Some(Abi::F32) => Flow::Return(float_to_int(round(float(a, 0).into()), true, 64)),
        Some(Abi::F80) => {
            let whole = call_long(m, name, [long(a, 0)]);
            Flow::Return(crate::arith::f80_to_i64(&whole) as u64)
        }
        _ => unsupported(m),
    }
}

/// LLVM's class bits: signalling and quiet NaN, then from -inf to +inf.
fn is_class(m: &mut Machine, a: Args) -> Flow {
    let class = match a.abi(0) {
        Some(Abi::F64) => {
            class_of(a.f64(0).classify(), a.f64(0).is_sign_negative(), a.word(0) >> 51 & 1)
        }
        Some(Abi::F32) => {
            let value = float(a, 0);
            class_of(value.classify(), value.is_sign_negative(), a.word(0) >> 22 & 1)
        }
        // SAFETY: a long double.
        Some(Abi::F80) => unsafe { unravel_f80_class(&long(a, 0)) },
        _ => unsupported(m),
    };
    Flow::Return(u64::from(a.word(1) as u32 & class != 0))
}

fn class_of(category: std::num::FpCategory, negative: bool, quiet: u64) -> u32 {
    use std::num::FpCategory::*;
    1 << match (category, negative) {
        (Nan, _) => quiet,
        (Infinite, true) => 2,
        (Normal, true) => 3,
        (Subnormal, true) => 4,
        (Zero, true) => 5,
        (Zero, false) => 6,
        (Subnormal, false) => 7,
        (Normal, false) => 8,
        (Infinite, false) => 9,
    }
}
