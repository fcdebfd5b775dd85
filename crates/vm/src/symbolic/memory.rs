//! The shadow of memory: for each byte that is symbolic, which byte of which expression it is.

use rustc_hash::FxHashMap;
use unravel_trace::ExprId;

use super::Byte;
use super::graph::Graph;

const NONE: u32 = u32::MAX;

/// Eight bytes.
#[derive(Clone, Copy, Debug)]
struct Granule {
    expr: [u32; 8],
    index: [u8; 8],
}

const CONCRETE: Granule = Granule { expr: [NONE; 8], index: [0; 8] };

#[derive(Debug, Default)]
pub(super) struct MemoryShadow {
    granules: FxHashMap<u64, Granule>,
}

impl MemoryShadow {
    pub fn is_empty(&self) -> bool {
        self.granules.is_empty()
    }

    /// Whether any of these bytes may be symbolic.
    pub fn any(&self, address: u64, bytes: u64) -> bool {
        if self.granules.is_empty() || bytes == 0 {
            return false;
        }
        let last = address.saturating_add(bytes - 1);
        (address >> 3..=last >> 3).any(|granule| self.granules.contains_key(&granule))
    }

    fn at(&self, address: u64) -> Option<(ExprId, u8)> {
        let granule = self.granules.get(&(address >> 3))?;
        let i = (address & 7) as usize;
        (granule.expr[i] != NONE).then_some((ExprId(granule.expr[i]), granule.index[i]))
    }

    /// The bytes that are there now. A shadow that says otherwise is out of date: somebody wrote unseen.
    ///
    /// # Safety
    /// The memory may be read.
    pub unsafe fn load(&self, graph: &mut Graph, address: u64, bytes: u64) -> Vec<Byte> {
        let byte = |at: u64| {
            // SAFETY: as the caller promises.
            let now = unsafe { *(at as *const u8) };
            match self.at(at) {
                Some((id, index)) if (graph.value(id) >> (8 * u32::from(index))) as u8 == now => {
                    Byte::Part(id, index)
                }
                _ => Byte::Known(now),
            }
        };
        (address..address + bytes).map(byte).collect()
    }

    pub fn store(&mut self, address: u64, bytes: &[Byte]) {
        for (at, byte) in (address..).zip(bytes) {
            let i = (at & 7) as usize;
            match *byte {
                Byte::Part(id, index) => {
                    let granule = self.granules.entry(at >> 3).or_insert(CONCRETE);
                    granule.expr[i] = id.0;
                    granule.index[i] = index;
                }
                Byte::Known(_) => {
                    if let Some(granule) = self.granules.get_mut(&(at >> 3)) {
                        granule.expr[i] = NONE;
                    }
                }
            }
        }
    }

    /// These bytes are concrete now.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        if self.granules.is_empty() || bytes == 0 {
            return;
        }
        let end = address.saturating_add(bytes);
        for number in address >> 3..=(end - 1) >> 3 {
            let Some(granule) = self.granules.get_mut(&number) else { continue };
            for i in 0..8 {
                if (address..end).contains(&(number << 3 | i)) {
                    granule.expr[i as usize] = NONE;
                }
            }
            if granule.expr == [NONE; 8] {
                self.granules.remove(&number);
            }
        }
    }
}
