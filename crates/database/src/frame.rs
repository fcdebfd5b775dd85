//! How records stand in a file, so that damage costs what was damaged and nothing else.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | [`MARK`], to find the next record behind a damaged one |
//! | 4 | length of the body as it stands in the file |
//! | 4 | length of the payload, which is the body inflated |
//! | 4 | CRC-32 of the body |
//! | 4 | CRC-32 of the sixteen bytes before it |
//! | … | body: the payload, deflated |
//!
//! Numbers are little-endian. The head has a checksum of its own, because where the next record begins must be known even
//! if the body is damaged. Of a damaged head the next mark with a right checksum is looked for. The checksums find
//! accidents, not forgeries.

use crate::error::DatabaseError;

const MARK: [u8; 4] = *b"\x8bREC";

const HEAD_BYTES: usize = 20;

/// No payload is longer: a thread's trace of some million events.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 26;

/// Deflate cannot do better than this, so a head that declares more lies.
const MAX_RATIO: usize = 1032;

/// As for trace files.
const LEVEL: u8 = 6;

/// The payload as it stands in a file.
pub fn frame(payload: &[u8]) -> Result<Vec<u8>, DatabaseError> {
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(DatabaseError::TooLarge { bytes: payload.len(), most: MAX_PAYLOAD_BYTES });
    }
    let body = miniz_oxide::deflate::compress_to_vec(payload, LEVEL);
    let mut frame = Vec::with_capacity(HEAD_BYTES + body.len());
    frame.extend(MARK);
    frame.extend((body.len() as u32).to_le_bytes());
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(crc32fast::hash(&body).to_le_bytes());
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame.extend(body);
    Ok(frame)
}

/// What is found in a file, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    Payload(Vec<u8>),
    /// A record that cannot be read, or bytes between records that are none.
    Damaged,
    /// The file ends within a record.
    Torn,
}

/// Goes through the frames of a file. Never fails.
#[derive(Debug)]
pub struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Frames<'a> {
    pub fn of(bytes: &'a [u8]) -> Frames<'a> {
        Frames { rest: bytes }
    }
}

struct Head {
    stored: usize,
    payload: usize,
    checksum: u32,
}

impl Head {
    /// `None` if no record begins here.
    fn parse(bytes: &[u8]) -> Option<Head> {
        let head = bytes.get(..HEAD_BYTES)?;
        let number = |at: usize| {
            let field = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            u32::from_le_bytes(field)
        };
        let right = head[..4] == MARK && number(16) == crc32fast::hash(&head[..16]);
        right.then(|| Head {
            stored: number(4) as usize,
            payload: number(8) as usize,
            checksum: number(12),
        })
    }

    fn payload(&self, body: &[u8]) -> Option<Vec<u8>> {
        let plausible = self.payload <= MAX_PAYLOAD_BYTES
            && self.payload <= self.stored.saturating_mul(MAX_RATIO);
        if !plausible || crc32fast::hash(body) != self.checksum {
            return None;
        }
        let payload =
            miniz_oxide::inflate::decompress_to_vec_with_limit(body, self.payload).ok()?;
        (payload.len() == self.payload).then_some(payload)
    }
}

impl Iterator for Frames<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(head) = Head::parse(self.rest) else {
            let known = self.rest.len().min(MARK.len());
            let torn = self.rest.len() < HEAD_BYTES && self.rest[..known] == MARK[..known];
            let next = (1..self.rest.len()).find(|at| Head::parse(&self.rest[*at..]).is_some());
            self.rest = &self.rest[next.unwrap_or(self.rest.len())..];
            return Some(if torn { Piece::Torn } else { Piece::Damaged });
        };
        let Some((body, rest)) = self.rest[HEAD_BYTES..].split_at_checked(head.stored) else {
            self.rest = &[];
            return Some(Piece::Torn);
        };
        self.rest = rest;
        Some(head.payload(body).map_or(Piece::Damaged, Piece::Payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(payloads: &[&[u8]]) -> Vec<u8> {
        payloads.iter().flat_map(|payload| frame(payload).expect("it is short")).collect()
    }

    fn payloads(bytes: &[u8]) -> Vec<Vec<u8>> {
        let payload = |piece| match piece {
            Piece::Payload(payload) => Some(payload),
            Piece::Damaged | Piece::Torn => None,
        };
        Frames::of(bytes).filter_map(payload).collect()
    }

    #[test]
    fn a_file_cut_anywhere_keeps_all_whole_records() {
        let all: [&[u8]; 3] = [b"one", b"", b"three"];
        let bytes = file(&all);
        for length in 0..bytes.len() {
            let pieces: Vec<Piece> = Frames::of(&bytes[..length]).collect();
            let whole = (0..=3).rev().find(|n| file(&all[..*n]).len() <= length).unwrap_or(0);
            assert_eq!(payloads(&bytes[..length]), all[..whole], "{length}");
            let at_an_end = file(&all[..whole]).len() == length;
            assert_eq!(pieces.last() == Some(&Piece::Torn), !at_an_end, "{length}");
        }
    }

    #[test]
    fn a_changed_byte_costs_one_record() {
        let all: [&[u8]; 3] = [b"one", b"two", b"three"];
        let bytes = file(&all);
        let ends = [1, 2, 3].map(|n| file(&all[..n]).len());
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                let hit = ends.iter().filter(|end| **end <= at).count();
                let left: Vec<&[u8]> = (0..3).filter(|n| *n != hit).map(|n| all[n]).collect();
                assert_eq!(payloads(&damaged), left, "byte {at}");
            }
        }
    }

    #[test]
    fn what_inflates_to_more_than_it_says_is_refused() {
        let body = miniz_oxide::deflate::compress_to_vec(&[7; 1000], LEVEL);
        let mut bytes = MARK.to_vec();
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(10u32.to_le_bytes());
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.extend(body);
        assert_eq!(Frames::of(&bytes).collect::<Vec<_>>(), [Piece::Damaged]);
    }
}
