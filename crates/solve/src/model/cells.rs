//! Cells: the coarsest partition of the accessed bytes such that every access covers whole cells.
//!
//! Boundaries are where accesses begin and end, and where memory of known initial value meets memory of unknown.

use std::ops::Range;

use unravel_trace::{Access, Initial, mask};

use super::{Cell, ModelError};

#[derive(Debug)]
pub(super) struct Cells {
    /// Address and size, sorted.
    pub ranges: Vec<(u64, u8)>,
    pub initial: Vec<Option<u128>>,
}

impl Cells {
    pub fn new(accesses: &[Access], initial: &[Initial]) -> Result<Cells, ModelError> {
        let mut bounds = Vec::with_capacity(2 * accesses.len());
        for access in accesses {
            bounds.push(access.address);
            bounds.push(end(access.address, access.bytes)?);
        }
        let mut before: Option<(u64, bool)> = None;
        for region in initial {
            let until = end(region.address, region.bytes)?;
            match before {
                Some((last, _)) if last > region.address => {
                    return Err(contradiction("initial memory overlaps or is not sorted"));
                }
                Some((last, known)) if last == region.address => {
                    if known != region.value.is_some() {
                        bounds.push(last);
                    }
                }
                _ => {
                    bounds.extend(before.map(|(last, _)| last));
                    bounds.push(region.address);
                }
            }
            before = Some((until, region.value.is_some()));
        }
        bounds.extend(before.map(|(last, _)| last));
        bounds.sort_unstable();
        bounds.dedup();
        let mut accessed = vec![false; bounds.len()];
        for access in accesses {
            let first = index_of(&bounds, access.address);
            let last = index_of(&bounds, access.address + u64::from(access.bytes));
            accessed[first..last].fill(true);
        }
        let ranges: Vec<(u64, u8)> = bounds
            .windows(2)
            .zip(&accessed)
            .filter(|(_, accessed)| **accessed)
            .map(|(bound, _)| (bound[0], (bound[1] - bound[0]) as u8))
            .collect();
        let initial = ranges.iter().map(|range| value_of(*range, initial)).collect();
        Ok(Cells { ranges, initial })
    }

    /// The cells of an access; it begins and ends where cells do.
    pub fn of(&self, access: &Access) -> Range<u32> {
        let first = self.ranges.partition_point(|(at, _)| *at < access.address);
        let until = access.address + u64::from(access.bytes);
        let cells = self.ranges[first..].iter().take_while(|(at, _)| *at < until).count();
        first as u32..(first + cells) as u32
    }

    /// Cell, offset in the access, bytes.
    pub fn parts(&self, access: &Access) -> impl Iterator<Item = (Cell, u8, u8)> + use<'_> {
        let address = access.address;
        self.of(access).map(move |cell| {
            let (at, bytes) = self.ranges[cell as usize];
            (Cell(cell), (at - address) as u8, bytes)
        })
    }
}

fn index_of(bounds: &[u64], at: u64) -> usize {
    bounds.partition_point(|b| *b < at)
}

fn end(address: u64, bytes: u8) -> Result<u64, ModelError> {
    if !(1..=16).contains(&bytes) {
        return Err(contradiction("an access of more than sixteen bytes, or of none"));
    }
    address
        .checked_add(u64::from(bytes))
        .ok_or_else(|| contradiction("an access beyond the end of memory"))
}

fn contradiction(what: &str) -> ModelError {
    ModelError::Contradiction(what.into())
}

/// The initial value of a cell, if all of its bytes have one.
fn value_of((at, bytes): (u64, u8), initial: &[Initial]) -> Option<u128> {
    let mut value = 0;
    for byte in 0..bytes {
        let address = at + u64::from(byte);
        let after = initial.partition_point(|region| region.address <= address);
        let region = &initial[after.checked_sub(1)?];
        let offset = address - region.address;
        if offset >= u64::from(region.bytes) {
            return None;
        }
        let part = region.value? >> (8 * offset) & mask(8);
        value |= part << (8 * byte);
    }
    Some(value)
}
