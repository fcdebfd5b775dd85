//! Logging profiles: which elements each instance logs.
//!
//! CoopREP, thesis §3.1.2: so many elements, drawn uniformly. *Informed* is ours: elements are dealt so that every instance logs about the same
//! number of accesses, every element is logged about equally often, and pairs of elements that no instance logs together yet come
//! first, because similarity lives from what logs have in common.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use unravel_trace::{Rng, SiteId, VisibleSet};

use crate::elements::{Element, ElementId, Mode};
use crate::log::digest;
use crate::survey::Surveyed;

/// How much an instance logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Coverage {
    /// Percent of the elements, at least one.
    Percent(u32),
    /// A single one.
    One,
}

impl Coverage {
    /// Of so many elements. Percentages are rounded to the nearest, as the paper's tables suggest (25 % of 4 and of 5 is one).
    pub fn of(self, elements: usize) -> usize {
        match self {
            Coverage::One => 1.min(elements),
            Coverage::Percent(percent) => {
                ((elements * percent as usize + 50) / 100).clamp(1.min(elements), elements)
            }
        }
    }

    /// Of so many elements for one of many instances, the first being 0: a half of three elements is one for every other instance and two for the rest, so
    /// that all of them together log the part that was asked for. At least one.
    fn of_instance(self, elements: usize, instance: usize) -> usize {
        let Coverage::Percent(percent) = self else { return self.of(elements) };
        let until = |instance: usize| elements * percent as usize * instance / 100;
        (until(instance + 1) - until(instance)).clamp(1.min(elements), elements)
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coverage::Percent(percent) => write!(f, "{percent}%"),
            Coverage::One => f.write_str("1"),
        }
    }
}

impl FromStr for Coverage {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Coverage, ProfileError> {
        let refused = || ProfileError::Coverage(text.to_owned());
        if text == "1" {
            return Ok(Coverage::One);
        }
        let percent = text.strip_suffix('%').ok_or_else(refused)?.parse().map_err(|_| refused())?;
        match percent {
            1..=100 => Ok(Coverage::Percent(percent)),
            _ => Err(refused()),
        }
    }
}

/// How instances get their elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Draw {
    Uniform,
    Informed,
}

#[derive(Debug, Error)]
pub enum ProfileError {
    #[error("'{0}' is no coverage: write a percentage such as 50%, or 1 for a single element")]
    Coverage(String),
    #[error("no profile: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("the profile has version {found}, this program reads version {supported}")]
    Version { found: u32, supported: u32 },
    #[error("the profile contradicts itself: {0}")]
    Inconsistent(&'static str),
}

/// What a build's instances log. Kept as JSON.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Profile {
    pub version: u32,
    /// The fingerprint of the program.
    pub program: u64,
    pub mode: Mode,
    /// Sorted by id.
    pub elements: Vec<Element>,
    /// Sites that touch memory without a name, or enter blocks, and positions in `elements`.
    pub sites: Vec<(SiteId, Vec<u32>)>,
    /// Every site that was seen to touch an element, and which: what a native program has to wrap.
    #[serde(default)]
    pub touching: Vec<(SiteId, Vec<u32>)>,
    /// The sites whose accesses are events.
    pub visible: Vec<SiteId>,
    pub coverage: Coverage,
    pub draw: Draw,
    /// By instance: positions in `elements`, ascending.
    pub instances: Vec<Vec<u32>>,
}

impl Profile {
    pub const VERSION: u32 = 1;

    pub fn new(
        program: u64,
        mode: Mode,
        surveyed: &Surveyed,
        (coverage, draw): (Coverage, Draw),
        instances: usize,
        seed: u64,
    ) -> Profile {
        let elements = surveyed.table.clone();
        let each = coverage.of(elements.len());
        let instances = match draw {
            Draw::Uniform => uniform(elements.len(), each, instances, seed),
            Draw::Informed => informed(&elements, coverage, instances, seed),
        };
        Profile {
            version: Profile::VERSION,
            program,
            mode,
            elements,
            sites: surveyed.sites.clone(),
            touching: surveyed.touching.clone(),
            visible: surveyed.visible.iter().collect(),
            coverage,
            draw,
            instances,
        }
    }

    /// Identifies the program together with what its elements are: logs of two surveys do not mix.
    pub fn build(&self) -> u64 {
        let mut bytes = self.program.to_le_bytes().to_vec();
        for element in &self.elements {
            bytes.extend(element.id.0.to_le_bytes());
        }
        for (site, of) in &self.sites {
            bytes.extend(site.0.to_le_bytes());
            bytes.extend(of.iter().flat_map(|at| at.to_le_bytes()));
        }
        digest(&bytes) >> 1
    }

    pub fn visible(&self) -> VisibleSet {
        let mut visible = VisibleSet::default();
        for site in &self.visible {
            visible.insert(*site);
        }
        visible
    }

    /// What an instance logs.
    pub fn chosen(&self, instance: usize) -> Vec<ElementId> {
        self.instances[instance].iter().map(|at| self.elements[*at as usize].id).collect()
    }

    pub fn ids(&self) -> Vec<ElementId> {
        self.elements.iter().map(|element| element.id).collect()
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a profile has no keys that are not texts")
    }

    pub fn from_json(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile = serde_json::from_str(text)?;
        let (found, supported) = (profile.version, Profile::VERSION);
        if found != supported {
            return Err(ProfileError::Version { found, supported });
        }
        let elements = profile.elements.len() as u32;
        if !profile.elements.is_sorted_by(|a, b| a.id < b.id) {
            return Err(ProfileError::Inconsistent("its elements are not sorted by id"));
        }
        let sites = profile.sites.iter().chain(&profile.touching).map(|(_, of)| of);
        if sites.chain(&profile.instances).flatten().any(|at| *at >= elements) {
            return Err(ProfileError::Inconsistent(
                "it refers to an element that it does not have",
            ));
        }
        Ok(profile)
    }
}

/// The `each` that are drawn of `elements`, ascending.
pub fn draw(rng: &mut Rng, elements: usize, each: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..elements as u32).collect();
    for at in 0..each {
        let other = at + rng.below((elements - at) as u32) as usize;
        all.swap(at, other);
    }
    all.truncate(each);
    all.sort_unstable();
    all
}

fn uniform(elements: usize, each: usize, instances: usize, seed: u64) -> Vec<Vec<u32>> {
    let drawn = |instance| draw(&mut Rng::new(Rng::derive(seed, instance as u64)), elements, each);
    (0..instances).map(drawn).collect()
}

/// Elements dealt by their heat, so that all instances log about as many accesses, hot ones do not meet, and each has its turn.
fn informed(
    elements: &[Element],
    coverage: Coverage,
    instances: usize,
    seed: u64,
) -> Vec<Vec<u32>> {
    let count = elements.len();
    let total: u64 = elements.iter().map(|element| element.accesses).sum();
    let mut times = vec![0u64; count];
    let mut together = vec![vec![0u64; count]; count];
    let mut rng = Rng::new(seed);
    let mut all = Vec::with_capacity(instances);
    for instance in 0..instances {
        let each = coverage.of_instance(count, instance);
        // What an instance of so many elements logs on average.
        let fair = total * each as u64 / count.max(1) as u64;
        let mut chosen: Vec<u32> = Vec::with_capacity(each);
        let mut heat = 0u64;
        while chosen.len() < each {
            let left = (each - chosen.len()) as u64;
            let key = |at: &u32, tie: u64| {
                let at = *at as usize;
                let pairs: u64 = chosen.iter().map(|other| together[at][*other as usize]).sum();
                // Hot elements that together are more than an instance's share belong to different ones.
                let too_hot = heat > 0 && heat + elements[at].accesses > fair + fair / 2;
                // How far this would take the instance from its fair share, if the rest were average.
                let wanted = fair.saturating_sub(heat) / left;
                (too_hot, times[at], pairs, elements[at].accesses.abs_diff(wanted), tie)
            };
            let free = (0..count as u32).filter(|at| !chosen.contains(at));
            let keyed: Vec<_> = free.map(|at| (key(&at, rng.word()), at)).collect();
            let Some((_, best)) = keyed.into_iter().min() else { break };
            heat += elements[best as usize].accesses;
            chosen.push(best);
        }
        for &one in &chosen {
            times[one as usize] += 1;
            for &other in &chosen {
                together[one as usize][other as usize] += 1;
            }
        }
        chosen.sort_unstable();
        all.push(chosen);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::ElementKind;

    fn elements(heat: &[u64]) -> Vec<Element> {
        let element = |(at, accesses): (usize, &u64)| Element {
            id: ElementId(at as u64),
            name: format!("e{at}"),
            kind: ElementKind::Data,
            accesses: *accesses,
            shared: true,
        };
        heat.iter().enumerate().map(element).collect()
    }

    #[test]
    fn a_quarter_of_four_or_five_is_one_element() {
        assert_eq!(Coverage::Percent(25).of(4), 1);
        assert_eq!(Coverage::Percent(25).of(5), 1);
        assert_eq!(Coverage::Percent(50).of(5), 3);
        assert_eq!(Coverage::Percent(75).of(4), 3);
        assert_eq!(Coverage::Percent(1).of(3), 1);
        assert_eq!(Coverage::One.of(9), 1);
        assert!("150%".parse::<Coverage>().is_err());
        assert_eq!("50%".parse::<Coverage>().ok(), Some(Coverage::Percent(50)));
    }

    #[test]
    fn uniform_profiles_give_every_element_its_turn() {
        let drawn = uniform(10, 5, 1000, 7);
        let mut times = [0; 10];
        for chosen in &drawn {
            assert_eq!(chosen.len(), 5);
            assert!(chosen.is_sorted_by(|a, b| a < b));
            chosen.iter().for_each(|at| times[*at as usize] += 1);
        }
        assert!(times.iter().all(|times| (400..600).contains(times)), "{times:?}");
    }

    /// What each logs at least would be two of three, for all of them.
    #[test]
    fn informed_profiles_log_the_part_that_was_asked_for() {
        for (heat, percent) in [(&[5, 5, 5][..], 50), (&[9, 1, 4, 4, 7], 50), (&[1, 2, 3], 75)] {
            let chosen = informed(&elements(heat), Coverage::Percent(percent), 200, 3);
            let all: usize = chosen.iter().map(Vec::len).sum();
            assert_eq!(all, 200 * heat.len() * percent as usize / 100, "{heat:?}");
            let mut times = vec![0usize; heat.len()];
            chosen.iter().flatten().for_each(|at| times[*at as usize] += 1);
            let (least, most) = (times.iter().min(), times.iter().max());
            assert!(most <= least.map(|least| least + 2).as_ref(), "{times:?}");
        }
        let alone = informed(&elements(&[7]), Coverage::Percent(50), 10, 1);
        assert!(alone.iter().all(|one| one == &[0]), "an instance that logs nothing says nothing");
    }

    #[test]
    fn informed_profiles_share_the_heat() {
        let heat = [10_000, 1, 1, 1, 1, 1, 1, 9_000];
        let elements = elements(&heat);
        let chosen = informed(&elements, Coverage::Percent(50), 100, 1);
        let mut times = [0u32; 8];
        for one in &chosen {
            one.iter().for_each(|at| times[*at as usize] += 1);
        }
        assert!(times.iter().all(|times| (49..=51).contains(times)), "{times:?}");
        let both = |chosen: &[Vec<u32>]| {
            chosen.iter().filter(|one| one.contains(&0) && one.contains(&7)).count()
        };
        // By chance that would be 3 in 14 of all.
        assert!(both(&uniform(8, 4, 100, 1)) > 10);
        assert_eq!(both(&chosen), 0, "the two hot ones are never one instance's");
    }
}
