//! What a change leaves, by what the change itself tells was there: `if (fetch_sub(x, 1) == 1)` instead of a change and a look.

use super::spelling::Spelling;
use crate::rewrite::{Deed, Edit};
use crate::source::{Act, Family, LookedAfter, Operation, Source};

/// The edits that look at the outcome of a change; `None` if it is no change by a number.
pub fn by_outcome(file: &str, source: &Source, found: &LookedAfter) -> Option<Vec<Edit>> {
    let LookedAfter { act, load, compared } = found;
    let Act::Update { operation, operand } = &act.act else { return None };
    let family = super::family(load, act);
    let fetch = Spelling { source, family, object: &load.object }.fetch(*operation, operand);
    let text = &source.text()[compared.clone()];
    let (start, end) = (load.bytes.start - compared.start, load.bytes.end - compared.start);
    let condition: String =
        [&text[..start], "@", &text[end..]].concat().split_whitespace().collect();
    let new = match compared_with(&condition).and_then(|(operator, number)| {
        let number = before(number, *operation, operand)?;
        Some(format!("{fetch} {operator} {number}"))
    }) {
        Some(new) => new,
        None => {
            let sign = match operation {
                Operation::Add => '+',
                Operation::Subtract => '-',
                Operation::Or => '|',
                Operation::And => '&',
                Operation::Xor => '^',
            };
            [&text[..start], &format!("({fetch} {sign} {operand})"), &text[end..]].concat()
        }
    };
    let mut edits = vec![
        Edit::replace(file, compared.clone(), &new),
        Edit::remove(file, act.statement.clone()?),
    ];
    if family == Family::C11 {
        let deed = Deed::Include { header: "<stdatomic.h>".to_owned() };
        edits.push(Edit { file: file.to_owned(), deed });
    }
    Some(edits)
}

/// What `@` is compared with, and how.
fn compared_with(condition: &str) -> Option<(&str, i64)> {
    let number = |text: &str| text.parse::<i64>().ok();
    match condition {
        "!@" => Some(("==", 0)),
        _ => ["==", "!="].into_iter().find_map(|operator| {
            let (one, other) = condition.split_once(operator)?;
            let value = if one == "@" { other } else { one };
            let is_it = one == "@" || other == "@";
            Some((operator, number(value).filter(|_| is_it)?))
        }),
    }
}

/// What was there before a change that left this.
fn before(left: i64, operation: Operation, operand: &str) -> Option<i64> {
    let operand = operand.trim().parse::<i64>().ok()?;
    match operation {
        Operation::Add => left.checked_sub(operand),
        Operation::Subtract => left.checked_add(operand),
        Operation::Or | Operation::And | Operation::Xor => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Patch;

    #[track_caller]
    fn repaired(file: &str, text: &str) -> String {
        let source = Source::parse(file, text.to_owned()).expect("the sample parses");
        let mut patch = Patch::new(&source);
        for found in source.looked_after(0..text.len()) {
            for edit in by_outcome(file, &source, &found).expect("there is a way to write it") {
                match edit.deed {
                    Deed::Replace { bytes, text } => patch.replace(bytes, &text),
                    Deed::Remove { statement } => patch.remove_statement(statement),
                    _ => {}
                }
            }
        }
        patch.apply().expect("edits that fit together")
    }

    #[test]
    fn the_last_learns_it_in_one_step() {
        let text = "void f(struct s *o)\n{\n\tatomic_fetch_sub(&o->refs, 1);\n\tif (atomic_load(&o->refs) == 0)\n\t\tfree(o);\n}\n";
        let now = repaired("a.c", text);
        assert_eq!(
            now,
            "void f(struct s *o)\n{\n\tif (atomic_fetch_sub(&o->refs, 1) == 1)\n\t\tfree(o);\n}\n"
        );
        let text = "std::atomic<int> refs;\nbool f()\n{\n\t--refs;\n\treturn !refs;\n}\n";
        let now = repaired("a.cpp", text);
        assert!(now.contains("{\n\treturn refs.fetch_sub(1) == 1;\n}"), "{now}");
        let text = "std::atomic<int> n;\nvoid f()\n{\n\tn += k;\n\tif (n.load() > 8) {\n\t\tg();\n\t}\n}\n";
        let now = repaired("a.cpp", text);
        assert!(now.contains("\tif ((n.fetch_add(k) + k) > 8) {"), "{now}");
    }

    #[test]
    fn what_looks_twice_or_elsewhere_is_left_alone() {
        for text in [
            "atomic_int n;\nvoid f(void)\n{\n\tn--;\n\tif (n == 0 || n == 2)\n\t\tg();\n}\n",
            "atomic_int n, m;\nvoid f(void)\n{\n\tn--;\n\tif (m == 0)\n\t\tg();\n}\n",
            "atomic_int n;\nvoid f(void)\n{\n\tn--;\n\tg();\n\tif (n == 0)\n\t\tg();\n}\n",
        ] {
            assert_eq!(repaired("a.c", text), text);
        }
    }
}
