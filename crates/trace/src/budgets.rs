//! Budgets: the numbers that say how much is done at most. Each room has them in one file with their reasons, and
//! `unravel doctor --budgets` lists all of them.

/// One budget of a room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    pub room: &'static str,
    pub name: &'static str,
    /// As it is written in the source: `20_000`, `Duration::from_secs(30)`.
    pub value: &'static str,
    /// What it is, and why that much.
    pub reason: String,
}

/// Declares the budgets of a room: constants, and the list `BUDGETS` of them.
///
/// ```
/// unravel_trace::budgets! {
///     room "example";
///
///     /// Rounds that are tried: later ones find nothing.
///     ROUNDS: u32 = 8;
/// }
/// assert_eq!(ROUNDS, 8);
/// assert_eq!(budgets()[0].reason, "Rounds that are tried: later ones find nothing.");
/// ```
#[macro_export]
macro_rules! budgets {
    (room $room:literal; $($(#[doc = $why:literal])+ $name:ident: $type:ty = $value:expr;)+) => {
        $($(#[doc = $why])+ pub const $name: $type = $value;)+

        /// The budgets of this room.
        pub fn budgets() -> ::std::vec::Vec<$crate::Budget> {
            ::std::vec![$($crate::Budget {
                room: $room,
                name: stringify!($name),
                value: stringify!($value),
                reason: [$($why),+].map(str::trim).join(" "),
            }),+]
        }
    };
}
