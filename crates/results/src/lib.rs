//! Room `results`: what the rooms say of a program. They make it, `report` prints it; nobody computes anything from it
//! again. Knows nothing of files.
//!
//! `explored.rs` is how far a search came; `diagnosis.rs` (with `race.rs`), `explanation.rs`, `causes.rs`, `repairs.rs` and `hunt.rs` are
//! what the rooms of these names found, `inputs.rs` the inputs that they name; `database.rs` is a trace database in numbers;
//! `command.rs` writes the commands that reports tell people to
//! type.

mod causes;
mod command;
mod database;
mod diagnosis;
mod explanation;
mod explored;
mod gaps;
mod hunt;
mod inputs;
mod race;
mod repairs;

pub use causes::*;
pub use command::{replay_command, shell_word};
pub use database::*;
pub use diagnosis::*;
pub use explanation::*;
pub use explored::*;
pub use gaps::{AttemptEnd, HuntGap, HuntStop};
pub use hunt::*;
pub use inputs::*;
pub use race::*;
pub use repairs::*;
