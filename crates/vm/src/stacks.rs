//! Stacks of events that are over: for observers that may name one of them in an alarm, and for whoever wants them with the
//! run.
//!
//! Most events have the stack of an earlier one: each stack is kept once.

use rustc_hash::FxHashMap;
use unravel_trace::{Place, SiteId};

use crate::machine::{Machine, State};

#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// Innermost first.
    stacks: Vec<Box<[SiteId]>>,
    by_sites: FxHashMap<Box<[SiteId]>, u32>,
    /// The number of an event, and its stack; ascending. An atomic section is several entries.
    kept: Vec<(u64, u32)>,
}

impl Stacks {
    pub fn clear(&mut self) {
        self.kept.clear();
    }
}

impl Machine {
    /// Keeps the stack of the event that the current thread is about to execute.
    pub fn keep_stack(&mut self) {
        let sites: Vec<SiteId> = self.sites_of(self.current);
        let State { stacks_kept: kept, events, .. } = &mut **self;
        let stack = match kept.by_sites.get(&sites[..]) {
            Some(stack) => *stack,
            None => {
                let stack = kept.stacks.len() as u32;
                let sites: Box<[SiteId]> = sites.into();
                kept.stacks.push(sites.clone());
                kept.by_sites.insert(sites, stack);
                stack
            }
        };
        kept.kept.push((*events, stack));
    }

    /// The stack that was kept of an event at this site.
    pub fn kept_stack(&self, number: u64, site: SiteId) -> Vec<Place> {
        let kept = &self.stacks_kept;
        let first = kept.kept.partition_point(|(event, _)| *event < number);
        let same = kept.kept[first..].iter().take_while(|(event, _)| *event == number);
        let stacks = same.map(|(_, stack)| &kept.stacks[*stack as usize]);
        let at_site = stacks.clone().find(|stack| stack.first() == Some(&site));
        let stack = at_site.or_else(|| stacks.clone().next());
        stack.map_or_else(Vec::new, |stack| self.places(stack.iter().copied()))
    }

    /// All stacks that were kept of this run, as places.
    pub fn all_stacks(&self) -> unravel_trace::Stacks {
        let kept = &self.stacks_kept;
        // Stacks of earlier runs are still there, but no event of this one has them.
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let mut all = unravel_trace::Stacks::default();
        for (event, stack) in &kept.kept {
            let number = *numbers.entry(*stack).or_insert_with(|| {
                let sites = &kept.stacks[*stack as usize];
                let site = sites.first().copied().unwrap_or(SiteId(0));
                all.stacks.push((site, self.places(sites.iter().copied())));
                all.stacks.len() as u32 - 1
            });
            all.of.push((*event, number));
        }
        all
    }
}
