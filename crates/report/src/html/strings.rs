//! Texts by number: long schedules say the same few things again and again.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use crate::escape::visible;

/// Every text once, in the order in which they came.
#[derive(Debug, Default)]
pub struct Strings {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Strings {
    /// The number of a text, which is made visible.
    pub fn number(&mut self, text: &str) -> u32 {
        let text = visible(text);
        if let Some(number) = self.numbers.get(&*text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.clone().into_owned());
        self.numbers.insert(text.into_owned(), number);
        number
    }

    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

impl Serialize for Strings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts.serialize(serializer)
    }
}
