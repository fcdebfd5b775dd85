//! Other orders of locks, for the threads of a deadlock.
//!
//! For each thread of the cycle, the lock that it holds and the one that it waits for, where both are taken by statements of
//! one block; or where the second is taken by a function that is called there. Which change helps is not decided
//! here: half of these only turn the cycle round.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, Pattern};

use super::{MOST_CAUSES, Proposal};
use crate::lock_order::{Acquisition, CallFor, LockOrder, Taken};
use crate::measures::Measure;
use crate::source::{Language, Position, Region, Source};
use crate::spots::{Files, Stretch, parting, position, spots};

/// A thread's two locks: the statements of one block that take them.
struct Nesting<'s> {
    file: String,
    source: &'s Source,
    first: Acquisition,
    /// The statement that takes the second, itself or by what it calls.
    second: Region,
    /// Where exactly.
    at: usize,
}

/// Where an event of a cause is.
#[derive(Clone, Copy)]
struct At {
    position: Position,
    /// Whether it takes a lock. A cause may instead name what is done under the lock.
    takes: bool,
}

/// The changes of lock order that may help against a class.
pub(super) fn lock_orders(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    if class.pattern != Pattern::Deadlock {
        return Vec::new();
    }
    let mut orders: Vec<LockOrder> = Vec::new();
    for cause in class.causes.iter().take(MOST_CAUSES) {
        let mut seen: Vec<(String, Region)> = Vec::new();
        for thread in spots(cause, analysis) {
            for pair in thread.windows(2) {
                let Some((held, wanted)) = parting(&pair[0], &pair[1]) else { continue };
                let file = held.file.to_string();
                files.open(&file);
                let at = [(&pair[0], held), (&pair[1], wanted)].map(|(spot, place)| At {
                    position: position(place),
                    takes: spot.verb.takes_lock(),
                });
                let Some(nesting) = files.get(&file).and_then(|source| nesting(file, source, at))
                else {
                    continue;
                };
                let place = (nesting.file.clone(), nesting.second.clone());
                let by_others = seen.contains(&place);
                seen.push(place);
                for order in nesting.orders(by_others) {
                    if !orders.contains(&order) {
                        orders.push(order);
                    }
                }
            }
        }
    }
    let candidate = |order: LockOrder| {
        let cost = order.cost();
        Proposal { measure: Measure::LockOrder(Box::new(order)), covers: vec![index], cost }
    };
    orders.into_iter().map(candidate).collect()
}

fn nesting(file: String, source: &Source, [held, wanted]: [At; 2]) -> Option<Nesting<'_>> {
    let at = source.byte_at(wanted.position)?;
    let taking = |at: At| {
        let region = source.region(&[at.position])?;
        if at.takes { Some(region) } else { around(&file, source, &region) }
    };
    let (held, wanted) = (taking(held)?, taking(wanted)?);
    let (first, second) = source.siblings(&held, &wanted)?;
    if first != held || second.bytes.start < first.bytes.start {
        return None;
    }
    let first = Acquisition::of(&file, &first, source)?;
    let at = if second.bytes.contains(&at) { at } else { second.bytes.start };
    Some(Nesting { file, source, first, second, at })
}

/// The last statement before a region that takes a lock which is still held there, as far as the text goes.
fn around(file: &str, source: &Source, region: &Region) -> Option<Region> {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let mut released: Vec<String> = Vec::new();
    for statement in source.preceding(region) {
        let taken = Acquisition::of(file, &statement, source).filter(is_lock);
        let release = taken.map(|taken| taken.release().map(|release| plain(&release)));
        match release {
            Some(Some(release)) if released.contains(&release) => {}
            Some(_) => return Some(statement),
            None => released.push(plain(&source.text()[statement.bytes.clone()])),
        }
    }
    None
}

/// Whether a statement is an acquisition, and not any call that leads to one.
fn is_lock(one: &Acquisition) -> bool {
    match &one.taken {
        Taken::Function { release, .. } => release.is_some(),
        Taken::Method { .. } | Taken::Scoped { .. } => true,
    }
}

impl Nesting<'_> {
    /// What can be done here. `by_others`: other threads of the cycle do the same here.
    fn orders(&self, by_others: bool) -> Vec<LockOrder> {
        let mut orders = Vec::new();
        let second = Acquisition::of(&self.file, &self.second, self.source);
        // A function whose name has no counterpart is taken for one that leads to the lock.
        if let Some(second) = second.filter(is_lock) {
            self.nested(&second, by_others, &mut orders);
        } else {
            orders.extend(self.called());
        }
        orders
    }

    fn nested(&self, second: &Acquisition, by_others: bool, orders: &mut Vec<LockOrder>) {
        let (first, source) = (&self.first, self.source);
        let region = &first.stretch.region;
        let between = source.between(region, &self.second);
        let may_go_up = between.as_ref().is_none_or(|between| {
            source.may_pass(&self.second.bytes, &between.bytes)
                && (source.exits(between).is_empty() || second.release().is_some())
        });
        if may_go_up {
            let pair = || (first.clone(), second.clone());
            let (one, other) = pair();
            orders.push(LockOrder::SecondFirst { first: one, second: other });
            if source.language() == Language::Cpp && self.are_alike(second) {
                let (one, other) = pair();
                orders.push(LockOrder::Together { first: one, second: other });
            }
            let is_scoped = matches!(first.taken, Taken::Scoped { .. });
            if by_others && !is_scoped && self.are_alike(second) && first.lock != second.lock {
                let (one, other) = pair();
                orders.push(LockOrder::ByAddress { first: one, second: other });
            }
        }
        orders.extend(self.released(second, between.as_ref()));
    }

    /// Whether both locks are taken in the same way, so that the statements can be exchanged.
    fn are_alike(&self, second: &Acquisition) -> bool {
        let body = || self.source.whole_body(self.source.position_of(self.second.bytes.start));
        let unused = |name: &str| {
            let uses = |body: Region| {
                let text = &self.source.text()[body.bytes];
                text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .filter(|word| *word == name)
                    .count()
            };
            body().map_or(0, uses) == 1
        };
        match (&self.first.taken, &second.taken) {
            (Taken::Function { name: a, .. }, Taken::Function { name: b, .. }) => a == b,
            (Taken::Method { .. }, Taken::Method { .. }) => true,
            (Taken::Scoped { template: a, name: x }, Taken::Scoped { template: b, name: y }) => {
                a == b
                    && matches!(a.as_str(), "lock_guard" | "scoped_lock")
                    && unused(x)
                    && unused(y)
            }
            _ => false,
        }
    }

    /// Giving the first back before the second is taken: only where the statements under both have nothing to do with
    /// those under the first alone, nor with what owns that lock.
    fn released(&self, second: &Acquisition, between: Option<&Region>) -> Option<LockOrder> {
        let source = self.source;
        let statement = self.first.release()?;
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        let wanted = plain(&statement);
        let release = source
            .following(&self.second)
            .into_iter()
            .find(|region| plain(&source.text()[region.bytes.clone()]) == wanted)?;
        let under_first = between?;
        let under_both = source.between(&self.second, &release)?;
        let is_apart = source.may_pass(&under_first.bytes, &under_both.bytes)
            && !source.mentions(&under_both.bytes, self.first.owner())
            && source.exits(&under_both).is_empty();
        let release = Stretch { file: self.file.clone(), region: release };
        is_apart.then(|| LockOrder::Released {
            first: self.first.clone(),
            release,
            second: second.clone(),
        })
    }

    /// Taking a call out of the section of the first lock.
    fn called(&self) -> Option<LockOrder> {
        let source = self.source;
        let first = &self.first.stretch.region;
        let may_pass = |bytes: &std::ops::Range<usize>| {
            source.between(first, &self.second).is_none_or(|b| source.may_pass(bytes, &b.bytes))
        };
        let mut calls = source.calls(self.second.bytes.clone());
        calls.retain(|call| call.bytes.contains(&self.at));
        // The innermost call around the place is the one that leads to the lock.
        let call = calls.into_iter().min_by_key(|call| call.bytes.len())?;
        let is_plain = source.is_plain(&self.second);
        if is_plain && source.exits(&self.second).is_empty() && may_pass(&self.second.bytes) {
            let statement = Stretch { file: self.file.clone(), region: self.second.clone() };
            return Some(LockOrder::CalledBefore { first: self.first.clone(), statement });
        }
        let is_once = is_plain || source.is_in_condition(&self.second, call.bytes.start);
        (is_once && may_pass(&call.bytes)).then(|| LockOrder::ValueBefore {
            first: self.first.clone(),
            call: CallFor { bytes: call.bytes, function: call.name },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::write;

    /// The texts that come of all changes for a thread that holds a lock and wants another, in the order of the list.
    fn changed(name: &str, text: &str, held: &str, wanted: &str, by_others: bool) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join(name), text).expect("the sample is written");
        let mut files = Files::under(directory.path());
        assert!(files.open(name), "the sample parses");
        let source = files.get(name).expect("it was opened");
        let at = |part: &str| source.position_of(text.find(part).expect("a part of the sample"));
        let at = |part: &str| At { position: at(part), takes: !part.contains("++") };
        let nesting = nesting(name.to_owned(), source, [at(held), at(wanted)]);
        let orders = nesting.map_or_else(Vec::new, |nesting| nesting.orders(by_others));
        let texts = orders.into_iter().map(|order| {
            let written =
                write(&[Measure::LockOrder(Box::new(order))], &files).expect("it can be written");
            written.files[0].text.clone()
        });
        texts.collect()
    }

    #[test]
    fn the_second_goes_before_the_first_and_the_ways_out_give_it_back() {
        let text = "void f(void)\n{\n\tlock(&a);\n\tif (!x) {\n\t\tunlock(&a);\n\t\treturn;\n\t}\n\tlock(&b);\n\tx--;\n\tunlock(&b);\n\tunlock(&a);\n}\n";
        let after = "void f(void)\n{\n\tlock(&b);\n\tlock(&a);\n\tif (!x) {\n\t\tunlock(&a);\n\t\tunlock(&b);\n\t\treturn;\n\t}\n\tx--;\n\tunlock(&b);\n\tunlock(&a);\n}\n";
        assert_eq!(changed("a.c", text, "lock(&a)", "lock(&b)", false), [after]);
    }

    #[test]
    fn what_is_done_under_locks_leads_to_them() {
        let text = "void f(void)\n{\n\tlock(&z);\n\tunlock(&z);\n\tlock(&a);\n\tx++;\n\tlock(&b);\n\tif (x)\n\t\ty++;\n\tunlock(&b);\n\tunlock(&a);\n}\n";
        let after = "void f(void)\n{\n\tlock(&z);\n\tunlock(&z);\n\tlock(&b);\n\tlock(&a);\n\tx++;\n\tif (x)\n\t\ty++;\n\tunlock(&b);\n\tunlock(&a);\n}\n";
        assert_eq!(changed("a.c", text, "x++", "y++", false), [after]);
    }

    #[test]
    fn a_lock_that_is_found_out_under_the_first_stays_there() {
        let text = "void f(struct n *n)\n{\n\tlock(&n->m);\n\tstruct n *next = n->next;\n\tlock(&next->m);\n\tunlock(&next->m);\n\tunlock(&n->m);\n}\n";
        assert_eq!(changed("a.c", text, "lock(&n->m)", "lock(&next->m)", true), [""; 0]);
    }

    #[test]
    fn the_first_is_given_back_where_nothing_below_needs_it() {
        let text = "void f(void)\n{\n\tlock(&t.m);\n\tt.n = 0;\n\tlock(&l.m);\n\tl.n++;\n\tunlock(&l.m);\n\tunlock(&t.m);\n}\n";
        let after = "void f(void)\n{\n\tlock(&t.m);\n\tt.n = 0;\n\tunlock(&t.m);\n\tlock(&l.m);\n\tl.n++;\n\tunlock(&l.m);\n}\n";
        assert_eq!(changed("a.c", text, "lock(&t.m)", "lock(&l.m)", false)[1..], [after]);
        let needed = text.replace("l.n++", "l.n += t.n");
        assert_eq!(changed("a.c", &needed, "lock(&t.m)", "lock(&l.m)", false).len(), 1);
    }

    #[test]
    fn methods_are_called_together() {
        let text = "void f(A &a, A *b)\n{\n\ta.m.lock();\n\tb->m.lock();\n\tb->m.unlock();\n\ta.m.unlock();\n}\n";
        let together = "void f(A &a, A *b)\n{\n\tstd::lock(a.m, b->m);\n\tb->m.unlock();\n\ta.m.unlock();\n}\n";
        let sorted = "void f(A &a, A *b)\n{\n\tif (&a.m < &b->m) {\n\t\ta.m.lock();\n\t\tb->m.lock();\n\t} else {\n\t\tb->m.lock();\n\t\ta.m.lock();\n\t}\n\tb->m.unlock();\n\ta.m.unlock();\n}\n";
        assert_eq!(changed("a.cpp", text, "a.m.lock", "b->m.lock", true)[1..], [together, sorted]);
    }

    #[test]
    fn a_call_leaves_the_section() {
        let text = "static int g(int);\nvoid f(int x)\n{\n\tlock(&a);\n\tif (g(x) > 0)\n\t\tn++;\n\tunlock(&a);\n}\n";
        let after = "static int g(int);\nvoid f(int x)\n{\n\t__typeof__(g(x)) g_value = g(x);\n\tlock(&a);\n\tif (g_value > 0)\n\t\tn++;\n\tunlock(&a);\n}\n";
        assert_eq!(changed("a.c", text, "lock(&a)", "g(x)", false), [after]);
        // In the condition of a loop it is called again and again.
        let text = text.replace("if (g", "while (g");
        assert_eq!(changed("a.c", &text, "lock(&a)", "g(x)", false), [""; 0]);
    }
}
