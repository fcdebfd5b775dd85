//! C and C++ sources as a programmer edits them.
//!
//! A [`Source`] is a parsed file that answers questions about statements: which run of them holds these positions, how it
//! is left, what is called and locked in it. A [`Patch`] collects edits of one source and lays them out as the code around
//! them is laid out. Nothing here knows of threads: what is to be edited, and why, is the caller's business.
//!
//! The parser is tree-sitter, which sees the text before the preprocessor. So what a macro hides is not modelled: a `return`
//! inside `CHECK(x)` is not seen as a way out, and a macro that opens a block reads as a syntax error. Both branches of
//! an `#if` are seen as code. Inside a syntax error nothing is edited; errors elsewhere in the file are tolerated. Every
//! edited file must be compiled before it is shown: this module errs on the side of a text that does not compile, not
//! of one that means something else, save for exits hidden in macros.

mod announcing;
mod atomics;
mod blocks;
mod calls;
mod diff;
mod effects;
mod exits;
mod giving_up;
mod layout;
mod looked_after;
mod meetings;
mod outline;
mod patch;
mod publication;
mod region;
mod sequence;
mod two_steps;
mod update;
mod variants;

pub use atomics::{Act, AtomicAccess, Family};
pub use blocks::GoverningIf;
pub use calls::{Call, ScopedLock};
pub use diff::{Change, line_change, unified_diff};
pub use exits::{Exit, ExitKind};
pub use giving_up::GivenUp;
pub use looked_after::LookedAfter;
pub use meetings::Meeting;
pub use outline::Function;
pub use patch::{Guard, Patch, PatchError};
pub use publication::Publication;
pub use region::{DeclaredName, Region};
pub use two_steps::{Test, TestKind, TwoSteps, Way};
pub use update::{Operation, Update};

use std::ops::Range;

use exits::is_jump;
use layout::Layout;
use outline::Outline;
use tree_sitter::{Node, Parser, Tree};

/// The language of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cpp,
}

/// A place in a source as compilers name it: both count from 1, columns count bytes.
///
/// Column 0 says that only the line is known, and stands for the first thing on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// Why a source cannot be edited at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("the parser does not load its grammar")]
    Grammar(#[from] tree_sitter::LanguageError),
    #[error(
        "`{path}` is neither C nor C++: no part of it could be parsed; give the source file the program was built from"
    )]
    Unparsed { path: String },
}

/// A parsed file.
pub struct Source {
    text: String,
    language: Language,
    tree: Tree,
    outline: Outline,
    layout: Layout,
    /// Where each line starts.
    lines: Vec<usize>,
}

impl Source {
    /// Parses a text; the extension of its path decides the language. A header is C unless it parses better as C++.
    pub fn parse(path: &str, text: String) -> Result<Source, SourceError> {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let (language, tree) = match extension {
            "c" | "i" => (Language::C, tree_of(Language::C, path, &text)?),
            "h" | "inc" => {
                let as_c = tree_of(Language::C, path, &text)?;
                if as_c.root_node().has_error() {
                    let as_cpp = tree_of(Language::Cpp, path, &text)?;
                    if count_errors(as_cpp.root_node()) < count_errors(as_c.root_node()) {
                        (Language::Cpp, as_cpp)
                    } else {
                        (Language::C, as_c)
                    }
                } else {
                    (Language::C, as_c)
                }
            }
            _ => (Language::Cpp, tree_of(Language::Cpp, path, &text)?),
        };
        if tree.root_node().is_error() {
            return Err(SourceError::Unparsed { path: path.to_owned() });
        }
        let outline = Outline::of(tree.root_node(), &text);
        let layout = Layout::of(&text, &outline);
        let lines =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Ok(Source { text, language, tree, outline, layout, lines })
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The language it was parsed as.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Whether all of it could be parsed; macros often keep a sound file from it.
    pub fn parses(&self) -> bool {
        !self.tree.root_node().has_error()
    }

    /// The innermost function, method or lambda whose body contains the position.
    pub fn function_at(&self, at: Position) -> Option<&Function> {
        let function = self.outline.function_around(self.byte_at(at)?)?;
        Some(&self.outline.functions[function])
    }

    /// The place of a byte.
    pub fn position_of(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|&start| start <= byte);
        Position { line: number(line), column: number(byte - self.lines[line - 1] + 1) }
    }

    /// The byte at a place, `None` past the end of the file. A column past the end of its line is the line's end.
    ///
    /// Of a line without column it is the first thing on it that can be a statement: in `int get(void) { return x; }`
    /// the return, in `case 3: x++;` the update.
    pub fn byte_at(&self, at: Position) -> Option<usize> {
        let start = *self.lines.get((at.line as usize).checked_sub(1)?)?;
        let end = self.line_end(start);
        if at.column > 0 {
            return Some((start + at.column as usize - 1).min(end));
        }
        let first = start + self.indent_at(start).len();
        Some(self.outline.first_statement(first..end).unwrap_or(first))
    }

    /// A name that is used nowhere in the file: the wish itself, or the wish with a number.
    pub fn fresh_name(&self, wish: &str) -> String {
        fresh_in(&self.text, wish)
    }

    fn node_text(&self, node: Node) -> &str {
        &self.text[node.byte_range()]
    }
}

/// A name that is not a word of the text.
fn fresh_in(text: &str, wish: &str) -> String {
    let taken = |name: &str| words(text).any(|(_, word)| word == name);
    if !taken(wish) {
        return wish.to_owned();
    }
    (2u32..)
        .map(|n| format!("{wish}_{n}"))
        .find(|name| !taken(name))
        .unwrap_or_else(|| wish.to_owned())
}

/// The words of a text, with where they start.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let outside = |c: char| !(c.is_alphanumeric() || c == '_');
    text.split(outside)
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

fn tree_of(language: Language, path: &str, text: &str) -> Result<Tree, SourceError> {
    let grammar = match language {
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Cpp => tree_sitter_cpp::LANGUAGE,
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar.into())?;
    let mut parsed = |text: &str| parser.parse(text, None);
    let tree = parsed(text).ok_or_else(|| SourceError::Unparsed { path: path.to_owned() })?;
    if !tree.root_node().has_error() {
        return Ok(tree);
    }
    let variant = variants::one_variant(text).and_then(|variant| parsed(&variant));
    let errors = count_errors(tree.root_node());
    Ok(variant.filter(|variant| count_errors(variant.root_node()) < errors).unwrap_or(tree))
}

fn count_errors(node: Node) -> usize {
    if !node.has_error() {
        return 0;
    }
    let own = usize::from(node.is_error() || node.is_missing());
    own + node.children(&mut node.walk()).map(count_errors).sum::<usize>()
}

/// The nodes that start within a stretch, outermost first. `enter` says whether to look inside a node.
fn nodes_within<'t>(
    root: Node<'t>,
    bytes: &Range<usize>,
    enter: &dyn Fn(Node<'t>) -> bool,
    visit: &mut dyn FnMut(Node<'t>),
) {
    for child in root.children(&mut root.walk()) {
        if child.end_byte() < bytes.start || child.start_byte() >= bytes.end {
            continue;
        }
        let inside = bytes.contains(&child.start_byte());
        if inside {
            visit(child);
        }
        if !inside || enter(child) {
            nodes_within(child, bytes, enter, visit);
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
