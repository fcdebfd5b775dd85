//! Certificates as text: writer and reader.
//!
//! ```text
//! unravel certificate 1
//! model 3f2a… steps 31 wish passes
//! ? near 0 1 2 … keep 3<7 4<9 free … block 1<2 … assume 5<6    a question; what follows is its part of the proof
//! v 1 order 3 7             variable 1: step 3 before step 7
//! v 2 reads 4 w7            slot 4 reads from write 7 (`init`: from memory before the run)
//! v 3 gate all 1 -2 any 2   all of the first or any of the second; without `all` only the second
//! v 4 count 2 1 2 3         at least 2 of the rest
//! c order -1 2              a clause, for this reason
//! l -1                      a clause that follows by unit propagation
//! stage 1 0 0 / wish 2 flow 9 / charge 1 core 2 under 1
//! = none                    what is claimed: none, core 0 3, bound 1
//! ```

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use unravel_solve::proof::{Charged, Line, Literal, Meaning, Reason};
use unravel_solve::{Before, Model, Query, SlotId, Source, StepId, SyncId, Wish};

use crate::{Checker, Claim, digest};

const VERSION: &str = "unravel certificate 1";

/// Adds the parts of one session to its file.
#[derive(Debug)]
pub(crate) struct Writer {
    pub path: PathBuf,
    text: String,
}

impl Writer {
    pub fn new(path: PathBuf, query: &Query<'_>) -> Writer {
        Writer { path, text: header(query) }
    }

    pub fn write(
        &mut self,
        query: &Query<'_>,
        lines: &[Line],
        claim: Option<&Claim>,
    ) -> io::Result<()> {
        use std::io::Write;
        self.text.push_str(&part(query, lines, claim));
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(std::mem::take(&mut self.text).as_bytes())
    }
}

/// The first lines of a certificate.
pub fn header(query: &Query<'_>) -> String {
    let wish = if query.wish == Wish::Fails { "fails" } else { "passes" };
    let (model, steps) = (digest(query.model), query.model.len());
    format!("{VERSION}\nmodel {model:016x} steps {steps} wish {wish}\n")
}

/// The part of one question.
pub fn part(query: &Query<'_>, lines: &[Line], claim: Option<&Claim>) -> String {
    let mut text = question(query);
    lines.iter().for_each(|l| text.push_str(&format!("{}\n", line(l))));
    text.push_str(&match claim {
        None => "= nothing\n".to_owned(),
        Some(Claim::None) => "= none\n".to_owned(),
        Some(Claim::Core(members)) => format!("= core{}\n", all(members)),
        Some(Claim::Bound(bounds)) => format!("= bound{}\n", all(bounds)),
    });
    text
}

fn all<T: std::fmt::Display>(of: impl IntoIterator<Item = T>) -> String {
    of.into_iter().fold(String::new(), |mut text, one| {
        let _ = write!(text, " {one}");
        text
    })
}

fn numbers(of: &[Literal]) -> String {
    all(of.iter().map(|literal| literal.0))
}

fn question(query: &Query<'_>) -> String {
    let pairs = |of: &[Before]| all(of.iter().map(|b| format!("{}<{}", b.first.0, b.second.0)));
    let steps = |of: &[StepId]| all(of.iter().map(|step| step.0));
    let mut text = "?".to_owned();
    if let Some(near) = query.near {
        text += &format!(" near{}", steps(near));
    }
    if let Some(free) = &query.free {
        text += &format!(" free{}", steps(free));
    }
    text += &format!(" keep{}", pairs(&query.keep));
    for set in &query.blocked {
        text += &format!(" block{}", pairs(set));
    }
    text + &format!(" assume{}\n", pairs(&query.assume))
}

fn line(line: &Line) -> String {
    match line {
        Line::Means(variable, meaning) => format!("v {variable} {}", self::meaning(meaning)),
        Line::Holds(reason, clause) => format!("c {}{}", self::reason(*reason), numbers(clause)),
        Line::Follows(clause) => format!("l{}", numbers(clause)),
        Line::Stage(weights) => format!("stage{}", all(weights)),
        Line::Wish(wish, charged) => format!("wish {} {}", wish.0, self::charged(*charged)),
        Line::Charge { weight, core, under } => {
            format!("charge {weight} core{} under{}", numbers(core), numbers(under))
        }
    }
}

fn meaning(meaning: &Meaning) -> String {
    match meaning {
        Meaning::Order(a, b) => format!("order {} {}", a.0, b.0),
        Meaning::Reads(slot, Source::Initial) => format!("reads {} init", slot.0),
        Meaning::Reads(slot, Source::Write(write)) => format!("reads {} w{write}", slot.0),
        Meaning::Whole { first, last } => format!("whole {} {}", first.0, last.0),
        Meaning::Joined(a, b) => format!("joined {} {}", a.0, b.0),
        Meaning::Wakes { wait, waker } => format!("wakes {wait} {waker}"),
        Meaning::Granted(step) => format!("granted {}", step.0),
        Meaning::AfterGrant(step) => format!("aftergrant {}", step.0),
        Meaning::Gate { all: None, any } => format!("gate any{}", numbers(any)),
        Meaning::Gate { all: Some(of), any } => {
            format!("gate all{} any{}", numbers(of), numbers(any))
        }
        Meaning::Count { least, of } => format!("count {least}{}", numbers(of)),
    }
}

fn reason(reason: Reason) -> String {
    let place = |check: Option<u32>| check.map_or("bug".to_owned(), |place| place.to_string());
    match reason {
        Reason::Order => "order".to_owned(),
        Reason::Value { check } => format!("value {}", place(check)),
        Reason::Chain { check } => format!("chain {}", place(check)),
        Reason::Sources(slot) => format!("sources {}", slot.0),
        Reason::Count => "count".to_owned(),
        Reason::Sync(sync) => format!("sync {}", sync.0),
        Reason::Deadlock => "deadlock".to_owned(),
        Reason::Grant => "grant".to_owned(),
        Reason::Reached => "reached".to_owned(),
        Reason::Recorded => "recorded".to_owned(),
        Reason::Initial => "initial".to_owned(),
    }
}

fn charged(charged: Charged) -> String {
    match charged {
        Charged::Flow { event } => format!("flow {event}"),
        Charged::Edge { writer: None, event } => format!("edge init {event}"),
        Charged::Edge { writer: Some(writer), event } => format!("edge {writer} {event}"),
        Charged::Segment { first, last } => format!("segment {} {}", first.0, last.0),
        Charged::Switch(a, b) => format!("switch {} {}", a.0, b.0),
    }
}

/// A certificate is refused: which line of the text, counted from 1, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Damaged {
    pub line: usize,
    pub why: String,
}

/// Checks the text of a certificate against a model: every question in it. The claims that it proves, or the first
/// line that is refused.
pub fn check(model: &Model, text: &str) -> Result<(Vec<Claim>, Checker), Damaged> {
    let refuse = |line: usize, why: &str| Err(Damaged { line: line + 1, why: why.to_owned() });
    let lines: Vec<&str> = text.lines().collect();
    if lines.first() != Some(&VERSION) {
        return refuse(0, "this is no certificate, or of another version");
    }
    let mut wish = None;
    for of in [Wish::Fails, Wish::Passes] {
        let expected = header(&Query::new(model, of));
        if lines.get(1) == expected.lines().nth(1).as_ref() {
            wish = Some(of);
        }
    }
    let Some(wish) = wish else { return refuse(1, "it is about another model") };
    let (mut checker, mut claims) = (Checker::default(), Vec::new());
    let mut next = 2;
    while next < lines.len() {
        let first = next;
        let Some((asked, near)) = words(lines[first], |w| read_question(w, model)) else {
            return refuse(first, "this is no question");
        };
        let mut places = near.clone().unwrap_or_default();
        places.sort();
        if near.is_some() && !places.iter().copied().eq(model.steps()) {
            return refuse(first, "the schedule to be near to has not every step once");
        }
        let query = Query { wish, near: near.as_deref(), ..asked };
        let (mut part, mut claim) = (Vec::new(), None);
        for text in &lines[first + 1..] {
            next += 1;
            if text.starts_with('=') {
                claim = words(text, read_claim);
                if claim.is_none() {
                    return refuse(next, "this is no claim");
                }
                break;
            }
            match words(text, read_line) {
                Some(line) => part.push(line),
                None => return refuse(next, "this cannot be read"),
            }
        }
        let Some(claim) = claim else { return refuse(lines.len(), "it ends without a claim") };
        checker.check(&query, &part, claim.as_ref()).map_err(|(line, why)| Damaged {
            line: line.map_or(next + 1, |line| first + line + 2),
            why: why.to_string(),
        })?;
        claims.extend(claim);
        next += 1;
    }
    Ok((claims, checker))
}

/// All words of a line, of which none may be left.
fn words<'t, T>(line: &'t str, read: impl FnOnce(&mut Words<'t>) -> Option<T>) -> Option<T> {
    let mut words = Words(line.split(' ').peekable());
    let value = read(&mut words)?;
    words.0.next().is_none().then_some(value)
}

struct Words<'t>(std::iter::Peekable<std::str::Split<'t, char>>);

impl<'t> Words<'t> {
    fn one<T: FromStr>(&mut self) -> Option<T> {
        self.0.next()?.parse().ok()
    }

    fn is(&mut self, word: &str) -> Option<()> {
        (self.0.next()? == word).then_some(())
    }

    /// All that can be read so.
    fn many<T>(&mut self, read: impl Fn(&'t str) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        while let Some(one) = self.0.peek().and_then(|word| read(word)) {
            found.push(one);
            self.0.next();
        }
        found
    }

    fn literals(&mut self) -> Vec<Literal> {
        let literal =
            |word: &str| word.parse().ok().filter(|n| *n != 0 && *n != i32::MIN).map(Literal);
        self.many(literal)
    }
}

type Question<'m> = (Query<'m>, Option<Vec<StepId>>);

fn read_question<'m>(words: &mut Words<'_>, model: &'m Model) -> Option<Question<'m>> {
    let step = |word: &str| {
        let step = StepId(word.parse().ok()?);
        (step.index() < model.len()).then_some(step)
    };
    let pair = |word: &str| {
        let (first, second) = word.split_once('<')?;
        Some(Before { first: step(first)?, second: step(second)? })
    };
    words.is("?")?;
    let mut query = Query::new(model, Wish::Passes);
    let mut near = None;
    while let Some(word) = words.0.next() {
        match word {
            "near" => near = Some(words.many(step)),
            "free" => query.free = Some(words.many(step)),
            "keep" => query.keep = words.many(pair),
            "block" => query.blocked.push(words.many(pair)),
            "assume" => query.assume = words.many(pair),
            _ => return None,
        }
    }
    Some((query, near))
}

fn read_claim(words: &mut Words<'_>) -> Option<Option<Claim>> {
    words.is("=")?;
    Some(match words.0.next()? {
        "nothing" => None,
        "none" => Some(Claim::None),
        "core" => Some(Claim::Core(words.many(|word| word.parse().ok()))),
        "bound" => Some(Claim::Bound(words.many(|word| word.parse().ok()))),
        _ => return None,
    })
}

fn read_line(words: &mut Words<'_>) -> Option<Line> {
    Some(match words.0.next()? {
        "v" => Line::Means(words.one()?, read_meaning(words)?),
        "c" => {
            let reason = read_reason(words)?;
            Line::Holds(reason, words.literals())
        }
        "l" => Line::Follows(words.literals()),
        "stage" => Line::Stage([words.one()?, words.one()?, words.one()?]),
        "wish" => Line::Wish(Literal(words.one()?), read_charged(words)?),
        "charge" => {
            let weight = words.one()?;
            words.is("core")?;
            let core = words.literals();
            words.is("under")?;
            Line::Charge { weight, core, under: words.literals() }
        }
        _ => return None,
    })
}

fn read_meaning(words: &mut Words<'_>) -> Option<Meaning> {
    let kind = words.0.next()?;
    let mut step = || words.one().map(StepId);
    Some(match kind {
        "order" => Meaning::Order(step()?, step()?),
        "whole" => Meaning::Whole { first: step()?, last: step()? },
        "joined" => Meaning::Joined(step()?, step()?),
        "granted" => Meaning::Granted(step()?),
        "aftergrant" => Meaning::AfterGrant(step()?),
        "wakes" => Meaning::Wakes { wait: words.one()?, waker: words.one()? },
        "reads" => {
            let slot = SlotId(words.one()?);
            let source = match words.0.next()? {
                "init" => Source::Initial,
                write => Source::Write(write.strip_prefix('w')?.parse().ok()?),
            };
            Meaning::Reads(slot, source)
        }
        "gate" => {
            let all = match words.0.next()? {
                "all" => {
                    let all = words.literals();
                    words.is("any")?;
                    Some(all)
                }
                "any" => None,
                _ => return None,
            };
            Meaning::Gate { all, any: words.literals() }
        }
        "count" => Meaning::Count { least: words.one()?, of: words.literals() },
        _ => return None,
    })
}

fn read_reason(words: &mut Words<'_>) -> Option<Reason> {
    let kind = words.0.next()?;
    let mut place = || match words.0.next()? {
        "bug" => Some(None),
        place => place.parse().ok().map(Some),
    };
    Some(match kind {
        "order" => Reason::Order,
        "value" => Reason::Value { check: place()? },
        "chain" => Reason::Chain { check: place()? },
        "sources" => Reason::Sources(SlotId(words.one()?)),
        "count" => Reason::Count,
        "sync" => Reason::Sync(SyncId(words.one()?)),
        "deadlock" => Reason::Deadlock,
        "grant" => Reason::Grant,
        "reached" => Reason::Reached,
        "recorded" => Reason::Recorded,
        "initial" => Reason::Initial,
        _ => return None,
    })
}

fn read_charged(words: &mut Words<'_>) -> Option<Charged> {
    Some(match words.0.next()? {
        "flow" => Charged::Flow { event: words.one()? },
        "edge" => {
            let writer = match words.0.next()? {
                "init" => None,
                writer => Some(writer.parse().ok()?),
            };
            Charged::Edge { writer, event: words.one()? }
        }
        "segment" => Charged::Segment { first: StepId(words.one()?), last: StepId(words.one()?) },
        "switch" => Charged::Switch(StepId(words.one()?), StepId(words.one()?)),
        _ => return None,
    })
}
