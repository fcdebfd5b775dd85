//! Room `report`: a `Diagnosis`, an `Explanation`, all `Causes`, `Repairs` or a `Hunt` for people and for programs: a
//! terminal, a page, Graphviz, JSON, SARIF, annotations of GitHub.
//!
//! Nothing here executes, solves or decides. A report says what other rooms found, in their words; what it adds is
//! selection (which events a person should see), layout, and the text of source lines. Everything that comes from the
//! program under test (names, messages, source lines) is data: what a terminal or Graphviz would obey is escaped.

pub mod annotations;
mod cause_graph;
mod causes;
mod differences;
pub mod dot;
mod escape;
mod evidence;
pub mod html;
pub mod hunts;
pub mod json;
mod names;
pub mod notes;
mod numbers;
mod repairs;
pub mod sarif;
pub mod searched;
mod side;
mod site;
mod source;
pub mod stepper;
pub mod terminal;
pub mod words;

pub use source::Sources;
