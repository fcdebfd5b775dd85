//! The bytes of a stream, segment after segment.
//!
//! A record is never split: a store that does not fit is executed again in the next segment. So a record whose store is wider than
//! what is left of a segment is in the next one, and the reader must know how wide the store was, not only how many bytes count.

use crate::file::{LogFile, Stream};
use crate::layout;

/// Why decoding stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Nothing was written here: the stream ends, in foreign code.
    End,
    /// It ends where recorded code runs: what it did since is not known.
    Tail,
    Broken(String),
}

impl Stop {
    pub fn broken(reason: impl Into<String>) -> Stop {
        Stop::Broken(reason.into())
    }
}

/// A sync record as it was written.
#[derive(Clone, Copy, Debug)]
pub struct RawSync {
    pub kind: u8,
    /// 0 where it has none.
    pub stamp: u64,
    pub object: u64,
    /// The thread is in it still.
    pub half: bool,
}

pub struct Reader<'a> {
    log: &'a LogFile,
    stream: &'a Stream,
    /// The segment that is read, and the place in it.
    segment: usize,
    bytes: Vec<u8>,
    at: usize,
    before: u64,
}

impl<'a> Reader<'a> {
    pub fn new(log: &'a LogFile, stream: &'a Stream) -> Reader<'a> {
        let mut reader = Reader { log, stream, segment: 0, bytes: Vec::new(), at: 0, before: 0 };
        reader.load();
        reader
    }

    fn load(&mut self) {
        let segment = self.stream.segments.get(self.segment);
        // A segment that cannot be read is one without records.
        self.bytes = segment.and_then(|s| self.log.read(s).ok()).unwrap_or_default();
        self.at = 0;
    }

    /// Goes to the next segment; false if there is none.
    fn turn(&mut self) -> bool {
        if self.segment + 1 >= self.stream.segments.len() {
            return false;
        }
        self.before += self.bytes.len() as u64;
        self.segment += 1;
        self.load();
        true
    }

    /// Makes room for a store of that width, in this segment or the next.
    fn fit(&mut self, width: usize) -> Result<(), Stop> {
        if self.at + width <= self.bytes.len() || self.turn() && width <= self.bytes.len() {
            return Ok(());
        }
        Err(Stop::Tail)
    }

    fn little_endian(&self, count: usize) -> u64 {
        let bytes = &self.bytes[self.at..self.at + count];
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// A number that is not 0, written by a store of its own width.
    pub fn number(&mut self, width: usize) -> Result<u64, Stop> {
        self.fit(width)?;
        let value = self.little_endian(width);
        if value == 0 {
            return Err(Stop::Tail);
        }
        self.at += width;
        Ok(value)
    }

    /// The mark that comes next, which is not taken yet.
    pub fn mark(&mut self) -> Result<u8, Stop> {
        if self.at >= self.bytes.len() && !self.turn() {
            return Err(Stop::End);
        }
        let wide = self.bytes.len() - self.at < layout::SYNC_BYTES;
        match self.bytes.get(self.at).copied() {
            // The mark may have been too wide for the rest of this segment.
            Some(0) if wide && self.turn() => match self.bytes.first() {
                Some(&mark) if mark != 0 => Ok(mark),
                _ => Err(Stop::End),
            },
            Some(0) | None => Err(Stop::End),
            Some(mark) => Ok(mark),
        }
    }

    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// A mark with an identifier.
    pub fn named(&mut self) -> Result<u32, Stop> {
        self.fit(8)?;
        if self.bytes[self.at] == 0 {
            return Err(Stop::Tail);
        }
        let mark = self.bytes[self.at];
        if !matches!(mark, layout::ENTER | layout::PAD | layout::TWICE) {
            return Err(Stop::broken(format!(
                "{mark:#04x} stands where a function should be named"
            )));
        }
        self.at += 1;
        let identifier = self.little_endian(4) as u32;
        self.at += 4;
        Ok(identifier)
    }

    /// A sync record, whichever form it has.
    pub fn sync(&mut self) -> Result<RawSync, Stop> {
        let size = match self.bytes.get(self.at) {
            Some(&layout::SYNC_BARE) => layout::SYNC_BARE_BYTES,
            Some(&layout::SYNC_SHORT) => layout::SYNC_SHORT_BYTES,
            _ => layout::SYNC_BYTES,
        };
        if self.at + size > self.bytes.len() {
            return Err(Stop::broken("a sync record is cut off"));
        }
        let first = self.little_endian(size.min(8));
        self.at += size.min(8);
        let kind = (first >> 8) as u8;
        Ok(match size {
            layout::SYNC_BARE_BYTES => {
                RawSync { kind, stamp: 0, object: first >> 16 & 0xffff, half: false }
            }
            layout::SYNC_SHORT_BYTES => {
                let stamp = first >> 32;
                RawSync { kind, stamp, object: first >> 16 & 0xffff, half: stamp == 0 }
            }
            _ => {
                let object = self.little_endian(8);
                self.at += 8;
                RawSync { kind, stamp: first >> 16, object, half: false }
            }
        })
    }

    /// How often a counted loop went round.
    pub fn trips(&mut self) -> Result<u64, Stop> {
        self.fit(8)?;
        match self.bytes[self.at] {
            0 => Err(Stop::Tail),
            layout::COUNT_LONG => {
                let value = self.little_endian(8) >> 8;
                self.at += 8;
                value
                    .checked_sub(1)
                    .ok_or_else(|| Stop::broken("a loop went round less than never"))
            }
            short => {
                self.at += 1;
                Ok(u64::from(short) - 1)
            }
        }
    }

    pub fn stream(&self) -> &'a Stream {
        self.stream
    }

    pub fn segment_bytes(&self) -> usize {
        self.log.segment
    }

    pub fn taken(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Bytes after this place that are not 0.
    pub fn rest(&self) -> u64 {
        let here = self.bytes.iter().skip(self.at).filter(|&&b| b != 0).count() as u64;
        let after = self.stream.segments.len().saturating_sub(self.segment + 1);
        here + (after * self.log.segment) as u64
    }
}
