//! Instances of a fleet, one after another in the machine: each run is scheduled as production would, and logs what its instance's profile
//! says, nothing more.

use unravel_execute::Laboratory;
use unravel_strategies::{Production, Random};
use unravel_trace::{Rng, Run, Scheduler};

use crate::elements::Elements;
use crate::log::{Log, LogId};
use crate::profile::Profile;
use crate::recorder::record;

/// What instances run.
#[derive(Clone, Copy, Debug)]
pub struct Fleet {
    /// Whose draws: another seed, another fleet.
    pub seed: u64,
    /// The first instance, and behind the last one.
    pub instances: (usize, usize),
    /// Runs of each.
    pub runs: u64,
    /// Switches may come at every event, instead of after slices as a system gives them.
    pub random: bool,
}

/// Runs the instances. `logged` gets each run with its partial log, and says whether to go on. Returns how many runs said nothing.
pub fn simulate(
    lab: &mut Laboratory<'_>,
    elements: &mut Elements,
    profile: &Profile,
    fleet: &Fleet,
    mut logged: impl FnMut(&mut Laboratory<'_>, &Run, Log) -> bool,
) -> u64 {
    let build = profile.build();
    let mut silent = 0;
    for instance in fleet.instances.0..fleet.instances.1.min(profile.instances.len()) {
        let chosen = profile.chosen(instance);
        for run in 0..fleet.runs {
            if !lab.may_go_on() {
                return silent;
            }
            let seed = Rng::derive(Rng::derive(fleet.seed, instance as u64), run);
            let mut by: Box<dyn Scheduler> = match fleet.random {
                true => Box::new(Random::new(seed)),
                false => Box::new(Production::new(seed)),
            };
            let id = LogId::drawn(fleet.seed, instance as u32, run);
            let (run, log) = record(lab, elements, &mut *by, (build, id));
            match log {
                Some(log) if !logged(lab, &run, log.only(&chosen)) => return silent,
                Some(_) => {}
                None => silent += 1,
            }
        }
    }
    silent
}
