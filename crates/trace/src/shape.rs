//! How the bytes of a location are meant, so that a person sees `-1`, `NULL` or `true`.

use serde::{Deserialize, Serialize};

use crate::{Location, Value};

/// The kind of a scalar type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Shape {
    /// Nobody knows: a number, signed if it has the size of an `int`.
    #[default]
    Unknown,
    Signed,
    Unsigned,
    Boolean,
    Character,
    Pointer,
    Float,
}

impl Location {
    /// A value of this location, as the programmer would write it.
    pub fn show(&self, value: &Value) -> String {
        match value {
            Value::Word(word) => self.show_word(*word).unwrap_or_else(|| value.to_string()),
            Value::Bytes(_) => value.to_string(),
        }
    }

    fn show_word(&self, word: u64) -> Option<String> {
        match (self.shape, self.bytes) {
            (Shape::Signed, bytes) | (Shape::Unknown, bytes @ 4) => {
                Some(signed(word, bytes)?.to_string())
            }
            // Handles and the like read better in hexadecimal, as `Value` shows them.
            (Shape::Unsigned, _) => (word < 1 << 40).then(|| word.to_string()),
            (Shape::Boolean, _) => match word {
                0 => Some("false".to_owned()),
                1 => Some("true".to_owned()),
                _ => None,
            },
            (Shape::Character, 1) => {
                let number = signed(word, 1)?;
                match word as u8 {
                    c @ b' '..=b'~' => Some(format!("{number} '{}'", char::from(c))),
                    _ => Some(number.to_string()),
                }
            }
            (Shape::Character, _) => Some(word.to_string()),
            (Shape::Pointer, _) => match word {
                0 => Some("NULL".to_owned()),
                address => Some(format!("{address:#x}")),
            },
            (Shape::Float, 4) => Some(format!("{:?}", f32::from_bits(word as u32))),
            (Shape::Float, 8) => Some(format!("{:?}", f64::from_bits(word))),
            (Shape::Float | Shape::Unknown, _) => None,
        }
    }
}

fn signed(word: u64, bytes: u32) -> Option<i64> {
    match bytes {
        1 => Some(i64::from(word as u8 as i8)),
        2 => Some(i64::from(word as u16 as i16)),
        4 => Some(i64::from(word as u32 as i32)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;

    fn show(shape: Shape, bytes: u32, word: u64) -> String {
        let location =
            Location { object: ObjectId(0), offset: 0, bytes, name: String::new(), shape };
        location.show(&Value::Word(word))
    }

    #[test]
    fn values_look_as_the_programmer_writes_them() {
        assert_eq!(show(Shape::Signed, 4, 0xffff_ffff), "-1");
        assert_eq!(show(Shape::Unsigned, 4, 0xffff_ffff), "4294967295");
        assert_eq!(show(Shape::Unknown, 4, 0xffff_ffff), "-1");
        assert_eq!(show(Shape::Signed, 2, 0x8000), "-32768");
        assert_eq!(show(Shape::Boolean, 1, 1), "true");
        assert_eq!(show(Shape::Character, 1, u64::from(b'a')), "97 'a'");
        assert_eq!(show(Shape::Character, 1, 10), "10");
        assert_eq!(show(Shape::Pointer, 8, 0), "NULL");
        assert_eq!(show(Shape::Pointer, 8, 0x7f00_1000), "0x7f001000");
        assert_eq!(show(Shape::Float, 8, 1.5f64.to_bits()), "1.5");
        assert_eq!(show(Shape::Float, 4, u64::from(0.25f32.to_bits())), "0.25");
    }
}
