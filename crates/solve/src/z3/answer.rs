//! Reading what Z3 prints: models, cores and numbers.

/// A value that a model gives to a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Bool(bool),
    Number(i64),
    Bits(u128),
}

/// An s-expression.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Term {
    Atom(String),
    List(Vec<Term>),
}

/// The constants of a model, either as `(define-fun x () Int 5)` or as lines `x -> 5`, which is how the library
/// prints models by default.
pub(crate) fn model(text: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut terms = parse(text).into_iter().peekable();
    let mut last: Option<String> = None;
    while let Some(term) = terms.next() {
        match term {
            Term::Atom(arrow) if arrow == "->" => {
                if let (Some(name), Some(value)) = (last.take(), terms.next())
                    && let Some(value) = read_value(&value)
                {
                    found.push((name, value));
                }
            }
            Term::Atom(name) => last = Some(name),
            Term::List(definitions) => {
                found.extend(definitions.iter().filter_map(definition));
                found.extend(definition(&Term::List(definitions)));
            }
        }
    }
    found
}

fn definition(term: &Term) -> Option<(String, Value)> {
    let Term::List(parts) = term else { return None };
    match parts.as_slice() {
        [Term::Atom(word), Term::Atom(name), Term::List(parameters), _, value]
            if word == "define-fun" && parameters.is_empty() =>
        {
            Some((name.clone(), read_value(value)?))
        }
        _ => None,
    }
}

/// The names in a core: `(ast-vector a1 a2)`, `(a1 a2)`.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for term in parse(text) {
        match term {
            Term::Atom(name) => found.push(name),
            Term::List(parts) => found.extend(parts.into_iter().filter_map(|part| match part {
                Term::Atom(name) => Some(name),
                Term::List(_) => None,
            })),
        }
    }
    found.retain(|name| name != "ast-vector");
    found
}

/// A number, also as `5.0`, `(- 5)` or `(to_real 5)`; `None` for infinities.
pub(crate) fn number(text: &str) -> Option<i64> {
    match read_value(parse(text).first()?)? {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

fn read_value(term: &Term) -> Option<Value> {
    match term {
        Term::Atom(word) => {
            if let Some(digits) = word.strip_prefix("#x") {
                return u128::from_str_radix(digits, 16).ok().map(Value::Bits);
            }
            if let Some(digits) = word.strip_prefix("#b") {
                return u128::from_str_radix(digits, 2).ok().map(Value::Bits);
            }
            match word.as_str() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                _ => word.strip_suffix(".0").unwrap_or(word).parse().ok().map(Value::Number),
            }
        }
        Term::List(parts) => match parts.as_slice() {
            [Term::Atom(minus), of] if minus == "-" => match read_value(of)? {
                Value::Number(number) => Some(Value::Number(-number)),
                _ => None,
            },
            [Term::Atom(word), of] if word == "to_real" || word == "to_int" => read_value(of),
            [Term::Atom(underscore), Term::Atom(word), _] if underscore == "_" => {
                word.strip_prefix("bv")?.parse().ok().map(Value::Bits)
            }
            _ => None,
        },
    }
}

/// All terms of a text, as far as it can be read.
fn parse(text: &str) -> Vec<Term> {
    let mut open: Vec<Vec<Term>> = vec![Vec::new()];
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        match next {
            '(' => open.push(Vec::new()),
            ')' => {
                if open.len() > 1
                    && let Some(done) = open.pop()
                    && let Some(outer) = open.last_mut()
                {
                    outer.push(Term::List(done));
                }
            }
            ';' => {
                rest = rest.split_once('\n').map_or("", |(_, after)| after);
                continue;
            }
            c if c.is_whitespace() => {}
            c => {
                let end = match c {
                    '|' | '"' => rest[1..].find(c).map_or(rest.len(), |at| at + 2),
                    _ => rest
                        .find(|c: char| c.is_whitespace() || "();".contains(c))
                        .unwrap_or(rest.len()),
                };
                if let Some(list) = open.last_mut() {
                    list.push(Term::Atom(rest[..end].to_owned()));
                }
                rest = &rest[end..];
                continue;
            }
        }
        rest = &rest[next.len_utf8()..];
    }
    open.swap_remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_both_kinds() {
        let arrows = "o1 -> (- 5)\nv2 -> #x0a\np -> true\nf -> {\n  else -> 3\n}\n";
        let read = model(arrows);
        assert!(read.contains(&("o1".to_owned(), Value::Number(-5))));
        assert!(read.contains(&("v2".to_owned(), Value::Bits(10))));
        assert!(read.contains(&("p".to_owned(), Value::Bool(true))));
        let functions = "(model (define-fun o1 () Int 7) (define-fun v () (_ BitVec 3) #b101))";
        let read = model(functions);
        assert_eq!(read[0], ("o1".to_owned(), Value::Number(7)));
        assert_eq!(read[1], ("v".to_owned(), Value::Bits(5)));
    }

    #[test]
    fn cores_and_numbers() {
        assert_eq!(names("(ast-vector\n  a1\n  a22)"), ["a1", "a22"]);
        assert_eq!(names("()"), Vec::<String>::new());
        assert_eq!(number("4"), Some(4));
        assert_eq!(number("4.0"), Some(4));
        assert_eq!(number("(- 4.0)"), Some(-4));
        assert_eq!(number("(to_real 4)"), Some(4));
        assert_eq!(number("oo"), None);
        assert_eq!(number("(* 2 oo)"), None);
    }

    #[test]
    fn unbalanced_text_does_no_harm() {
        for text in ["", ")", "((", "|", "; end", "(a | b", "\"", "é(", "->"] {
            model(text);
            names(text);
        }
    }
}
