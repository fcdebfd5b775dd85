//! How a report may look, by what the user's terminal can show.

use std::io::IsTerminal;

use unravel_report::terminal::Style;

use crate::show::terminal_width;

/// Columns of a report where nobody says how many there are.
const WIDTH: usize = 100;

/// The style of standard output.
pub fn style() -> Style {
    let out = std::io::stdout();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    Style {
        color: out.is_terminal() && !no_color,
        width: terminal_width().unwrap_or(WIDTH),
        brief: false,
        // Without any locale somebody reads a log; those are UTF-8.
        unicode: locale.is_none_or(|l| l.to_uppercase().replace('-', "").contains("UTF8")),
    }
}
