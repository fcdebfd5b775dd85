//! What threads share is learned in runs that end at their first race, too: they end before the access that would show it.

use unravel_conformance::Sample;
use unravel_execute::{Laboratory, Lesson, RaceChecked};
use unravel_trace::*;

#[test]
fn a_race_shows_what_is_shared() {
    let rules = Rules { races: true, ..Rules::default() };
    let mut executor = RaceChecked::new(Sample::Sharing.toy(), &rules);
    let mut lab = Laboratory::new(&mut executor, Input::default(), VisibleSet::default());
    let mut raced = 0;
    let learned = lab.learn(
        &Lesson::default(),
        |input, _| input.clone(),
        |run, _| raced += usize::from(run.outcome.failure().is_some()),
    );
    assert!(raced > 0, "no run ended at a race");
    let sites = executor.sites();
    let function = |site| sites.get(site).expect("a row").site.place.function.to_string();
    let functions: Vec<String> = learned.iter().map(function).collect();
    assert!(functions.len() > 1, "{functions:?}");
    assert!(functions.iter().all(|function| function == "shares"), "{functions:?}");
}
