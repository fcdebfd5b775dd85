//! Exit codes, all of them.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// 0: nothing found; the output says what was explored.
    Clean,
    /// 1: a finding. Also the replay of a failure.
    Finding,
    /// 2: the command could not be carried out.
    Error,
    /// 3: inconclusive; the output says why.
    Inconclusive,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Clean => 0,
            Exit::Finding => 1,
            Exit::Error => 2,
            Exit::Inconclusive => 3,
        })
    }
}
