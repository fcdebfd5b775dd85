//! What is not a proof is refused: damaged certificates, and certificates of what is not so. The oracle is brute force
//! over all interleavings.

mod oracle;

use oracle::{Case, Truth, cases};
use unravel_certify::text;
use unravel_certify::{Claim, text::Damaged};
use unravel_solve::proof::{Line, Literal, Meaning, Reason};
use unravel_solve::{Query, SlotId, Source, SyncId, Wish};
use unravel_trace::Rng;

/// Whether a text is accepted, and nothing in it taken on trust.
fn is_certified(case: &Case, text: &str) -> Result<Vec<Claim>, Option<Damaged>> {
    match text::check(&case.model, text) {
        Ok((claims, checker)) if checker.unchecked().is_empty() => Ok(claims),
        Ok(_) => Err(None),
        Err(damaged) => Err(Some(damaged)),
    }
}

/// All ways to damage a line: without it, with a number changed, with its reason exchanged.
fn damaged(lines: &[&str], at: usize, rng: &mut Rng) -> Vec<Vec<String>> {
    let all: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut found = Vec::new();
    let mut without = all.clone();
    without.remove(at);
    found.push(without);
    let words: Vec<&str> = lines[at].split(' ').collect();
    let put = |word: usize, by: String| {
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words[word] = by;
        let mut changed = all.clone();
        changed[at] = words.join(" ");
        changed
    };
    for (index, word) in words.iter().enumerate() {
        if let Ok(number) = word.parse::<i64>() {
            found.push(put(index, (-number).to_string()));
            found.push(put(index, (number + 1).to_string()));
            found.push(put(index, rng.below(12).to_string()));
        } else if index == 1 && words[0] == "c" {
            let reasons = ["order", "count", "grant", "recorded", "reached", "initial"];
            found.push(put(index, (*rng.pick(&reasons)).to_owned()));
        }
    }
    let mut exchanged = all.clone();
    exchanged.swap(at, rng.below(lines.len() as u32) as usize);
    found.push(exchanged);
    found
}

#[test]
fn a_damaged_certificate_proves_nothing_that_is_not_so() {
    let (mut refused, mut accepted, mut truncated) = (0, 0, 0);
    for mut case in cases(60) {
        let mut rng = Rng::new(case.seed);
        for text in case.certificates() {
            let Ok(_) = is_certified(&case, &text) else { continue };
            let lines: Vec<&str> = text.lines().collect();
            for at in 0..lines.len() {
                for changed in damaged(&lines, at, &mut rng) {
                    let changed = changed.join("\n") + "\n";
                    if changed == text {
                        continue;
                    }
                    match is_certified(&case, &changed) {
                        Err(_) => refused += 1,
                        Ok(claims) => {
                            accepted += 1;
                            let truth = case.truth(&changed, &claims);
                            assert_ne!(truth, Truth::False, "seed {}: {changed}", case.seed);
                        }
                    }
                }
                // Cut off anywhere, it is refused, or has nothing to say.
                let cut = lines[..at].join("\n") + "\n";
                match is_certified(&case, &cut) {
                    Ok(claims) => assert!(at == 2 && claims.is_empty(), "{at}: {cut}"),
                    Err(_) => truncated += 1,
                }
            }
        }
    }
    println!("{refused} refused, {accepted} still proofs, {truncated} cut off");
    assert!(refused > 20_000 && accepted > 500 && truncated > 1_000, "{refused} {accepted}");
}

fn random_reason(rng: &mut Rng, case: &Case) -> Reason {
    let ops = case.model.steps().map(|step| case.model.program(step).len() as u32).sum();
    let check = (rng.below(2) == 0).then(|| rng.below(ops));
    match rng.below(10) {
        0 | 1 => Reason::Order,
        2 => Reason::Value { check },
        3 => Reason::Chain { check },
        4 => Reason::Sources(SlotId(rng.below(case.model.reads().len() as u32 + 1))),
        5 => Reason::Count,
        6 => Reason::Grant,
        7 => Reason::Reached,
        8 => Reason::Recorded,
        _ => Reason::Sync(SyncId(rng.below(case.model.syncs().len() as u32 + 1))),
    }
}

/// Variables for everything there is.
fn vocabulary(case: &Case) -> Vec<Line> {
    let model = &case.model;
    let mut meanings = Vec::new();
    for a in model.steps() {
        for b in model.steps().filter(|b| *b > a && !model.must_precede(a, *b)) {
            meanings.push(Meaning::Order(a, b));
        }
    }
    for slot in (0..model.reads().len() as u32).map(SlotId) {
        let writes = model.writes_of(model.read(slot).cell).iter();
        let sources = writes.map(|write| Source::Write(*write)).chain([Source::Initial]);
        meanings.extend(sources.map(|source| Meaning::Reads(slot, source)));
    }
    let number = |index: usize| index as u32 + 1;
    meanings.into_iter().enumerate().map(|(i, m)| Line::Means(number(i), m)).collect()
}

#[test]
fn no_clause_is_accepted_that_some_order_breaks() {
    let (mut accepted, mut refused) = (0, 0);
    for case in cases(400) {
        let mut rng = Rng::new(case.seed);
        let words = vocabulary(&case);
        if words.is_empty() {
            continue;
        }
        for wish in [Wish::Fails, Wish::Passes] {
            let query = Query::new(&case.model, wish);
            let orders = case.assignments(wish, &words);
            for _ in 0..150 {
                let literal = |rng: &mut Rng| {
                    let number = 1 + rng.below(words.len() as u32) as i32;
                    Literal(if rng.below(2) == 0 { number } else { -number })
                };
                let reason = random_reason(&mut rng, &case);
                let mut clause: Vec<Literal> =
                    (0..rng.below(5)).map(|_| literal(&mut rng)).collect();
                // Sources are named all at once, or nearly.
                if let Reason::Sources(slot) = reason {
                    let of = words.iter().filter_map(|line| match line {
                        Line::Means(number, Meaning::Reads(s, _)) if *s == slot => Some(*number),
                        _ => None,
                    });
                    let most = of.filter(|_| rng.below(5) > 0);
                    clause.extend(most.map(|number| Literal(number as i32)).collect::<Vec<_>>());
                }
                let mut lines = words.clone();
                lines.push(Line::Holds(reason, clause.clone()));
                let mut checker = unravel_certify::Checker::default();
                if checker.check(&query, &lines, None).is_err() {
                    refused += 1;
                    continue;
                }
                let says_nothing = clause.iter().any(|literal| clause.contains(&!*literal));
                accepted += u64::from(!says_nothing && !orders.is_empty());
                for (order, assignment) in &orders {
                    let holds = clause
                        .iter()
                        .any(|l| assignment[l.variable() as usize - 1] != l.is_negated());
                    assert!(
                        holds,
                        "seed {}, {wish:?}: {reason:?} {clause:?} is broken by {order:?}",
                        case.seed
                    );
                }
            }
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 3_000 && refused > 20_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn no_certificate_of_what_there_is() {
    let mut forged = 0;
    for case in cases(300) {
        let mut rng = Rng::new(case.seed + 7);
        for wish in [Wish::Fails, Wish::Passes] {
            let words = vocabulary(&case);
            let query = Query::new(&case.model, wish);
            if case.assignments(wish, &words).is_empty() || words.is_empty() {
                continue;
            }
            // All that is accepted of many random lines, then the lie.
            let mut lines = words.clone();
            for _ in 0..40 {
                let variable = |rng: &mut Rng| 1 + rng.below(words.len() as u32) as i32;
                let sign = |rng: &mut Rng, v: i32| Literal(if rng.below(2) == 0 { v } else { -v });
                let length = rng.below(4);
                let mut clause = Vec::new();
                for _ in 0..length {
                    let v = variable(&mut rng);
                    clause.push(sign(&mut rng, v));
                }
                let line = match rng.below(3) {
                    0 => Line::Follows(clause),
                    _ => Line::Holds(random_reason(&mut rng, &case), clause),
                };
                let mut more = lines.clone();
                more.push(line);
                if unravel_certify::Checker::default().check(&query, &more, None).is_ok() {
                    lines = more;
                }
            }
            for lie in [vec![Line::Follows(Vec::new())], Vec::new()] {
                let mut lines = lines.clone();
                lines.extend(lie);
                let mut checker = unravel_certify::Checker::default();
                let accepted = checker.check(&query, &lines, Some(&Claim::None)).is_ok();
                let trusted = !checker.unchecked().is_empty();
                assert!(!accepted || trusted, "seed {}, {wish:?}: {lines:?}", case.seed);
                forged += 1;
            }
        }
    }
    assert!(forged > 500, "{forged}");
}

#[test]
fn what_is_refused_is_said() {
    let case = cases(1).next().expect("a trace");
    let refused = |text: &str| match text::check(&case.model, text) {
        Err(damaged) => damaged.to_string(),
        Ok(_) => panic!("it is accepted: {text}"),
    };
    let header = text::header(&Query::new(&case.model, Wish::Passes));
    assert_eq!(refused("nonsense"), "line 1: this is no certificate, or of another version");
    assert!(
        refused("unravel certificate 1\nmodel 0 steps 1 wish passes\n").contains("another model")
    );
    let said = refused(&format!("{header}? keep assume\nl\n= none\n"));
    assert_eq!(said, "line 4: it does not follow from what is above");
    let said = refused(&format!("{header}? keep assume\nc order 1\n= none\n"));
    assert_eq!(said, "line 4: variable 1 means nothing yet");
    let said = refused(&format!("{header}? keep assume\n= none\n"));
    assert_eq!(said, "line 4: the proof ends without a clause");
}
