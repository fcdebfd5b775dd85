//! The diagnosis in numbers, as a table.

use unravel_results::Diagnosis;

use super::line::Tone;
use super::page::Page;
use crate::numbers;

/// Columns of the names before the numbers.
const NAMES: usize = 18;

pub fn write(page: &mut Page, diagnosis: &Diagnosis) {
    page.section("In numbers");
    for (name, text) in numbers::rows(diagnosis) {
        page.prose(&format!("  {name:NAMES$}"), &text, Tone::Plain);
    }
}
