//! Which values memory can hold at all: data flow, before any solver is asked.
//!
//! Of each cell a set: what it held before the run, and what any of the threads writes there, in whatever order. Writes of
//! expressions are followed until nothing is new or a set grows too large, which then means "anything". A condition that no
//! choice from these sets makes true cannot be made true by any order of these threads' steps.
//!
//! Errs on the side of "possible": the sets forget who writes when, and that two reads may have the same source.

use rustc_hash::FxHashMap;
use unravel_trace::{Access, ExprId, Exprs, SymbolId, Symbolic};

/// A larger set is "anything".
const MOST_VALUES: usize = 48;
/// Choices that are evaluated for one expression.
const MOST_CHOICES: usize = 2_000;
/// Rounds in which writes are followed.
const ROUNDS: usize = 10;

/// The values a cell may hold; `None` for anything.
type Set = Option<Vec<u128>>;

/// By address and size.
#[derive(Debug)]
pub struct Values {
    cells: FxHashMap<(u64, u8), Set>,
}

impl Values {
    pub fn of(symbolic: &Symbolic) -> Values {
        let mut values = Values { cells: FxHashMap::default() };
        values.begin(symbolic);
        let writes: Vec<&Access> = symbolic
            .shadows
            .iter()
            .flat_map(|shadow| {
                let first = (shadow.first + shadow.reads) as usize;
                &symbolic.accesses[first..first + shadow.writes as usize]
            })
            .collect();
        for _ in 0..ROUNDS {
            let mut grew = false;
            for write in &writes {
                let new = values.possible(symbolic, write.value);
                grew |= values.add((write.address, write.bytes), new);
            }
            if !grew {
                return values;
            }
        }
        // Not stable: every cell that is written an expression may be anything.
        for write in writes {
            if symbolic.exprs.as_const(write.value).is_none() {
                values.cells.insert((write.address, write.bytes), None);
            }
        }
        values.spread_anything(symbolic);
        values
    }

    /// Memory before the run; cells that overlap are anything.
    fn begin(&mut self, symbolic: &Symbolic) {
        let mut bytes: FxHashMap<u64, u8> = FxHashMap::default();
        for initial in &symbolic.initial {
            if let Some(value) = initial.value {
                for i in 0..initial.bytes {
                    let byte = (value >> (8 * u32::from(i))) as u8;
                    bytes.insert(initial.address + u64::from(i), byte);
                }
            }
        }
        let mut owners: FxHashMap<u64, (u64, u8)> = FxHashMap::default();
        let mut overlap: Vec<(u64, u8)> = Vec::new();
        for access in &symbolic.accesses {
            let key = (access.address, access.bytes);
            for at in access.address..access.address + u64::from(access.bytes) {
                let owner = *owners.entry(at).or_insert(key);
                if owner != key {
                    overlap.extend([owner, key]);
                }
            }
            let before = (0..access.bytes).rev().try_fold(0u128, |value, i| {
                let byte = bytes.get(&(access.address + u64::from(i)))?;
                Some(value << 8 | u128::from(*byte))
            });
            // Memory that nobody reads has no initial value here, and needs none; inputs have none and may be anything.
            let input = symbolic.inputs.iter().any(|input| input.address == access.address);
            let set = match before {
                Some(value) => Some(vec![value]),
                None if input => None,
                None => Some(Vec::new()),
            };
            self.cells.entry(key).or_insert(set);
        }
        for key in overlap {
            self.cells.insert(key, None);
        }
    }

    /// Anything that depends on anything is anything.
    fn spread_anything(&mut self, symbolic: &Symbolic) {
        let mut grew = true;
        while grew {
            grew = false;
            for shadow in &symbolic.shadows {
                let first = (shadow.first + shadow.reads) as usize;
                for write in &symbolic.accesses[first..first + shadow.writes as usize] {
                    let new = self.possible(symbolic, write.value);
                    grew |= self.add((write.address, write.bytes), new);
                }
            }
        }
    }

    fn add(&mut self, key: (u64, u8), new: Set) -> bool {
        let set = self.cells.entry(key).or_insert_with(|| Some(Vec::new()));
        let Some(known) = set else { return false };
        let Some(new) = new else {
            *set = None;
            return true;
        };
        let before = known.len();
        for value in new {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        let grew = known.len() > before;
        if known.len() > MOST_VALUES {
            *set = None;
        }
        grew
    }

    /// The values an expression may have.
    fn possible(&self, symbolic: &Symbolic, id: ExprId) -> Set {
        let mut found: Vec<u128> = Vec::new();
        let complete = self.each(symbolic, &symbolic.exprs, id, &mut |value| {
            if !found.contains(&value) {
                found.push(value);
            }
            found.len() > MOST_VALUES
        });
        (complete && found.len() <= MOST_VALUES).then_some(found)
    }

    /// Whether a condition can be true. `exprs` holds it; its symbols are those of `symbolic`.
    pub fn may_hold(&self, symbolic: &Symbolic, exprs: &Exprs, id: ExprId) -> bool {
        let mut holds = false;
        let complete = self.each(symbolic, exprs, id, &mut |value| {
            holds |= value != 0;
            holds
        });
        holds || !complete
    }

    /// Evaluates an expression for each choice of its symbols, until told to stop. False if there are too many.
    fn each(
        &self,
        symbolic: &Symbolic,
        exprs: &Exprs,
        id: ExprId,
        stop: &mut dyn FnMut(u128) -> bool,
    ) -> bool {
        let symbols = exprs.symbols(id);
        let mut sets: Vec<(SymbolId, &[u128])> = Vec::new();
        let mut choices = 1usize;
        for symbol in symbols {
            let access = &symbolic.accesses[symbol.0 as usize];
            let Some(Some(set)) = self.cells.get(&(access.address, access.bytes)) else {
                return false;
            };
            choices = choices.saturating_mul(set.len());
            sets.push((symbol, set));
        }
        if choices > MOST_CHOICES {
            return false;
        }
        for mut choice in 0..choices {
            let mut chosen: FxHashMap<SymbolId, u128> = FxHashMap::default();
            for (symbol, set) in &sets {
                chosen.insert(*symbol, set[choice % set.len()]);
                choice /= set.len();
            }
            if stop(exprs.evaluate(id, &|symbol| chosen[&symbol])) {
                break;
            }
        }
        true
    }
}
