//! A table by address, for who looks at every event of a run.
//!
//! Programs go through memory in order, by one thread or by a few. A hash table finds each place somewhere else, in memory that
//! is not in a cache: of long runs that cost more than all that is done with what was found. Here places that are near each
//! other are found by one look, those last looked at without any, and what belongs to them lies in the order in which it
//! was first asked for.

use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;

use crate::budgets::KEPT_PLACES;

/// Addresses of a page, whatever unit they are counted in.
const PAGE: u64 = 64;
/// Pages last looked at; a power of two.
const RECENT: usize = 64;
/// No page has this number.
const NONE: u64 = u64::MAX;

/// What can be used for another address.
pub trait Renew: Default {
    /// Makes it as good as new, keeping its memory.
    fn renew(&mut self);
}

impl<T> Renew for Vec<T> {
    fn renew(&mut self) {
        self.clear();
    }
}

/// Something for each address that was asked for.
#[derive(Clone, Debug)]
pub struct ByAddress<T> {
    /// Where a page is among `pages`, by its number.
    index: FxHashMap<u64, u32>,
    /// Used from the front, as are `items`; the rest is kept for later runs.
    pages: Vec<Page>,
    recent: [(u64, u32); RECENT],
    /// With their addresses.
    items: Vec<(u64, T)>,
    used: usize,
}

/// Where something is among the items, counted from 1; 0 if there is nothing.
#[derive(Clone, Debug)]
struct Page([u32; PAGE as usize]);

impl<T> Default for ByAddress<T> {
    fn default() -> ByAddress<T> {
        ByAddress {
            index: FxHashMap::default(),
            pages: Vec::new(),
            recent: [(NONE, 0); RECENT],
            items: Vec::new(),
            used: 0,
        }
    }
}

impl<T: Renew> ByAddress<T> {
    /// What there is for an address; new if there was nothing.
    #[inline]
    pub fn entry(&mut self, address: u64) -> &mut T {
        let page = self.page(address / PAGE);
        let place = &mut self.pages[page as usize].0[(address % PAGE) as usize];
        if *place == 0 {
            match self.items.get_mut(self.used) {
                Some((at, item)) => {
                    *at = address;
                    item.renew();
                }
                None => self.items.push((address, T::default())),
            }
            self.used += 1;
            *place = self.used as u32;
        }
        &mut self.items[*place as usize - 1].1
    }

    #[inline]
    fn page(&mut self, number: u64) -> u32 {
        let recent = &mut self.recent[number as usize % RECENT];
        if recent.0 == number {
            return recent.1;
        }
        let next = self.index.len() as u32;
        let page = *self.index.entry(number).or_insert(next);
        if page == next {
            match self.pages.get_mut(next as usize) {
                Some(page) => page.0.fill(0),
                None => self.pages.push(Page([0; PAGE as usize])),
            }
        }
        *recent = (number, page);
        page
    }

    pub fn contains(&self, address: u64) -> bool {
        let page = self.index.get(&(address / PAGE));
        page.is_some_and(|page| self.pages[*page as usize].0[(address % PAGE) as usize] != 0)
    }

    /// Those there are within a range of addresses, in no order.
    pub fn within(&mut self, range: RangeInclusive<u64>, mut each: impl FnMut(&mut T)) {
        let (first, last) = (range.start() / PAGE, range.end() / PAGE);
        let ByAddress { index, pages, items, .. } = self;
        let mut of_page = |number: u64, page: u32| {
            for (at, place) in pages[page as usize].0.iter().enumerate() {
                if *place != 0 && range.contains(&(number * PAGE + at as u64)) {
                    each(&mut items[*place as usize - 1].1);
                }
            }
        };
        if last - first < index.len() as u64 {
            for number in first..=last {
                if let Some(page) = index.get(&number) {
                    of_page(number, *page);
                }
            }
        } else {
            for (number, page) in index.iter() {
                if (first..=last).contains(number) {
                    of_page(*number, *page);
                }
            }
        }
    }

    pub fn len(&self) -> usize {
        self.used
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// All of it, in the order in which it was first asked for.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.items[..self.used].iter().map(|(address, item)| (*address, item))
    }

    /// All of it, by address.
    pub fn sorted(&self) -> Vec<(u64, &T)> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by_key(|(address, _)| *address);
        all
    }

    /// Forgets everything, but keeps what memory runs of ordinary length need.
    pub fn clear(&mut self) {
        if self.used == 0 {
            return;
        }
        self.index.clear();
        self.recent = [(NONE, 0); RECENT];
        self.used = 0;
        if self.items.len() > KEPT_PLACES {
            self.items.truncate(KEPT_PLACES);
            self.items.shrink_to_fit();
            self.pages.truncate(KEPT_PLACES);
            self.pages.shrink_to_fit();
            self.index.shrink_to(KEPT_PLACES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use unravel_trace::Rng;

    #[test]
    fn it_holds_what_a_map_holds() {
        let mut table: ByAddress<Vec<u64>> = ByAddress::default();
        let mut rng = Rng::new(7);
        for round in 0..4 {
            let mut map: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for step in 0..20_000 {
                // Near others, far from all, and pages that are told apart by more than what finds the recent ones.
                let address = match rng.below(3) {
                    0 => u64::from(rng.below(300)),
                    1 => (1 << 40) + u64::from(rng.below(1 << 20)),
                    _ => u64::from(rng.below(8)) * PAGE * RECENT as u64 * 3,
                };
                table.entry(address).push(step);
                map.entry(address).or_default().push(step);
            }
            assert_eq!(table.len(), map.len(), "round {round}");
            let sorted = table.sorted();
            assert!(sorted.iter().copied().eq(map.iter().map(|(address, list)| (*address, list))));
            assert!(map.keys().all(|address| table.contains(*address)));
            assert!(!table.contains(1 << 50));
            for range in [100..=200, 0..=1 << 41, (1 << 40) + 1000..=(1 << 40) + 300_000] {
                let mut found = 0;
                table.within(range.clone(), |_| found += 1);
                assert_eq!(found, map.range(range).count());
            }
            table.clear();
            assert!(table.is_empty() && !table.contains(0));
        }
    }
}
