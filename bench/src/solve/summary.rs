//! What the table comes to: ratios, growth, and what the solver was meant to reach.

use std::ops::RangeInclusive;

use super::instances::Family;
use super::question::{Question, Said};
use super::{Ratio, Row};
use crate::measure::milliseconds;

/// Traces of 300 to 1,000 events; those made up have a few more or less than asked for.
const MIDDLE: RangeInclusive<usize> = 280..=1_050;
/// Below this, nobody cares who is faster. In seconds.
const SHORT: f64 = 0.05;
/// Instances whose shape is hard for solvers.
const HARD: [&str; 5] = [
    "counter 40, 1 lost",
    "counter 40, 20 lost",
    "atomic counter 40",
    "hot 10000",
    "distant 6000, 5000 apart",
];

pub fn print(rows: &[Row]) {
    println!();
    for question in Question::ALL {
        means(rows, question);
    }
    growth(rows);
    println!("\nwhat it was meant to reach:");
    for (question, wanted) in
        [(Question::Alternate, 100.0), (Question::Core, 100.0), (Question::Failing, 20.0)]
    {
        let mean = mean(rows, question);
        let what = format!("{} {wanted:.0} times faster than Z3", question.name());
        goal(&what, mean.map(|m| (format!("{m:.0} times"), m >= wanted)));
    }
    let long = rows.iter().filter(|row| row.seconds(&row.ours) > SHORT);
    let compared = long.filter_map(|row| Some((row, row.ratio()?)));
    let worst = compared.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    goal(
        "never more than twice as slow above 50 ms",
        worst.map(|(row, ratio)| {
            let of = format!("{} {}", row.name, row.question.name());
            (format!("{ratio} times as fast at worst, {of}"), ratio.value >= 0.5)
        }),
    );
    for (size, seconds, megabytes) in
        [(1_000, 0.02, None), (10_000, 0.15, None), (100_000, 3.0, Some(1024.0))]
    {
        let mut what = format!("alternate of {size} events proved in {}", milliseconds(seconds));
        what += " ms";
        if megabytes.is_some() {
            what += " and 1 GB";
        }
        let slowest = of(rows, Family::Large, Question::Alternate)
            .filter(|row| row.name.contains(&format!(" {size} ")))
            .max_by(|a, b| a.ours.seconds.total_cmp(&b.ours.seconds));
        goal(
            &what,
            slowest.map(|row| {
                let ours = &row.ours;
                let small = megabytes.is_none_or(|limit| ours.megabytes < limit);
                let figure = format!("{} ms, {:.0} MB", milliseconds(ours.seconds), ours.megabytes);
                (figure, ours.said.is_proved() && ours.seconds < seconds && small)
            }),
        );
    }
    for row in rows.iter().filter(|row| HARD.contains(&row.name.as_str())) {
        let what = format!("{} {}: solved, or a gap", row.name, row.question.name());
        let silent = matches!(row.ours.said, Said::GaveUp(_) | Said::Wrong(_));
        let figure = format!("{}, {} ms", row.ours.said, milliseconds(row.ours.seconds));
        goal(&what, Some((figure, !silent)));
    }
    let longest = of(rows, Family::Unordered, Question::Failing)
        .filter(|row| row.name.contains(" 3000 "))
        .max_by(|a, b| a.ours.seconds.total_cmp(&b.ours.seconds));
    goal(
        "3,000 events without their order in 10 s",
        longest.map(|row| {
            let figure = format!("{} ms, {}", milliseconds(row.ours.seconds), row.ours.said);
            (figure, row.ours.said.is_proved() && row.ours.seconds < 10.0)
        }),
    );
}

fn goal(what: &str, figure: Option<(String, bool)>) {
    let (figure, state) = match figure {
        Some((figure, true)) => (figure, "reached"),
        Some((figure, false)) => (figure, "MISSED"),
        None => (String::new(), "not measured"),
    };
    println!("  {state:<12} {what:<52} {figure}");
}

fn of(rows: &[Row], family: Family, question: Question) -> impl Iterator<Item = &Row> {
    rows.iter().filter(move |row| row.family == family && row.question == question)
}

fn middle(rows: &[Row], question: Question) -> impl Iterator<Item = Ratio> {
    let asked = rows.iter().filter(move |row| row.question == question);
    asked.filter(|row| MIDDLE.contains(&row.events)).filter_map(Row::ratio)
}

/// The geometric mean, if there is anything to compare.
fn mean(rows: &[Row], question: Question) -> Option<f64> {
    let logarithms: Vec<f64> = middle(rows, question).map(|ratio| ratio.value.ln()).collect();
    let count = logarithms.len();
    (count > 0).then(|| (logarithms.iter().sum::<f64>() / count as f64).exp())
}

fn means(rows: &[Row], question: Question) {
    let Some(mean) = mean(rows, question) else { return };
    let all = middle(rows, question).count();
    let bounds = middle(rows, question).filter(|ratio| ratio.at_least).count();
    let (sign, note) = match bounds {
        0 => ("", String::new()),
        _ => (">", format!("; Z3 gave up on {bounds} of them, which counts as its limit")),
    };
    let name = question.name();
    println!("{name}, 300 to 1,000 events: geometric mean of {all} ratios {sign}{mean:.0}{note}");
}

/// The exponent of our time in the number of events, from 1,000 events on, by least squares of the logarithms.
fn growth(rows: &[Row]) {
    for (family, question) in [
        (Family::Large, Question::Alternate),
        (Family::Large, Question::Core),
        (Family::Unordered, Question::Failing),
    ] {
        let measured: Vec<(f64, f64)> = of(rows, family, question)
            .filter(|row| row.events >= MIDDLE.start() + 600 && row.ours.said.is_proved())
            .map(|row| ((row.events as f64).ln(), row.ours.seconds.max(1e-6).ln()))
            .collect();
        if let Some(exponent) = slope(&measured) {
            println!("{}: time grows with events to the power of {exponent:.2}", question.name());
        }
    }
}

/// Of the line nearest to these points; `None` if they have all the same place.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (x, y) = (x / count, y / count);
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let joint: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (spread > 0.1).then(|| joint / spread)
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn a_power_is_found_again() {
        let points: Vec<(f64, f64)> =
            [1e3_f64, 1e4, 1e5].iter().map(|x| (x.ln(), (3.0 * x.powf(1.5)).ln())).collect();
        let found = slope(&points).expect("three places");
        assert!((found - 1.5).abs() < 1e-9, "{found}");
        assert_eq!(slope(&points[..1]), None);
        assert_eq!(slope(&[]), None);
    }
}
