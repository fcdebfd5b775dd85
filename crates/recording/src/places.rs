//! What an address of the program is: the entries that the recording code's labels leave in the section `.unravel_places`.
//!
//! An entry is the address and the module's hash (8 bytes each), the function, the node with which decoding goes on after the record (of a call:
//! the node that it ends), what it is, and the record's size (4 bytes each). The innermost frame at a restart point stands at the very store,
//! whose label has its address. An outer frame stands behind a call: the label before that call is the last one of a call at or below the
//! address, in the same function, whose begin the unwinder told.

use std::collections::BTreeMap;

use crate::numbering::Node;

pub const SECTION: &str = ".unravel_places";
const ENTRY: usize = 32;

/// What a labelled instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum PlaceKind {
    /// It writes a path's number on an edge; the node is where the edge leads.
    Path = 1,
    /// The mark after a foreign call.
    Return = 2,
    Enter = 3,
    Pad = 4,
    /// The mark after a call that returns twice,
    Twice = 5,
    /// It writes how often a counted loop went round.
    Trips = 6,
    /// The label stands before a call.
    Call = 7,
    /// The frame after the mark of a call that returns twice.
    Frame = 8,
    /// It writes a path's number where the node ends: before a call or a return.
    PathEnd = 9,
}

impl PlaceKind {
    fn from_number(number: u32) -> Option<PlaceKind> {
        use PlaceKind::*;
        [Path, Return, Enter, Pad, Twice, Trips, Call, Frame, PathEnd]
            .into_iter()
            .find(|k| *k as u32 == number)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The module's hash.
    pub module: u64,
    pub function: u32,
    pub node: Node,
    pub kind: PlaceKind,
    pub size: u32,
}

/// The places of one image, by the addresses in its file.
#[derive(Clone, Default, Debug)]
pub struct Places {
    stores: BTreeMap<u64, Place>,
    calls: BTreeMap<u64, Place>,
}

impl Places {
    pub fn read(section: &[u8]) -> Places {
        let mut places = Places::default();
        for entry in section.chunks_exact(ENTRY) {
            let long =
                |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
            let word =
                |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"));
            let Some(kind) = PlaceKind::from_number(word(24)) else { continue };
            let place = Place {
                module: long(8),
                function: word(16),
                node: word(20) as Node,
                kind,
                size: word(28),
            };
            // Of a function that the linker dropped the address is 0, or close to it.
            if long(0) > 0xff {
                let of_kind =
                    if kind == PlaceKind::Call { &mut places.calls } else { &mut places.stores };
                of_kind.insert(long(0), place);
            }
        }
        places
    }

    pub fn is_empty(&self) -> bool {
        self.stores.is_empty() && self.calls.is_empty()
    }

    /// The store at exactly this address.
    pub fn store(&self, address: u64) -> Option<Place> {
        self.stores.get(&address).copied()
    }

    /// The call that returns to this address, in the function that begins at `function`.
    pub fn call(&self, address: u64, function: u64) -> Option<Place> {
        let before = self.calls.range(function..address).next_back();
        before.map(|(_, place)| *place)
    }
}

/// The numbers that the slow trace of tests calls branches by.
pub mod trace {
    /// Ten bits of function, fourteen of block, seven of successor: enough for tests, which check that they are.
    pub fn branch(function: u32, block: usize, successor: u32) -> u32 {
        (function & 0x3ff) << 21 | (block as u32 & 0x3fff) << 7 | (successor & 0x7f)
    }

    pub fn pad(function: u32, block: usize) -> u32 {
        1 << 31 | branch(function, block, 0)
    }
}
