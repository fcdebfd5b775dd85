//! Places as locations of SARIF: URIs, regions, the text of lines.
//!
//! Compilers count columns in bytes, SARIF in UTF-16 code units: where the line is known, columns are converted.

use unravel_trace::Place;

use super::log::{ArtifactLocation, Content, Location, LogicalLocation, PhysicalLocation, Region};
use super::message;
use crate::escape::visible;
use crate::source::Sources;

/// Longer lines are no text for people.
const LONGEST_LINE: usize = 400;

/// Makes locations and remembers the files they are in.
pub struct Places<'s> {
    sources: &'s Sources,
    files: Vec<String>,
}

impl<'s> Places<'s> {
    pub fn new(sources: &'s Sources) -> Places<'s> {
        Places { sources, files: Vec::new() }
    }

    pub fn sources(&self) -> &'s Sources {
        self.sources
    }

    /// The URIs of the files that were named so far.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The text of a place's line as it is in the file.
    pub fn line(&self, place: &Place) -> Option<String> {
        self.sources.whole_line(place)
    }

    /// A location; without a file if there is no debug information.
    pub fn location(&mut self, place: Option<&Place>, text: Option<&str>) -> Location {
        let function = place.filter(|place| !place.function.is_empty());
        let logical_locations = function.map(|place| LogicalLocation {
            fully_qualified_name: visible(&place.function).into_owned(),
            kind: "function",
        });
        Location {
            id: None,
            physical_location: place.and_then(|place| self.physical(place)),
            logical_locations: logical_locations.into_iter().collect(),
            message: text.map(message),
        }
    }

    fn physical(&mut self, place: &Place) -> Option<PhysicalLocation> {
        if place.line == 0 || place.file.is_empty() {
            return None;
        }
        let uri = uri(&place.file);
        let index = self.files.iter().position(|file| *file == uri).unwrap_or_else(|| {
            self.files.push(uri.clone());
            self.files.len() - 1
        });
        let line = self.line(place).filter(|line| line.len() <= LONGEST_LINE);
        let (column, rest) = split(place.column, line.as_deref());
        let start_line = place.line;
        let snippet = |text: Option<&str>| {
            text.filter(|text| !text.is_empty()).map(|text| Content { text: text.to_owned() })
        };
        let inside = column.is_some_and(|column| column > 1);
        let context = line.as_deref().filter(|_| inside).map(|line| Region {
            start_line,
            start_column: None,
            snippet: snippet(Some(line)),
        });
        Some(PhysicalLocation {
            artifact_location: ArtifactLocation { uri, index: Some(index) },
            region: Region { start_line, start_column: column, snippet: snippet(rest) },
            context_region: context,
        })
    }
}

/// A column in bytes (0 if unknown) as one in UTF-16 code units, and the line's text from there.
fn split(column: u32, line: Option<&str>) -> (Option<u32>, Option<&str>) {
    match (column, line) {
        (0, line) => (None, line),
        (column, None) => (Some(column), None),
        (column, Some(line)) => {
            let mut at = (column as usize - 1).min(line.len());
            while !line.is_char_boundary(at) {
                at -= 1;
            }
            let (before, rest) = line.split_at(at);
            (Some(before.encode_utf16().count() as u32 + 1), Some(rest))
        }
    }
}

/// A path as a URI: a relative reference, or a `file` URI if it is absolute.
pub fn uri(path: &str) -> String {
    let absolute = path.starts_with('/');
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let encoded: Vec<String> = parts.map(encode).collect();
    let path = encoded.join("/");
    if absolute { format!("file:///{path}") } else { path }
}

/// Everything but what a URI has no other use for is written as `%` and its bytes.
fn encode(part: &str) -> String {
    part.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~+@=".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("src/bank.c"), "src/bank.c");
        assert_eq!(uri("./src//bank.c"), "src/bank.c");
        assert_eq!(uri("../a b/ü%#?.c"), "../a%20b/%C3%BC%25%23%3F.c");
        assert_eq!(uri("/home/me/c++/x.cc"), "file:///home/me/c++/x.cc");
        assert_eq!(uri("c:x.c"), "c%3Ax.c", "no scheme");
        assert_eq!(uri("a\\b\n.c"), "a%5Cb%0A.c");
    }

    #[test]
    fn columns_count_utf16_code_units() {
        assert_eq!(split(5, Some("ab = 1;")), (Some(5), Some(" 1;")));
        assert_eq!(split(3, Some("ü = 1;")), (Some(2), Some(" = 1;")));
        assert_eq!(split(5, Some("😀x")), (Some(3), Some("x")));
        assert_eq!(split(3, Some("😀x")), (Some(1), Some("😀x")), "inside a letter");
        assert_eq!(split(99, Some("ab")), (Some(3), Some("")));
        assert_eq!(split(0, Some("ab")), (None, Some("ab")));
        assert_eq!(split(7, None), (Some(7), None));
    }
}
