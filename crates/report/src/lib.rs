//! Room `report`: a `Diagnosis`, an `Explanation`, all `Causes`, `Repairs` or a `Hunt` for people and for programs: a
//! terminal, a page, Graphviz, JSON, SARIF, annotations of GitHub.
//!
//! Nothing here executes, solves or decides. A report says what other rooms found, in their words; what it adds is
//! selection (which events a person should see), layout, and the text of source lines. Everything that comes from the
//! program under test (names, messages, source lines) is data: what a terminal or Graphviz would obey is escaped.
//!
//! `side.rs` selects what a person should see, `cause_graph.rs` makes a cause a small graph; `summary.rs`, `words.rs`, `names.rs`, `evidence.rs`,
//! `numbers.rs`, `differences.rs`, `searched.rs`, `causes.rs`, `repairs.rs` and `hunts.rs` are the words that all reports share.
//! `terminal/`, `html/` (Rust makes the text and the data, `html/page/` is the script and the style), `json/` (typed documents, schemas in
//! `docs/schema`), `sarif/`, `annotations.rs` and `dot.rs` are the reports; `stepper/` is `replay --step` without its terminal.

pub mod annotations;
mod cause_graph;
mod causes;
pub mod deviations;
mod differences;
pub mod dot;
mod escape;
mod evidence;
mod file_names;
pub mod html;
pub mod hunts;
pub mod inputs;
pub mod json;
mod library;
mod names;
pub mod notes;
mod numbers;
mod races;
mod repairs;
pub mod sarif;
pub mod searched;
mod side;
mod site;
mod source;
pub mod stepper;
mod summary;
pub mod terminal;
pub mod words;

pub use file_names::FileNames;
pub use source::Sources;
