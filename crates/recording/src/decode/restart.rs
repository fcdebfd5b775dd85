//! Where decoding begins: at the thread's start, or at the restart point of the first segment that is left.
//!
//! A restart point is a call stack in addresses. Outer frames stand behind calls, the innermost at the store of a record, which is the first
//! of the segment: it belongs to a path whose start is not known, so it is skipped; what follows it is known by the place. If the runtime
//! wrote the first record itself, inside a call, nothing is skipped.

use super::{At, Decoder, Level, Next};
use crate::code::CodeRef;
use crate::layout;
use crate::log::{Begin, Lost, Record};
use crate::places::{Place, PlaceKind};
use crate::shape::CallKind;
use crate::{NativeFrame, Segment};

impl<'a, F: FnMut(Record)> Decoder<'a, F> {
    /// Where to begin; `None`, with the reason in `lost`, if nowhere.
    pub(super) fn restart(&mut self, lost: &mut Vec<Lost>) -> Option<(Begin, Next)> {
        let stream = self.reader.stream();
        let Some(first) = stream.segments.first() else {
            return Some((Begin::Start, Next::Foreign));
        };
        if stream.recycled > 0 {
            let bytes = stream.recycled * self.reader.segment_bytes() as u64;
            lost.push(Lost::Recycled { bytes });
        }
        if first.begin == layout::BEGIN_START {
            return Some((Begin::Start, Next::Foreign));
        }
        match self.rebuild(first) {
            Ok(next) => Some((Begin::Middle { stack: self.frames() }, next)),
            Err(reason) => {
                lost.push(Lost::NoRestart { reason: reason.to_owned() });
                None
            }
        }
    }

    fn rebuild(&mut self, segment: &Segment) -> Result<Next, &'static str> {
        if segment.cut_off {
            return Err("the call stack was deeper than a restart point holds");
        }
        let mut frames = segment.frames.as_slice();
        let store = match (segment.begin, frames) {
            (layout::BEGIN_SITE, [innermost, outer @ ..]) => {
                frames = outer;
                Some(
                    self.code
                        .store_at(*innermost)
                        .ok_or("the store is not one of recorded code")?,
                )
            }
            (layout::BEGIN_CALL, _) => None,
            _ => return Err("the restart point is damaged"),
        };
        for &frame in frames.iter().rev() {
            self.add_outer(frame)?;
        }
        let Some((code, place)) = store else {
            return match self.stack.last() {
                Some(Level::Foreign | Level::Sync) => Ok(Next::Foreign),
                _ => Err("the innermost frame of recorded code is not in a call"),
            };
        };
        if let Some(&Level::Inside { code: caller, node }) = self.stack.last() {
            self.agrees(caller, node, code)?;
        }
        self.skip(code, place)
    }

    /// Adds the frame of recorded code that an address belongs to, if it does.
    fn add_outer(&mut self, frame: NativeFrame) -> Result<(), &'static str> {
        let Some((code, place)) = self.code.call_at(frame) else { return Ok(()) };
        if let Some(&Level::Inside { code: caller, node }) = self.stack.last() {
            self.agrees(caller, node, code)?;
        }
        let numbering = self.code.numbering(code);
        let block = &self.code.shape(code).blocks[numbering.block_of[place.node]];
        let call = block.calls.get(numbering.call_at(place.node)).ok_or("a label names no call")?;
        self.stack.push(Level::Inside { code, node: place.node });
        if let CallKind::Sync(_) = call.kind {
            self.stack.push(Level::Sync);
        }
        if matches!(
            call.kind,
            CallKind::Foreign | CallKind::NoReturn | CallKind::ReturnsTwice | CallKind::Unlock(_)
        ) {
            self.stack.push(Level::Foreign);
        }
        Ok(())
    }

    /// A frame that stands in a call of a known function must have that function above it, or one that it ended in a tail call of.
    fn agrees(&self, caller: CodeRef, node: usize, callee: CodeRef) -> Result<(), &'static str> {
        let numbering = self.code.numbering(caller);
        let block = &self.code.shape(caller).blocks[numbering.block_of[node]];
        match block.calls.get(numbering.call_at(node)).map(|call| call.kind) {
            Some(CallKind::Recorded(wanted)) if callee.module == caller.module => {
                let tail =
                    |code: CodeRef| self.reaches_by_tail_calls(code, callee, &mut Vec::new());
                match tail(CodeRef { function: wanted, ..caller }) {
                    true => Ok(()),
                    false => Err("the call stack contradicts itself"),
                }
            }
            _ => Err("the call stack contradicts itself"),
        }
    }

    /// Calls before a return may have been made jumps by the code generator, and their frames are gone.
    fn reaches_by_tail_calls(&self, from: CodeRef, to: CodeRef, seen: &mut Vec<CodeRef>) -> bool {
        if from == to {
            return true;
        }
        if seen.contains(&from) || !self.code.is_recorded(from) {
            return false;
        }
        seen.push(from);
        let calls = self.code.shape(from).blocks.iter().flat_map(|block| block.calls.last());
        let callees = calls.filter_map(|call| match call.kind {
            CallKind::Recorded(callee) | CallKind::Tail(Some(callee)) => Some(callee),
            _ => None,
        });
        let callees: Vec<u32> = callees.collect();
        callees
            .into_iter()
            .any(|function| self.reaches_by_tail_calls(CodeRef { function, ..from }, to, seen))
    }

    /// Skips the record of the place and says where it leads.
    fn skip(&mut self, code: CodeRef, place: Place) -> Result<Next, &'static str> {
        let numbering = self.code.numbering(code);
        let next = Next::Walk(At { code, node: place.node });
        match place.kind {
            PlaceKind::Trips => {
                // The path that goes on started at the loop's header.
                self.reader.trips().map_err(|_| "the first record is damaged")?;
                Ok(next)
            }
            PlaceKind::Enter | PlaceKind::Pad | PlaceKind::Return | PlaceKind::Frame => {
                self.reader.skip(place.size as usize);
                Ok(next)
            }
            PlaceKind::Twice => {
                self.reader.skip(place.size as usize);
                self.reader.number(4).map_err(|_| "the first record is damaged")?;
                Ok(next)
            }
            PlaceKind::PathEnd => {
                self.reader.skip(place.size as usize);
                let block = &self.code.shape(code).blocks[numbering.block_of[place.node]];
                let after = match block.calls.get(numbering.call_at(place.node)) {
                    Some(call) => self.call(code, place.node, call.kind),
                    None => self.leave(block.leaves),
                };
                after.map_err(|_| "the first record is damaged")
            }
            PlaceKind::Path => {
                self.reader.skip(place.size as usize);
                // An edge into a counted loop: its trips come first.
                let header =
                    |c: &crate::numbering::Counted| numbering.first_node[c.header] == place.node;
                if let Some(counted) = numbering.counted.iter().position(header) {
                    let rounds = self.rounds(code, numbering, counted);
                    rounds.map_err(|_| "the first record is damaged")?;
                }
                Ok(next)
            }
            PlaceKind::Call => Err("a call is no store"),
        }
    }
}
