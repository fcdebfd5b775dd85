//! Which functions take the instructions of long runs: samples, in memory that forked processes share with us.
//!
//! After every [`SAMPLE_EVERY`] jumps and calls, what was executed since the last sample is counted for each function on the
//! stack of the thread that runs. Jumps and calls are counted anyway, for the bound of steps ([`State::fuel`]), so that runs
//! pay for their samples alone, and short ones have none. No run depends on it.
//!
//! Errs by what lies between two samples, which counts for whoever runs at the second. What models and native functions do
//! takes no instructions, however long it takes.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use unravel_code::{FunctionId, Program};
use unravel_trace::{Busiest, Place};

use crate::budgets::SAMPLE_EVERY;
use crate::machine::{Machine, State};

/// What is known of a function.
#[derive(Debug)]
struct Count {
    /// Instructions executed in it and in what it calls.
    steps: AtomicU64,
    /// Frames below it on the stack, as of its last sample.
    depth: AtomicU64,
}

/// Counts of all functions; the last one is for all together.
#[derive(Debug)]
pub(crate) struct Busy {
    /// None if there is no memory for it.
    counts: Option<NonNull<Count>>,
    functions: usize,
    /// Instructions of this run when its last sample was taken.
    sampled: u64,
}

impl Busy {
    pub fn new(functions: usize) -> Busy {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        let bytes = Self::bytes(functions);
        // SAFETY: a new mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        let counts = (at != libc::MAP_FAILED).then(|| NonNull::new(at.cast())).flatten();
        Busy { counts, functions, sampled: 0 }
    }

    fn bytes(functions: usize) -> usize {
        (functions + 1) * size_of::<Count>()
    }

    pub fn begin_run(&mut self) {
        self.sampled = 0;
    }

    fn counts(&self) -> &[Count] {
        let Some(counts) = self.counts else { return &[] };
        // SAFETY: mapped as long as `self` is; zeros are counts.
        unsafe { std::slice::from_raw_parts(counts.as_ptr(), self.functions + 1) }
    }

    /// So many instructions were executed so far, and this is where the run is now, the first caller first.
    fn sample(&mut self, steps: u64, stack: impl Iterator<Item = FunctionId>) {
        let new = steps.saturating_sub(std::mem::replace(&mut self.sampled, steps));
        let counts = self.counts();
        let Some((all, of)) = counts.split_last() else { return };
        all.steps.fetch_add(new, Ordering::Relaxed);
        // What calls itself counts once. Deep stacks repeat a few functions: those that were just seen are enough.
        let mut seen = [u32::MAX; SEEN];
        for (depth, function) in stack.enumerate() {
            if !seen.contains(&function.0) {
                seen[depth % SEEN] = function.0;
                of[function.0 as usize].steps.fetch_add(new, Ordering::Relaxed);
                of[function.0 as usize].depth.store(depth as u64, Ordering::Relaxed);
            }
        }
    }

    /// The innermost function of the user's own code in which most of the instructions were executed.
    pub fn busiest(&self, program: &Program) -> Option<Busiest> {
        let (all, of) = self.counts().split_last()?;
        let of_all = all.steps.load(Ordering::Relaxed);
        let most = of.iter().enumerate().filter_map(|(index, count)| {
            let steps = count.steps.load(Ordering::Relaxed);
            let is_most = of_all > 0 && steps >= of_all / 3 * 2;
            let place = is_most.then(|| place(program, index)).flatten()?;
            Some((steps, count.depth.load(Ordering::Relaxed), place))
        });
        // Of those that call each other the one that is called.
        let (steps, _, place) = most.min_by_key(|(steps, depth, _)| (*steps, u64::MAX - depth))?;
        Some(Busiest { place, steps: steps.min(of_all), of: of_all })
    }
}

/// Functions that a sample remembers to have counted.
const SEEN: usize = 16;

/// Where a function begins, if it is the user's own.
fn place(program: &Program, function: usize) -> Option<Place> {
    let body = program.functions[function].body.as_ref()?;
    let places = body.places.iter().map(|site| {
        let site = &program.sites[site.index()];
        site.inlined_at.last().unwrap_or(&site.place)
    });
    places.into_iter().find(|place| place.line != 0).filter(|place| !place.is_system()).cloned()
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(counts) = self.counts {
            // SAFETY: mapped by `new` with this size; nobody has a reference any more.
            unsafe { libc::munmap(counts.as_ptr().cast(), Self::bytes(self.functions)) };
        }
    }
}

impl State {
    /// A run may make so many jumps and calls.
    pub fn fill_up(&mut self, total: i64) {
        self.fuel = total.min(SAMPLE_EVERY);
        self.reserve = total - self.fuel;
        self.busy.begin_run();
    }
}

impl Machine {
    /// The fuel ran out: whether there is more.
    #[cold]
    pub fn refuel(&mut self) -> bool {
        let more = self.reserve.min(SAMPLE_EVERY);
        if more <= 0 {
            return false;
        }
        self.fuel += more;
        self.reserve -= more;
        let State { threads, current, busy, steps, .. } = &mut **self;
        busy.sample(*steps, threads[*current].frames.iter().map(|frame| frame.function));
        true
    }
}
