//! Functions that call back: sorting and searching.

use super::{Args, Family, Flow, OK};
use crate::interpret::Uncaught;
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[("qsort", sort), ("bsearch", search)];

fn compare(m: &mut Machine, function: u64, left: u64, right: u64) -> Result<i32, Uncaught> {
    let order = m.try_call_address(function, &[left, right])?;
    m.shadow_keep_returned();
    Ok(order as i32)
}

/// An array being sorted, and the space beside it.
#[derive(Clone, Copy)]
struct Array {
    base: u64,
    scratch: u64,
    size: u64,
    function: u64,
}

/// A stable merge sort that compares in the same order as glibc's. The scratch space is on the program's
/// heap, so that nothing is lost if the run ends inside the comparison.
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
    let sorted = sort_part(m, Array { base, scratch, size, function }, 0, count);
    super::alloc::free(m, scratch, a.site());
    if let Err(Uncaught) = sorted { Flow::Throw } else { OK }
}

fn sort_part(m: &mut Machine, array: Array, start: u64, end: u64) -> Result<(), Uncaught> {
    if end - start < 2 {
        return Ok(());
    }
    let middle = start + (end - start) / 2;
    sort_part(m, array, start, middle)?;
    sort_part(m, array, middle, end)?;
    merge(m, array, start, middle, end)
}

fn merge(m: &mut Machine, array: Array, start: u64, middle: u64, end: u64) -> Result<(), Uncaught> {
    let Array { base, scratch, size, function } = array;
    let (mut left, mut right, mut to) = (start, middle, start);
    while left < middle && right < end {
        let order = compare(m, function, base + left * size, base + right * size)?;
        let from = if order <= 0 { &mut left } else { &mut right };
        copy(m, base + *from * size, scratch + to * size, size);
        *from += 1;
        to += 1;
    }
    // What is left of the right part is in its place already.
    copy(m, base + left * size, scratch + to * size, (middle - left) * size);
    copy(m, scratch + start * size, base + start * size, (right - start) * size);
    Ok(())
}

fn copy(m: &mut Machine, from: u64, to: u64, bytes: u64) {
    m.shadow_copy(from, to, bytes);
    // SAFETY: elements of the array and of the space beside it, which was checked and allocated.
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes as usize) };
}

fn search(m: &mut Machine, a: Args) -> Flow {
    let (key, base, count, size, function) =
        (a.word(0), a.word(1), a.word(2), a.word(3), a.word(4));
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(m, function, key, base + middle * size) {
            Err(Uncaught) => return Flow::Throw,
            Ok(0) => return Flow::Return(base + middle * size),
            Ok(order) if order < 0 => high = middle,
            Ok(_) => low = middle + 1,
        }
    }
    Flow::Return(0)
}
