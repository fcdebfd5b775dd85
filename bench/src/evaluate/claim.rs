//! What the page claims: a sentence each, and a function of the rows that were measured. A page whose claims do not hold any
//! more is written all the same, and the command fails.

/// A sentence about a table, and whether its rows bear it out.
pub struct Claim<R: 'static> {
    pub says: &'static str,
    pub of: fn(&[R]) -> Seen,
}

/// What a claim comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub holds: bool,
    /// In figures.
    pub figure: String,
}

impl Seen {
    /// It holds of every row; those of which it does not are named.
    pub fn of_all<R>(rows: &[R], name: impl Fn(&R) -> &str, holds: impl Fn(&R) -> bool) -> Seen {
        let not: Vec<&str> = rows.iter().filter(|row| !holds(row)).map(name).collect();
        let mut figure = format!("{} of {}", rows.len() - not.len(), rows.len());
        if !not.is_empty() {
            figure += &format!("; not {}", not.join(", "));
        }
        Seen { holds: not.is_empty() && !rows.is_empty(), figure }
    }

    /// It holds of every row but these, which are named beside it.
    pub fn of_all_but<R>(
        rows: &[R],
        but: &[&str],
        name: impl Fn(&R) -> &str,
        holds: impl Fn(&R) -> bool,
    ) -> Seen {
        Seen::of_all(rows, &name, |row| holds(row) || but.contains(&name(row)))
    }

    /// A figure is not above what it may be.
    pub fn at_most(figure: f64, most: f64, unit: &str) -> Seen {
        Seen { holds: figure <= most, figure: format!("{figure:.2}{unit}, at most {most}{unit}") }
    }

    /// A figure is not below what it has to be.
    pub fn at_least(figure: f64, least: f64, unit: &str) -> Seen {
        Seen {
            holds: figure >= least,
            figure: format!("{figure:.1}{unit}, at least {least}{unit}"),
        }
    }
}

/// A claim with what it came to.
#[derive(Debug)]
pub struct Judged {
    pub says: &'static str,
    pub seen: Seen,
}

pub fn judge<R>(claims: &[Claim<R>], rows: &[R]) -> Vec<Judged> {
    claims.iter().map(|claim| Judged { says: claim.says, seen: (claim.of)(rows) }).collect()
}

/// The mean of what there is.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    sum / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::{Claim, Seen, judge};

    const EVEN: [Claim<u32>; 1] = [Claim {
        says: "all are even",
        of: |rows| Seen::of_all(rows, |_| "a number", |row| row % 2 == 0),
    }];

    #[test]
    fn a_row_that_does_not_bear_a_claim_out_is_named() {
        assert!(judge(&EVEN, &[2, 4])[0].seen.holds);
        let seen = &judge(&EVEN, &[2, 3])[0].seen;
        assert!(!seen.holds);
        assert_eq!(seen.figure, "1 of 2; not a number");
    }

    #[test]
    fn nothing_is_claimed_of_no_rows() {
        assert!(!judge(&EVEN, &[])[0].seen.holds);
    }

    #[test]
    fn bounds_include_themselves() {
        assert!(Seen::at_most(2.0, 2.0, " s").holds && !Seen::at_most(2.1, 2.0, " s").holds);
        assert!(Seen::at_least(2.0, 2.0, " %").holds && !Seen::at_least(1.9, 2.0, " %").holds);
    }
}
