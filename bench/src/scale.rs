//! How much a benchmark does.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// What the figures need.
    Whole,
    /// The least that still goes through all code and all checks. The figures mean nothing, and no time is judged: the test
    /// suite asks only whether the benchmark still runs.
    Smoke,
}

impl Scale {
    pub fn choose<T>(self, whole: T, smoke: T) -> T {
        match self {
            Scale::Whole => whole,
            Scale::Smoke => smoke,
        }
    }
}
