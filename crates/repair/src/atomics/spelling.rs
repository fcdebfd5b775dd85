//! The words for one atomic operation: C11's functions, the compiler's builtins, methods of `std::atomic`. All are sequentially
//! consistent.

use crate::source::{Family, Language, Operation, Source};

/// How operations on one object are written.
pub(super) struct Spelling<'s> {
    pub(super) source: &'s Source,
    pub(super) family: Family,
    pub(super) object: &'s str,
}

impl Spelling<'_> {
    /// `&q->n`, or `p` for `*p`.
    fn address(&self) -> String {
        match self.object.strip_prefix('*') {
            Some(pointer) => pointer.to_owned(),
            None => format!("&{}", self.object),
        }
    }

    /// `q->n.` or `p->`.
    fn owner(&self) -> String {
        match self.object.strip_prefix('*') {
            Some(pointer) => format!("{pointer}->"),
            None => format!("{}.", self.object),
        }
    }

    pub(super) fn load(&self) -> String {
        match self.family {
            Family::C11 => format!("atomic_load({})", self.address()),
            Family::Builtin => format!("__atomic_load_n({}, __ATOMIC_SEQ_CST)", self.address()),
            Family::Cpp => format!("{}load()", self.owner()),
        }
    }

    pub(super) fn fetch(&self, operation: Operation, operand: &str) -> String {
        let name = match operation {
            Operation::Add => "add",
            Operation::Subtract => "sub",
            Operation::Or => "or",
            Operation::And => "and",
            Operation::Xor => "xor",
        };
        match self.family {
            Family::C11 => format!("atomic_fetch_{name}({}, {operand})", self.address()),
            Family::Builtin => {
                format!("__atomic_fetch_{name}({}, {operand}, __ATOMIC_SEQ_CST)", self.address())
            }
            Family::Cpp => format!("{}fetch_{name}({operand})", self.owner()),
        }
    }

    pub(super) fn exchange(&self, value: &str) -> String {
        match self.family {
            Family::C11 => format!("atomic_exchange({}, {value})", self.address()),
            Family::Builtin => {
                format!("__atomic_exchange_n({}, {value}, __ATOMIC_SEQ_CST)", self.address())
            }
            Family::Cpp => format!("{}exchange({value})", self.owner()),
        }
    }

    /// Replaces the object's value if it is the expected one, else says which one it is.
    pub(super) fn compare_exchange(&self, expected: &str, value: &str, retries: bool) -> String {
        let strength = if retries { "weak" } else { "strong" };
        match self.family {
            Family::C11 => {
                let address = self.address();
                format!("atomic_compare_exchange_{strength}({address}, &{expected}, {value})")
            }
            Family::Builtin => format!(
                "__atomic_compare_exchange_n({}, &{expected}, {value}, {}, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)",
                self.address(),
                i32::from(retries)
            ),
            Family::Cpp => {
                format!("{}compare_exchange_{strength}({expected}, {value})", self.owner())
            }
        }
    }

    /// The type of its value, as a declaration needs it.
    pub(super) fn value_type(&self) -> String {
        let specifiers = self.source.specifiers_of(last_word(self.object));
        let known = specifiers.as_deref().and_then(value_type);
        known.unwrap_or_else(|| match self.source.language() {
            Language::Cpp => "auto".to_owned(),
            Language::C => format!("__typeof__({})", self.load()),
        })
    }

    pub(super) fn is_boolean(&self) -> bool {
        matches!(self.value_type().as_str(), "bool" | "_Bool")
    }
}

/// `int ` and `char *`: what a name can follow.
pub(super) fn spaced(of_type: &str) -> String {
    if of_type.ends_with('*') { of_type.to_owned() } else { format!("{of_type} ") }
}

fn last_word(object: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let object = object.split('[').next().unwrap_or(object);
    object.rsplit(|c| !is_word(c)).find(|word| !word.is_empty()).unwrap_or("")
}

/// The type of the value of what is declared so: `int` of `static _Atomic int`, `atomic_int` and `std::atomic<int>`.
fn value_type(specifiers: &str) -> Option<String> {
    if let Some(at) = specifiers.find("atomic<") {
        let inner = &specifiers[at + "atomic<".len()..];
        let inner = inner[..inner.rfind('>')?].trim();
        return (!inner.contains(['<', '>'])).then(|| inner.to_owned());
    }
    let text = specifiers.replace("_Atomic(", "_Atomic ").replace(')', " ");
    let dropped =
        ["static", "extern", "volatile", "_Atomic", "register", "const", "inline", "mutable"];
    let kept: Vec<&str> = text.split_whitespace().filter(|word| !dropped.contains(word)).collect();
    let kept = kept.join(" ");
    let plain = kept.strip_prefix("std::").unwrap_or(&kept);
    let value = match plain {
        "" => return None,
        "atomic_bool" => "bool",
        "atomic_int" => "int",
        "atomic_uint" => "unsigned",
        "atomic_long" => "long",
        "atomic_ulong" => "unsigned long",
        "atomic_llong" => "long long",
        "atomic_ullong" => "unsigned long long",
        "atomic_char" => "char",
        other if other.starts_with("atomic_") && other.ends_with("_t") => {
            other.trim_start_matches("atomic_")
        }
        other if other.starts_with("atomic_") => return None,
        other => other,
    };
    Some(value.to_owned())
}
