//! Names of places inside objects: `accounts[3].balance` from a type and an offset.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use unravel_trace::Shape;

/// Numbers of one object that are looked at.
const MOST_NUMBERS: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TypeId(pub u32);

/// The types of the program as its debug information describes them, resolved through typedefs and
/// qualifiers.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct TypeTable {
    pub types: Vec<Type>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Type {
    /// A number, an enum, `void`, or something not described further.
    Base {
        name: String,
        bytes: u64,
    },
    Pointer {
        to: Option<TypeId>,
    },
    Struct {
        name: String,
        bytes: u64,
        fields: Vec<Field>,
    },
    Union {
        name: String,
        bytes: u64,
        fields: Vec<Field>,
    },
    Array {
        element: TypeId,
        count: u64,
        bytes: u64,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub offset: u64,
    pub ty: TypeId,
}

impl TypeTable {
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    pub fn bytes(&self, id: TypeId) -> u64 {
        match self.get(id) {
            Type::Base { bytes, .. }
            | Type::Struct { bytes, .. }
            | Type::Union { bytes, .. }
            | Type::Array { bytes, .. } => *bytes,
            Type::Pointer { .. } => 8,
        }
    }

    /// The suffix that selects byte `offset` of an object of type `id`: `[3].balance`, or nothing for
    /// the object itself. `size` stops the descent at a member of about that size, so that locking a
    /// mutex names the mutex, not its first field.
    pub fn member(&self, id: TypeId, offset: u64, size: u64) -> String {
        self.select(id, offset, size).0
    }

    /// The same, and no further than to a member of that size: what a class of one member wraps has no other name for who uses it.
    pub fn member_object(&self, id: TypeId, offset: u64, size: u64) -> String {
        self.select_until(id, offset, |ty, bytes, offset| {
            bytes < size || bytes == size && offset == 0 || self.is_plain(ty)
        })
        .0
    }

    fn is_plain(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Base { .. } | Type::Pointer { .. })
    }

    /// The name of a structure, class or union that a programmer would say; what the library calls its own nodes is none.
    pub fn class(&self, id: TypeId) -> Option<&str> {
        match self.get(id) {
            Type::Struct { name, .. } | Type::Union { name, .. } => {
                let is_library = name.starts_with("std::") || name.starts_with("__");
                (!name.is_empty() && !is_library).then_some(name)
            }
            _ => None,
        }
    }

    /// Where numbers are in an object of this type, and of how many bytes. What may be something else, in a union, or points
    /// somewhere is left out; of a long array the beginning is looked at.
    pub fn numbers(&self, id: TypeId) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        self.add_numbers(id, 0, &mut found);
        found
    }

    fn add_numbers(&self, id: TypeId, at: u64, found: &mut Vec<(u64, u64)>) {
        if found.len() >= MOST_NUMBERS {
            return;
        }
        match self.get(id) {
            Type::Base { bytes, .. } => found.push((at, *bytes)),
            Type::Pointer { .. } | Type::Union { .. } => {}
            Type::Struct { fields, .. } => {
                fields
                    .iter()
                    .for_each(|field| self.add_numbers(field.ty, at + field.offset, found));
            }
            Type::Array { element, count, .. } => {
                let step = self.bytes(*element);
                for index in 0..(*count).min(MOST_NUMBERS as u64) {
                    self.add_numbers(*element, at + index * step, found);
                }
            }
        }
    }

    /// How a value of `size` bytes at byte `offset` of an object of type `id` is meant.
    pub fn shape_at(&self, id: TypeId, offset: u64, size: u64) -> Shape {
        self.shape(self.select(id, offset, size).1)
    }

    /// How a value of this type is meant. Of a class that is nothing but a number (`std::atomic`), as the number.
    pub fn shape(&self, id: TypeId) -> Shape {
        match self.get(id) {
            Type::Base { name, .. } => base_shape(name),
            Type::Pointer { .. } => Shape::Pointer,
            Type::Struct { fields, .. } => match fields.as_slice() {
                [only] => self.shape(only.ty),
                _ => Shape::Unknown,
            },
            Type::Union { .. } | Type::Array { .. } => Shape::Unknown,
        }
    }

    /// Whether this is a structure with one member, which has a name that a programmer would say; what the library calls its own
    /// (`_M_i`) is none.
    fn wraps(&self, id: TypeId) -> bool {
        let Type::Struct { fields, .. } = self.get(id) else { return false };
        matches!(fields.as_slice(), [only] if !only.name.is_empty() && !only.name.starts_with('_'))
    }

    fn select(&self, id: TypeId, offset: u64, size: u64) -> (String, TypeId) {
        self.select_until(id, offset, |id, bytes, _| {
            bytes < size || bytes == size && !self.wraps(id)
        })
    }

    /// Descends to byte `offset` until this is enough: the type, its size, and what is left of the offset.
    fn select_until(
        &self,
        id: TypeId,
        offset: u64,
        is_enough: impl Fn(TypeId, u64, u64) -> bool,
    ) -> (String, TypeId) {
        let mut path = String::new();
        let (mut id, mut offset) = (id, offset);
        loop {
            if is_enough(id, self.bytes(id), offset) {
                break;
            }
            match self.get(id) {
                Type::Array { element, count, .. } => {
                    let step = self.bytes(*element).max(1);
                    let index = offset / step;
                    if index >= *count {
                        break;
                    }
                    let _ = write!(path, "[{index}]");
                    (id, offset) = (*element, offset % step);
                }
                Type::Struct { fields, .. } | Type::Union { fields, .. } => {
                    let Some(field) = fields.iter().find(|f| {
                        f.offset <= offset && offset < f.offset + self.bytes(f.ty).max(1)
                    }) else {
                        break;
                    };
                    if !field.name.is_empty() {
                        let _ = write!(path, ".{}", field.name);
                    }
                    (id, offset) = (field.ty, offset - field.offset);
                }
                Type::Base { .. } | Type::Pointer { .. } => break,
            }
        }
        if offset != 0 {
            let _ = write!(path, "+{offset}");
        }
        (path, id)
    }
}

/// Appends members to what names an object or a pointer to it.
pub fn join(text: &str, pointer: bool, suffix: &str) -> String {
    if !pointer {
        return format!("{text}{suffix}");
    }
    match suffix.strip_prefix('.') {
        Some(member) if text == "this" => member.to_owned(),
        Some(member) => format!("{}->{member}", enclosed(text)),
        None if suffix.is_empty() && text.starts_with('*') => format!("*{text}"),
        None if suffix.is_empty() => format!("*{}", enclosed(text)),
        None => format!("(*{text}){suffix}"),
    }
}

/// Puts parentheses around a computed expression.
pub fn enclosed(text: &str) -> String {
    // In a qualified name angle brackets are those of templates, not shifts.
    let qualified = text.contains("::");
    let mut depth = 0;
    let mut previous = ' ';
    let computed = text.char_indices().any(|(i, c)| {
        let arrow = c == '-' && text[i + 1..].starts_with('>') || c == '>' && previous == '-';
        previous = c;
        match c {
            _ if arrow => return false,
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            '<' if qualified => depth += 1,
            '>' if qualified => depth -= 1,
            _ => {}
        }
        depth == 0 && "+-*/%&|^<>".contains(c) && !(qualified && c == '>')
    });
    if computed { format!("({text})") } else { text.to_owned() }
}

/// By the name that compilers give the types of the language.
fn base_shape(name: &str) -> Shape {
    match name {
        "_Bool" | "bool" => Shape::Boolean,
        "char" | "signed char" | "unsigned char" | "char8_t" => Shape::Character,
        "float" | "double" => Shape::Float,
        _ if name.starts_with("unsigned") || name.starts_with("char") => Shape::Unsigned,
        "short" | "int" | "long" | "long long" => Shape::Signed,
        _ => Shape::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{enclosed, join};

    #[test]
    fn parentheses_only_where_needed() {
        for simple in ["p", "a->b", "a->b[i+1].c", "ns::Box<int *>::last->next", "(*p)[3]"] {
            assert_eq!(enclosed(simple), simple);
        }
        for computed in ["i+1", "a-b", "*p", "i<<2", "x->n*2"] {
            assert_eq!(enclosed(computed), format!("({computed})"));
        }
    }

    #[test]
    fn members_are_written_as_in_c() {
        assert_eq!(join("bank", false, ".accounts[2].id"), "bank.accounts[2].id");
        assert_eq!(join("p", true, ".next"), "p->next");
        assert_eq!(join("*p", true, ".next"), "(*p)->next");
        assert_eq!(join("p", true, ""), "*p");
        assert_eq!(join("*p", true, ""), "**p");
        assert_eq!(join("p", true, "[3]"), "(*p)[3]");
        assert_eq!(join("this", true, ".count"), "count");
    }
}
