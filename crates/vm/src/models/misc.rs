//! Functions that call back: sorting and searching.

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[("qsort", sort), ("bsearch", search)];

fn compare(m: &mut Machine, function: u64, left: u64, right: u64) -> i32 {
    m.call_address(function, &[left, right]) as i32
}

/// A stable merge sort, as glibc's is. The scratch space is on the program's heap, so that nothing is
/// lost if the run ends inside the comparison.
fn sort(m: &mut Machine, a: Args) -> Flow {
    let (base, count, size, function) = (a.word(0), a.word(1), a.word(2), a.word(3));
    if count < 2 || size == 0 {
        return OK;
    }
    m.range(base, count * size, true, a.site());
    let scratch = m.allocate(count * size, 16, a.site());
    if scratch == 0 {
        m.finish_inconclusive("no memory left to sort".into());
    }
    let (mut from, mut to) = (base, scratch);
    let mut width = 1;
    while width < count {
        let mut start = 0;
        while start < count {
            let middle = (start + width).min(count);
            let end = (start + 2 * width).min(count);
            merge(m, function, size, (from, to), (start, middle, end));
            start = end;
        }
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    if from != base {
        // SAFETY: both arrays are `count * size` bytes long.
        unsafe {
            std::ptr::copy_nonoverlapping(
                from as *const u8,
                base as *mut u8,
                (count * size) as usize,
            )
        };
    }
    super::alloc::free(m, scratch, a.site())
}

fn merge(
    m: &mut Machine,
    function: u64,
    size: u64,
    (from, to): (u64, u64),
    (start, middle, end): (u64, u64, u64),
) {
    let (mut left, mut right) = (start, middle);
    for index in start..end {
        let take_left = right >= end
            || left < middle && compare(m, function, from + left * size, from + right * size) <= 0;
        let source = if take_left { left } else { right };
        if take_left {
            left += 1;
        } else {
            right += 1;
        }
        // SAFETY: elements of the two arrays.
        unsafe {
            std::ptr::copy_nonoverlapping(
                (from + source * size) as *const u8,
                (to + index * size) as *mut u8,
                size as usize,
            );
        }
    }
}

fn search(m: &mut Machine, a: Args) -> Flow {
    let (key, base, count, size, function) =
        (a.word(0), a.word(1), a.word(2), a.word(3), a.word(4));
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(m, function, key, base + middle * size) {
            0 => return Flow::Return(base + middle * size),
            order if order < 0 => high = middle,
            _ => low = middle + 1,
        }
    }
    Flow::Return(0)
}
