//! Something for each of many numbers in a row, kept by range.

use std::collections::BTreeMap;

/// Ranges that do not overlap, by their first number; each with its last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges<T> {
    by_first: BTreeMap<u64, (u64, T)>,
}

impl<T: Copy + Default> Ranges<T> {
    pub fn clear(&mut self) {
        self.by_first.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.by_first.is_empty()
    }

    /// What there is for a number.
    pub fn of(&self, number: u64) -> Option<T> {
        let (_, (last, item)) = self.by_first.range(..=number).next_back()?;
        (*last >= number).then_some(*item)
    }

    /// The parts of a range that there is something for, each with its first and last number.
    pub fn within(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, u64, T)> {
        let before = self.by_first.range(..first).next_back();
        let all = before.into_iter().chain(self.by_first.range(first..=last));
        let overlap = all.filter(move |(_, (end, _))| *end >= first);
        overlap.map(move |(start, (end, item))| ((*start).max(first), (*end).min(last), *item))
    }

    /// Changes what there is for each number of a range.
    pub fn change(&mut self, first: u64, last: u64, mut change: impl FnMut(&mut T)) {
        self.divide_at(first);
        self.divide_at(last + 1);
        let parts: Vec<_> = self.within(first, last).collect();
        let mut next = first;
        for (from, to, _) in parts.into_iter().chain([(last + 1, last + 1, T::default())]) {
            if next < from {
                self.by_first.insert(next, (from - 1, T::default()));
            }
            next = to + 1;
        }
        for (_, (_, item)) in self.by_first.range_mut(first..=last) {
            change(item);
        }
    }

    /// The same as one range, whatever there was.
    pub fn replace(&mut self, first: u64, last: u64, item: T) {
        self.divide_at(first);
        self.divide_at(last + 1);
        let parts: Vec<u64> = self.by_first.range(first..=last).map(|(first, _)| *first).collect();
        for part in parts {
            self.by_first.remove(&part);
        }
        self.by_first.insert(first, (last, item));
    }

    /// No range goes on across this number.
    fn divide_at(&mut self, number: u64) {
        let before = self.by_first.range_mut(..number).next_back();
        if let Some((_, (last, item))) = before
            && *last >= number
        {
            let rest = (std::mem::replace(last, number - 1), *item);
            self.by_first.insert(number, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::Rng;

    #[test]
    fn ranges_hold_what_a_list_of_all_numbers_holds() {
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let mut ranges: Ranges<u32> = Ranges::default();
            let mut list = [0u32; 40];
            for step in 1..12 {
                let first = rng.below(40);
                let last = first + rng.below(40 - first);
                let these = first as usize..=last as usize;
                if rng.below(3) == 0 {
                    ranges.replace(first.into(), last.into(), step);
                    list[these].fill(step);
                } else {
                    ranges.change(first.into(), last.into(), |item| *item += step);
                    list[these].iter_mut().for_each(|item| *item += step);
                }
                let (from, to) = (5, 30);
                let mut sum = 0;
                for (first, last, item) in ranges.within(from, to) {
                    assert!(from <= first && first <= last && last <= to);
                    sum += (last - first + 1) as u32 * item;
                }
                assert_eq!(sum, list[from as usize..=to as usize].iter().sum());
            }
            assert!((0..40).all(|n| ranges.of(n).unwrap_or(0) == list[n as usize]));
        }
    }
}
