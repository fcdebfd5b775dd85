//! The section that objects of a wrapped build carry: unoptimised bitcode of their sources, writer and reader in one file.
//!
//! A linker puts sections of one name together, out of just those objects, members of archives included, that it takes. So
//! an executable holds what it was linked from, and nothing has to be known of archives, libtool or link lines. What
//! could not be kept is a record too: nothing is left out silently.
//!
//! | bytes | what, again and again |
//! |---|---|
//! | 8 | magic, with the version |
//! | 8 | length of the record |
//! | 4 | CRC-32 of the record |
//! | … | the record, in postcard's encoding |
//!
//! Between records there may be zeros, which a linker puts in for alignment.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The section's name.
pub const SECTION: &str = ".unravel.bitcode";

/// Raise the last digits with any change to [`Kept`].
const MAGIC: [u8; 8] = *b"\x89UKEPT01";
const HEAD: usize = 20;

/// What is kept of one source, or why nothing is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kept {
    Module { source: PathBuf, bitcode: Vec<u8> },
    Missing { what: PathBuf, why: Lack },
}

/// Why there is no bitcode.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Lack {
    /// It is written in assembler.
    Assembler,
    /// Clang does not take what the project's compiler takes; what it said.
    Refused { said: String },
    /// An object or archive that was made elsewhere.
    Native,
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lack::Assembler => write!(f, "it is assembler"),
            Lack::Refused { said } => {
                let line = said.lines().find(|line| line.contains("error")).or(said.lines().next());
                write!(f, "clang does not compile it: {}", line.unwrap_or_default().trim())
            }
            Lack::Native => write!(f, "it was made without `unravel build`"),
        }
    }
}

impl Kept {
    /// As it stands in the section.
    pub fn encode(&self) -> Vec<u8> {
        let record = postcard::to_stdvec(self).expect("records of bytes and paths can be encoded");
        let mut bytes = Vec::with_capacity(HEAD + record.len());
        bytes.extend(MAGIC);
        bytes.extend((record.len() as u64).to_le_bytes());
        bytes.extend(crc32fast::hash(&record).to_le_bytes());
        bytes.extend(record);
        bytes
    }

    /// All records of a section; `None` if it is damaged, or of another version.
    pub fn decode(mut section: &[u8]) -> Option<Vec<Kept>> {
        let mut all = Vec::new();
        loop {
            let padding = section.iter().take_while(|byte| **byte == 0).count();
            section = &section[padding..];
            if section.is_empty() {
                return Some(all);
            }
            let (head, rest) = section.split_at_checked(HEAD)?;
            let length = u64::from_le_bytes(head[8..16].try_into().ok()?);
            let checksum = u32::from_le_bytes(head[16..20].try_into().ok()?);
            let (record, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            if head[..8] != MAGIC || crc32fast::hash(record) != checksum {
                return None;
            }
            all.push(postcard::from_bytes(record).ok()?);
            section = rest;
        }
    }

    /// Whether a file (an object, an archive, a library) has such records, wherever they are.
    pub fn are_in(file: &[u8]) -> bool {
        file.windows(MAGIC.len()).any(|window| window == MAGIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_read_again_and_damage_is_noticed() {
        let records = [
            Kept::Module { source: "/a/b.c".into(), bitcode: vec![1, 2, 3] },
            Kept::Missing { what: "x.S".into(), why: Lack::Assembler },
        ];
        let mut section = records[0].encode();
        section.extend([0; 5]);
        section.extend(records[1].encode());
        assert_eq!(Kept::decode(&section).as_deref(), Some(&records[..]));
        assert!(Kept::are_in(&section) && !Kept::are_in(b"\x7fELF"));
        for at in 0..section.len() {
            let mut damaged = section.clone();
            damaged[at] ^= 0x40;
            assert_ne!(Kept::decode(&damaged).as_deref(), Some(&records[..]), "byte {at}");
        }
        assert_eq!(Kept::decode(&section[..section.len() - 1]), None);
    }
}
