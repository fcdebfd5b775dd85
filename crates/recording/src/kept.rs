//! What is kept of a module in the object's own section `.unravel`: its shape and its bitcode, found again by their hash.
//!
//! Linkers put sections of one name one after the other, so a program has the modules of all its objects. Objects that were made
//! otherwise leave nothing there.

use crate::shape::ModuleShape;

pub const SECTION: &str = ".unravel";
const MAGIC: [u8; 8] = *b"unravmod";
const HEAD: usize = 32;

/// A module as it was before recording code was put in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    pub hash: u64,
    pub shape: ModuleShape,
    pub bitcode: Vec<u8>,
}

impl Kept {
    pub fn new(shape: ModuleShape, bitcode: Vec<u8>) -> Kept {
        let mut all = postcard::to_stdvec(&shape).expect("shapes are plain data");
        all.extend_from_slice(&bitcode);
        Kept { hash: unravel_code::fingerprint(&all), shape, bitcode }
    }

    /// The bytes that go into the section.
    pub fn encode(&self) -> Vec<u8> {
        let shape = postcard::to_stdvec(&self.shape).expect("shapes are plain data");
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.hash.to_le_bytes());
        bytes.extend((shape.len() as u64).to_le_bytes());
        bytes.extend((self.bitcode.len() as u64).to_le_bytes());
        bytes.extend(shape);
        bytes.extend(&self.bitcode);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// All modules of a section. What is broken is left out: whoever needs it will miss it by its hash.
    pub fn decode_all(mut section: &[u8]) -> Vec<Kept> {
        let mut all = Vec::new();
        while let Some(start) = section.windows(8).step_by(8).position(|w| w == MAGIC) {
            section = &section[start * 8..];
            let Some((kept, length)) = Kept::decode(section) else {
                section = &section[8..];
                continue;
            };
            all.push(kept);
            section = &section[length..];
        }
        all
    }

    fn decode(bytes: &[u8]) -> Option<(Kept, usize)> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (hash, shape, bitcode) = (word(8)?, word(16)?, word(24)?);
        let shape_end = HEAD.checked_add(usize::try_from(shape).ok()?)?;
        let end = shape_end.checked_add(usize::try_from(bitcode).ok()?)?;
        let (shape_bytes, bitcode) = (bytes.get(HEAD..shape_end)?, bytes.get(shape_end..end)?);
        if unravel_code::fingerprint(bytes.get(HEAD..end)?) != hash {
            return None;
        }
        let shape: ModuleShape = postcard::from_bytes(shape_bytes).ok()?;
        shape.is_sound().then_some(())?;
        let kept = Kept { hash, shape, bitcode: bitcode.to_vec() };
        Some((kept, end.next_multiple_of(8).min(bytes.len())))
    }
}
