//! Cells of tables.

/// Where there is nothing to say.
pub const NONE: &str = "–";

/// A figure, or why there is none.
pub fn or_why<T>(of: &Result<T, String>, figure: impl FnOnce(&T) -> String) -> String {
    match of {
        Ok(of) => figure(of),
        Err(why) => why.clone(),
    }
}

/// Seconds, of something short.
pub fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    match value {
        value if value < 1.0 => "<1 ms".to_owned(),
        value if value < 1e4 => format!("{value:.0} ms"),
        _ => self::seconds(seconds),
    }
}

pub fn seconds(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

/// By how much a part is less than all, in per cent.
pub fn fewer(part: u64, all: u64) -> f64 {
    (1.0 - part as f64 / all.max(1) as f64) * 100.0
}
