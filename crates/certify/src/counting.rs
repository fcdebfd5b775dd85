//! Counting: "at least k of these" cannot all hold together. Each is a sum that is at least a number; added up, the
//! sums can never be what the numbers add up to (cutting planes, addition alone).

use rustc_hash::FxHashMap;
use unravel_solve::proof::{Literal, Meaning};

/// Whether no assignment makes all literals of the clause false.
pub(crate) fn is_impossible(meanings: &FxHashMap<u32, Meaning>, clause: &[Literal]) -> bool {
    // A literal that counts may be meant as what it counts, or be counted itself: by another of the clause.
    let counted = |literal: &Literal| {
        clause.iter().any(|other| match meanings.get(&other.variable()) {
            Some(Meaning::Count { of, .. }) if other.variable() != literal.variable() => {
                of.iter().any(|o| o.variable() == literal.variable())
            }
            _ => false,
        })
    };
    let mut coefficients: FxHashMap<Literal, i64> = FxHashMap::default();
    let mut needed = 0;
    for literal in clause.iter().map(|literal| !*literal) {
        match meanings.get(&literal.variable()) {
            Some(Meaning::Count { least, of }) if !counted(&literal) => {
                // Not at least k of n: at least n − k + 1 of their negations.
                let negated = literal.is_negated();
                needed += if negated { of.len() as i64 - least + 1 } else { *least };
                for part in of {
                    let part = if negated { !*part } else { *part };
                    *coefficients.entry(part).or_insert(0) += 1;
                }
            }
            _ => {
                needed += 1;
                *coefficients.entry(literal).or_insert(0) += 1;
            }
        }
    }
    let most: i64 = coefficients
        .iter()
        .map(|(literal, coefficient)| {
            // Of a variable and its negation one holds: the larger, counted once.
            match coefficients.get(&!*literal) {
                Some(other) if other > coefficient => 0,
                Some(other) if other == coefficient && literal.is_negated() => 0,
                _ => *coefficient,
            }
        })
        .sum();
    needed > most
}
