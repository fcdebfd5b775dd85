//! Room `execute`: how a program is executed again. Replay, judging, races, classes of interleavings, processes. Generic over
//! [`unravel_trace::Executor`]; which schedules are worth executing is `explore`'s.

mod classes;
mod judge;
mod process;
mod races;
mod replay;

pub use classes::Class;
pub use judge::{Judge, Silence};
pub use process::{Apart, Child, Received, Shared, pipe, read_message, ready, write_message};
pub use races::{Collector, Detector, Race, RaceChecked};
pub use replay::{Divergence, Replay};
