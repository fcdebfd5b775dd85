//! Operations on atomic objects, by how they are written: C11's functions, the builtins of GCC and clang, the methods of
//! `std::atomic`, and plain uses of what the file declares atomic.
//!
//! An object is known by its text without blanks, so two names of one object are two objects here. What a macro or a function of the
//! program hides is not seen. A plain use counts only if some declaration of the file says that the name (or the field) is atomic, or
//! some builtin of the file is used on it.

use std::ops::Range;

use tree_sitter::Node;

use super::update::{operation_of, unwrap};
use super::{Operation, Source, nodes_within, words};

/// How the program spells its atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// `atomic_load(&x)`.
    C11,
    /// `__atomic_load_n(&x, __ATOMIC_SEQ_CST)`, `__sync_fetch_and_add(&x, 1)`.
    Builtin,
    /// `x.load()`.
    Cpp,
}

/// What one operation does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    Load,
    Store { value: Range<usize> },
    Update { operation: Operation, operand: String },
}

/// One operation on an atomic object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtomicAccess {
    /// The object, as one would write it: `next`, `q->head`, `*p`.
    pub object: String,
    pub family: Family,
    pub act: Act,
    pub bytes: Range<usize>,
    /// The statement that does nothing else.
    pub statement: Option<Range<usize>>,
}

/// Calls, by the beginning of their names, and what they do.
const LOADS: [&str; 4] =
    ["atomic_load", "atomic_load_explicit", "__atomic_load_n", "__c11_atomic_load"];
const STORES: [&str; 4] =
    ["atomic_store", "atomic_store_explicit", "__atomic_store_n", "__c11_atomic_store"];

impl Source {
    /// The operations on atomic objects that start within a stretch, in the order of the text.
    pub fn atomic_accesses(&self, bytes: Range<usize>) -> Vec<AtomicAccess> {
        let mut found: Vec<AtomicAccess> = Vec::new();
        let known = self.atomic_names();
        nodes_within(self.tree.root_node(), &bytes, &|_| true, &mut |node| {
            let access = match node.kind() {
                "call_expression" => self.atomic_call(node),
                "assignment_expression" | "update_expression" => {
                    self.atomic_assignment(node, &known)
                }
                "identifier" | "field_expression" => self.atomic_use(node, &known),
                _ => None,
            };
            // What is an operand of an operation that is known is no operation of its own.
            let is_part = |known: &AtomicAccess| match &known.act {
                Act::Store { value } => {
                    known.bytes.contains(&node.start_byte()) && !value.contains(&node.start_byte())
                }
                _ => known.bytes.contains(&node.start_byte()),
            };
            if !found.iter().any(is_part) {
                found.extend(access);
            }
        });
        found
    }

    /// Whether a declaration of the file says that an object is atomic, by the last part of its name.
    pub fn is_atomic(&self, object: &str) -> bool {
        let name = last_word(object);
        let mut known = self.atomic_names().into_iter();
        known.any(|(other, family)| other == name && family != Family::Builtin)
    }

    fn atomic_call(&self, call: Node) -> Option<AtomicAccess> {
        let function = call.child_by_field_name("function")?;
        let list = call.child_by_field_name("arguments")?;
        let mut cursor = list.walk();
        let arguments: Vec<Node> =
            list.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        let (object, family, rest, name) = if function.kind() == "field_expression" {
            let object = function.child_by_field_name("argument")?;
            let is_pointer =
                function.child_by_field_name("operator").is_some_and(|op| op.kind() == "->");
            let object = self.plain_text(object);
            let object = if is_pointer { format!("*{object}") } else { object };
            let name = self.node_text(function.child_by_field_name("field")?);
            (object, Family::Cpp, arguments.as_slice(), name)
        } else {
            let name = self.node_text(function);
            let name = name.strip_prefix("std::").unwrap_or(name);
            let family = match name.starts_with("__") && !name.starts_with("__c11") {
                true => Family::Builtin,
                false => Family::C11,
            };
            if !name.contains("atomic_") && !name.starts_with("__sync_") {
                return None;
            }
            let (address, rest) = arguments.split_first()?;
            (self.pointee(*address), family, rest, name)
        };
        let is_method = family == Family::Cpp;
        let act = if LOADS.contains(&name) || is_method && name == "load" {
            Act::Load
        } else if STORES.contains(&name) || is_method && name == "store" {
            Act::Store { value: rest.first()?.byte_range() }
        } else {
            let operation = fetching(name)?;
            Act::Update { operation, operand: self.node_text(*rest.first()?).to_owned() }
        };
        Some(self.access(object, family, act, call))
    }

    /// `x = e`, `x += e`, `x++` of an object that is declared atomic.
    fn atomic_assignment(&self, node: Node, known: &Names) -> Option<AtomicAccess> {
        let field = if node.kind() == "update_expression" { "argument" } else { "left" };
        let target = unwrap(node.child_by_field_name(field)?);
        let family = self.family_of(target, known)?;
        let operator = self.node_text(node.child_by_field_name("operator")?);
        let act = match operator {
            "++" => Act::Update { operation: Operation::Add, operand: "1".to_owned() },
            "--" => Act::Update { operation: Operation::Subtract, operand: "1".to_owned() },
            "=" => Act::Store { value: node.child_by_field_name("right")?.byte_range() },
            compound => Act::Update {
                operation: operation_of(compound.strip_suffix('=')?)?,
                operand: self.node_text(node.child_by_field_name("right")?).to_owned(),
            },
        };
        Some(self.access(self.plain_text(target), family, act, node))
    }

    /// The value of an object that is declared atomic.
    fn atomic_use(&self, node: Node, known: &Names) -> Option<AtomicAccess> {
        let parent = node.parent()?;
        let is_value = match parent.kind() {
            // What an address is taken of, what is called, and what is declared is not read here.
            "pointer_expression" => parent.child(0).is_some_and(|token| token.kind() == "*"),
            "call_expression" => parent.child_by_field_name("function") != Some(node),
            "field_expression" | "init_declarator" => {
                parent.child_by_field_name("argument") != Some(node)
                    && parent.child_by_field_name("declarator") != Some(node)
            }
            "field_initializer" => false,
            kind => !kind.ends_with("declarator") && !kind.ends_with("declaration"),
        };
        let family = self.family_of(node, known).filter(|_| is_value)?;
        Some(self.access(self.plain_text(node), family, Act::Load, node))
    }

    fn access(&self, object: String, family: Family, act: Act, node: Node) -> AtomicAccess {
        let whole = node.parent().filter(|parent| parent.kind() == "expression_statement");
        let statement = whole.map(|statement| statement.byte_range());
        AtomicAccess { object, family, act, bytes: node.byte_range(), statement }
    }

    /// The family of an object, by the last part of its name.
    fn family_of(&self, target: Node, known: &Names) -> Option<Family> {
        let name = match target.kind() {
            "identifier" => self.node_text(target),
            "field_expression" => self.node_text(target.child_by_field_name("field")?),
            "subscript_expression" | "pointer_expression" => {
                return self.family_of(unwrap(target.child_by_field_name("argument")?), known);
            }
            _ => return None,
        };
        known.iter().find(|(other, _)| other == name).map(|(_, family)| *family)
    }

    /// The names that declarations of the file call atomic, or that its builtins are used on.
    fn atomic_names(&self) -> Names {
        let mut known: Names = Vec::new();
        nodes_within(self.tree.root_node(), &(0..self.text.len()), &|_| true, &mut |node| {
            if node.kind() == "call_expression" {
                let access = self.atomic_call(node);
                let access = access.filter(|access| access.family == Family::Builtin);
                let name = access.map(|access| last_word(&access.object).to_owned());
                known.extend(name.map(|name| (name, Family::Builtin)));
                return;
            }
            if let Some(family) = self.declared_family(node) {
                let names = self.declared_names(node).into_iter();
                known.extend(names.map(|(name, _)| (name.to_owned(), family)));
            }
        });
        known
    }

    /// The family of what a declaration declares, if that is atomic.
    fn declared_family(&self, declaration: Node) -> Option<Family> {
        let first = declaration
            .child_by_field_name("declarator")
            .filter(|_| is_declaration(declaration.kind()))?;
        let specifiers = &self.text[declaration.start_byte()..first.start_byte()];
        if specifiers.contains("atomic<") {
            return Some(Family::Cpp);
        }
        let is_atomic =
            words(specifiers).any(|(_, word)| word == "_Atomic" || word.starts_with("atomic_"));
        let is_cpp = self.language == super::Language::Cpp;
        is_atomic.then_some(if is_cpp { Family::Cpp } else { Family::C11 })
    }

    /// The names that a declaration declares, with what stands before each of them.
    pub(super) fn declared_names(&self, declaration: Node) -> Vec<(&str, &str)> {
        let mut names = Vec::new();
        for declarator in declaration.children_by_field_name("declarator", &mut declaration.walk())
        {
            let inner = declarator
                .child_by_field_name("declarator")
                .filter(|_| declarator.kind() == "init_declarator")
                .unwrap_or(declarator);
            let text = self.node_text(inner);
            names.extend(words(text).next().map(|(at, word)| (word, text[..at].trim())));
        }
        names
    }

    /// What stands before the name in the first declaration of it that the file has: `static _Atomic int`.
    pub fn specifiers_of(&self, name: &str) -> Option<String> {
        let mut found: Option<String> = None;
        nodes_within(self.tree.root_node(), &(0..self.text.len()), &|_| true, &mut |node| {
            if !is_declaration(node.kind()) || found.is_some() {
                return;
            }
            let Some(first) = node.child_by_field_name("declarator") else { return };
            let declared = self.declared_names(node);
            let own = declared.into_iter().find(|(declared, _)| *declared == name);
            let specifiers = self.text[node.start_byte()..first.start_byte()].trim();
            found = own.map(|(_, stars)| format!("{specifiers}{stars}"));
        });
        found
    }

    /// What a pointer leads to: `x` of `&x`, `*p` of `p`.
    fn pointee(&self, address: Node) -> String {
        let address = unwrap(address);
        let target = address.child_by_field_name("argument").filter(|_| {
            address.kind() == "pointer_expression"
                && address.child(0).is_some_and(|token| token.kind() == "&")
        });
        match target {
            Some(target) => self.plain_text(unwrap(target)),
            None => format!("*{}", self.plain_text(address)),
        }
    }

    /// An expression without blanks.
    fn plain_text(&self, node: Node) -> String {
        self.node_text(node).split_whitespace().collect()
    }
}

/// Names of atomic objects, and how the program spells operations on them.
type Names = Vec<(String, Family)>;

fn is_declaration(kind: &str) -> bool {
    matches!(kind, "declaration" | "field_declaration" | "parameter_declaration")
}

/// `seats` of `flight->seats[i]`, as far as brackets allow to say.
fn last_word(object: &str) -> &str {
    let object = object.split('[').next().unwrap_or(object);
    words(object).last().map_or("", |(_, word)| word)
}

/// `atomic_fetch_add`, `__sync_sub_and_fetch`, `fetch_or`: what it does.
fn fetching(name: &str) -> Option<Operation> {
    let is_fetch = name.contains("fetch");
    let of = words_of_name(name).find_map(|word| match word {
        "add" => Some(Operation::Add),
        "sub" => Some(Operation::Subtract),
        "or" => Some(Operation::Or),
        "and" if !name.starts_with("__sync_") || name.matches("and").count() > 1 => {
            Some(Operation::And)
        }
        "xor" => Some(Operation::Xor),
        _ => None,
    });
    of.filter(|_| is_fetch)
}

fn words_of_name(name: &str) -> impl Iterator<Item = &str> {
    name.split('_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn accesses(file: &str, text: &str) -> Vec<(String, Family, Act)> {
        let source = Source::parse(file, text.to_owned()).expect("the sample parses");
        let all = source.atomic_accesses(0..text.len()).into_iter();
        all.map(|access| (access.object, access.family, access.act)).collect()
    }

    #[test]
    fn functions_builtins_and_methods_are_known() {
        let text = "void f(void) { int v = atomic_load(&q->n); __sync_fetch_and_sub(p, v); }";
        let subtracts = Act::Update { operation: Operation::Subtract, operand: "v".to_owned() };
        assert_eq!(
            accesses("a.c", text),
            [
                ("q->n".to_owned(), Family::C11, Act::Load),
                ("*p".to_owned(), Family::Builtin, subtracts)
            ]
        );
        let text = "void f() { if (!job.claimed.load()) job.claimed.store(true); }";
        let found = accesses("a.cpp", text);
        assert_eq!(found[0], ("job.claimed".to_owned(), Family::Cpp, Act::Load));
        assert!(matches!(&found[1].2, Act::Store { value } if &text[value.clone()] == "true"));
    }

    #[test]
    fn plain_uses_count_if_a_declaration_says_so() {
        let text =
            "static _Atomic int n; static int m; void f(void) { n = n + 1; m = m + 1; n++; }";
        let found = accesses("a.c", text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(matches!(found[0].2, Act::Store { .. }) && found[1].2 == Act::Load);
        assert!(matches!(found[2].2, Act::Update { operation: Operation::Add, .. }));
        let text = "struct S { std::atomic<int> n{0}; }; void f(S &s) { if (s.n > 0) s.n--; }";
        let found = accesses("a.cpp", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], ("s.n".to_owned(), Family::Cpp, Act::Load));
    }

    #[test]
    fn what_is_passed_by_its_address_is_no_load() {
        let text = "static atomic_int n; void f(void) { atomic_fetch_add(&n, 1); g(&n); }";
        assert_eq!(accesses("a.c", text).len(), 1);
    }
}
