//! Symbiosis' tables, a file each: from paths to a failing schedule, its projection on what differs, its reduction.

mod paper;
mod paths;
mod projection;
mod reduction;

pub use paths::table_1;
pub use projection::table_2;
pub use reduction::table_3;
