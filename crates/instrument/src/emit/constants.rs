//! Where a path's number is known before the program runs: there it is written as it is, and needs no register.

use unravel_recording::layout;
use unravel_recording::numbering::Numbering;
use unravel_recording::shape::FunctionShape;

/// By block: the path's number where it begins, if all ways there agree.
pub(super) struct Constants {
    starts: Vec<Option<u64>>,
    calls: Vec<bool>,
}

/// What is known of a number so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Nothing,
    Always(u64),
    Varies,
}

impl Known {
    fn meet(self, other: Known) -> Known {
        match (self, other) {
            (Known::Nothing, known) | (known, Known::Nothing) => known,
            (Known::Always(a), Known::Always(b)) if a == b => self,
            _ => Known::Varies,
        }
    }
}

impl Constants {
    pub(super) fn new(shape: &FunctionShape, numbering: &Numbering) -> Constants {
        let begun = Known::Always(layout::PATH_BASE);
        let calls: Vec<bool> = shape.blocks.iter().map(|b| !b.calls.is_empty()).collect();
        let mut starts = vec![Known::Nothing; shape.blocks.len()];
        starts[0] = begun;
        numbering.counted.iter().for_each(|counted| starts[counted.header] = begun);
        let (mut work, mut seen) = (vec![0], vec![false; starts.len()]);
        seen[0] = true;
        while let Some(block) = work.pop() {
            let end = if calls[block] { begun } else { starts[block] };
            for &edge in &numbering.out[block] {
                let edge = &numbering.edges[edge];
                let value = match (edge.cut || edge.back_of.is_some(), end) {
                    (true, _) => begun,
                    (false, Known::Always(number)) if !edge.dead => {
                        Known::Always(number + edge.value)
                    }
                    (false, end) => end,
                };
                let new = starts[edge.to].meet(value);
                let first = !std::mem::replace(&mut seen[edge.to], true);
                if new != starts[edge.to] || first {
                    starts[edge.to] = new;
                    work.push(edge.to);
                }
            }
        }
        let known = |known| match known {
            Known::Always(number) => Some(number),
            _ => None,
        };
        Constants { starts: starts.into_iter().map(known).collect(), calls }
    }

    /// At a block's begin, before its first call.
    pub(super) fn at_begin(&self, block: usize) -> Option<u64> {
        self.starts[block]
    }

    /// Where a block is left.
    pub(super) fn at_end(&self, block: usize) -> Option<u64> {
        if self.calls[block] { Some(layout::PATH_BASE) } else { self.starts[block] }
    }
}
