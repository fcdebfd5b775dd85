//! The intrinsics of verification competitions and their relatives.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use unravel_trace::{EventKind, ExprId, FailureKind, Nondet, Outcome, Rng, ThreadName};

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("__VERIFIER_error", reached_error),
    ("reach_error", reached_error),
    ("__VERIFIER_assume", assume),
    ("__ESBMC_assume", assume),
    ("__CPROVER_assume", assume),
    ("assume_abort_if_not", assume),
    ("__VERIFIER_assert", check),
    ("__ESBMC_assert", check),
    ("__CPROVER_assert", check),
    // Called without <assert.h>, which makes it a macro.
    ("assert", check),
    ("__VERIFIER_atomic_begin", atomic_begin),
    ("__ESBMC_atomic_begin", atomic_begin),
    ("__CPROVER_atomic_begin", atomic_begin),
    ("__VERIFIER_atomic_end", atomic_end),
    ("__ESBMC_atomic_end", atomic_end),
    ("__CPROVER_atomic_end", atomic_end),
    ("__ESBMC_yield", |m, a| {
        m.yield_point(a.site());
        OK
    }),
    ("__VERIFIER_nondet_memory", nondet_memory),
    ("__VERIFIER_loop_bound", |_, _| OK),
];

fn reached_error(m: &mut Machine, a: Args) -> Flow {
    m.record(a.site(), EventKind::Assertion);
    m.fail(FailureKind::Assertion, "an error location was reached")
}

fn assume(m: &mut Machine, a: Args) -> Flow {
    if a.word(0) & crate::arith::mask(a.bits(0)) == 0 { m.finish(Outcome::Discarded) } else { OK }
}

fn check(m: &mut Machine, a: Args) -> Flow {
    if a.word(0) & crate::arith::mask(a.bits(0)) == 0 {
        // Some take a text as second argument.
        let text = match a.abi(1) {
            Some(unravel_code::Abi::Pointer) if a.word(1) != 0 => {
                format!("assertion '{}' failed", m.c_string(a.word(1)))
            }
            _ => "an assertion failed".to_owned(),
        };
        m.record(a.site(), EventKind::Assertion);
        m.fail(FailureKind::Assertion, text);
    }
    OK
}

fn atomic_begin(m: &mut Machine, _: Args) -> Flow {
    m.enter_atomic();
    OK
}

fn atomic_end(m: &mut Machine, _: Args) -> Flow {
    m.leave_atomic();
    OK
}

/// `__VERIFIER_nondet_int` and its like, whatever the type. Only asked of functions without a body.
pub(crate) fn is_nondet(name: &str) -> bool {
    ["__VERIFIER_nondet", "__SMACK_nondet", "nondet_"].iter().any(|start| name.starts_with(start))
        || name == "nondet"
}

/// Where nondeterministic values come from, and which ones came.
#[derive(Debug, Default)]
pub(crate) struct NondetSource {
    /// Where values come from that no list has.
    random: Rng,
    list: Option<Vec<u64>>,
    /// By thread, what is left, and where its values come from then: not from what others asked for.
    by_thread: Option<FxHashMap<ThreadName, (VecDeque<u64>, Rng)>>,
    log: Vec<u64>,
    /// By thread, how many values it was given.
    given: Vec<u32>,
}

impl NondetSource {
    pub fn begin(&mut self, from: &Nondet) {
        *self = NondetSource::default();
        match from {
            Nondet::Seed(seed) => self.random = Rng::new(*seed),
            Nondet::List(values) => self.list = Some(values.clone()),
            Nondet::ByThread(threads) => {
                let values = |(name, values): &(ThreadName, Vec<u64>)| {
                    (name.clone(), (values.iter().copied().collect(), own_random(name)))
                };
                self.by_thread = Some(threads.iter().map(values).collect());
            }
        }
    }

    fn next(&mut self, thread: &ThreadName, bits: u8) -> u64 {
        let value = match (&self.list, &mut self.by_thread) {
            (Some(values), _) => {
                let known = values.get(self.log.len()).copied();
                known.unwrap_or_else(|| Nondet::drawn(&mut self.random))
            }
            (None, Some(threads)) => {
                let own = || (VecDeque::new(), own_random(thread));
                let (known, random) = threads.entry(thread.clone()).or_insert_with(own);
                known.pop_front().unwrap_or_else(|| Nondet::drawn(random))
            }
            (None, None) => Nondet::drawn(&mut self.random),
        };
        let value = value & crate::arith::mask(bits);
        self.log.push(value);
        value
    }

    /// The number of a thread's value, counted from 0.
    fn count(&mut self, thread: usize) -> u32 {
        if thread >= self.given.len() {
            self.given.resize(thread + 1, 0);
        }
        self.given[thread] += 1;
        self.given[thread] - 1
    }

    pub fn take_log(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.log)
    }
}

fn own_random(thread: &ThreadName) -> Rng {
    Rng::new(thread.0.iter().fold(0, |seed, child| Rng::derive(seed, u64::from(*child))))
}

/// The next value of the current thread, and its symbol if it is to be one.
fn next(m: &mut Machine, bits: u8) -> (u64, Option<ExprId>) {
    let name = m.names[m.current].clone();
    let value = m.nondet.next(&name, bits);
    let current = m.current;
    let index = m.nondet.count(current);
    (value, m.nondet_symbol(index, value, bits))
}

/// The next value as a number that becomes one of floating point, which is not followed.
fn next_number(m: &mut Machine) -> i32 {
    let (value, symbol) = next(m, 32);
    m.keep_input(symbol);
    value as i32
}

pub(crate) fn nondet(m: &mut Machine, a: Args) -> Flow {
    let bits = a.result_bits().min(64);
    let value = match a.result() {
        unravel_code::Abi::Pointer => 0,
        unravel_code::Abi::F64 => f64::from(next_number(m)).to_bits(),
        unravel_code::Abi::F32 => u64::from((next_number(m) as f32).to_bits()),
        _ => {
            let (value, symbol) = next(m, bits);
            m.shadow_result([symbol, None]);
            value
        }
    };
    Flow::Return(value)
}

/// A function that nobody defines: any value of its type, of which an aggregate has up to two parts.
pub(crate) fn stub(m: &mut Machine, a: Args) -> Flow {
    match (a.result(), a.call().result_slots) {
        (unravel_code::Abi::Void, _) | (_, 0) => OK,
        (unravel_code::Abi::Pointer, _) | (_, 1) => nondet(m, a),
        (unravel_code::Abi::F80, _) => m.finish_inconclusive(
            "a stub returns a long double, for which no value is made up".into(),
        ),
        (_, 2) => {
            let ((low, first), (high, second)) = (next(m, 64), next(m, 64));
            m.shadow_result([first, second]);
            Flow::Pair(low, high)
        }
        _ => m.finish_inconclusive("a stub returns several values, which are not made up".into()),
    }
}

fn nondet_memory(m: &mut Machine, a: Args) -> Flow {
    let (address, bytes) = (a.word(0), a.word(1));
    m.check_sync(address, bytes, true);
    let values: Vec<(u8, Option<ExprId>)> = (0..bytes)
        .map(|_| {
            let (value, symbol) = next(m, 8);
            (value as u8, symbol)
        })
        .collect();
    m.store_inputs(address, &values, a.site());
    OK
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first `count` values of a thread, where another asks for `others` before.
    fn values(from: &Nondet, count: usize, others: usize) -> Vec<u64> {
        let (main, child) = (ThreadName::main(), ThreadName(vec![1]));
        let mut source = NondetSource::default();
        source.begin(from);
        for _ in 0..others {
            source.next(&main, 32);
        }
        (0..count).map(|_| source.next(&child, 32)).collect()
    }

    #[test]
    fn values_go_on_behind_a_list() {
        let list = Nondet::List(vec![5, 6]);
        let given = values(&list, 40, 0);
        assert_eq!(given[..2], [5, 6]);
        // A loop that asks whether to go on comes to its end, whichever answer ends it.
        assert!(given[2..].contains(&0) && given[2..].iter().any(|value| value % 2 == 1));
        assert_eq!(given, values(&list, 40, 0));
    }

    #[test]
    fn those_of_a_thread_do_not_depend_on_what_others_ask_for() {
        let by_thread = Nondet::ByThread(vec![(ThreadName(vec![1]), vec![7])]);
        let given = values(&by_thread, 40, 0);
        assert_eq!(given[0], 7);
        assert_eq!(given, values(&by_thread, 40, 9));
        assert!(given.iter().any(|value| *value != 0));
    }
}
