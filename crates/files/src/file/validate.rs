//! Whether the parts of a decoded trace fit together: every index that one part holds into another
//! is in range, so that code behind the reader may index without looking.

mod symbolic;

use postcard::ser_flavors::Size;
use unravel_trace::{
    EventKind, LocationId, Schedule, SiteId, ThreadId, ThreadTrace, Trace, VisibleSet, WakeCause,
};

use super::{FormatError, TraceFile};

/// A visible set takes at least a byte for each 64 sites. Ids of sites have 32 bits, so a longer
/// one would name sites that do not exist.
const MAX_VISIBLE_BYTES: usize = 1 << 26;

impl TraceFile {
    /// Checks that all ids refer to something.
    pub fn validate(&self) -> Result<(), FormatError> {
        let run = &self.run;
        trace(&run.trace)
            .and_then(|()| schedule(&run.schedule))
            .and_then(|()| visible(&run.learned))
            .and_then(|()| match &run.symbolic {
                Some(symbolic) => symbolic::symbolic(&run.trace, symbolic),
                None => Ok(()),
            })
            .map_err(|what| FormatError::Inconsistent { what })
    }
}

/// Checks that all segments of a schedule refer to a thread.
pub fn validate_schedule(of: &Schedule) -> Result<(), FormatError> {
    schedule(of).map_err(|what| FormatError::Inconsistent { what })
}

/// Checks that all ids of a thread's trace refer to something, and that everything is this thread's own. A number in
/// [`unravel_trace::Otherwise::Turns`] may still lie behind the path: nobody branched on it any more.
pub fn validate_thread(of: &ThreadTrace) -> Result<(), FormatError> {
    thread(&of.trace, of.thread)
        .and_then(|()| trace(&of.trace))
        .and_then(|()| symbolic::part(of))
        .map_err(|what| FormatError::Inconsistent { what })
}

fn trace(trace: &Trace) -> Result<(), String> {
    if let Some(pair) = trace.sites.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(format!("site {} comes before site {}", pair[0].0.0, pair[1].0.0));
    }
    for (i, object) in trace.objects.iter().enumerate() {
        if let Some(id) = object.site {
            site(trace, id).map_err(|e| format!("object {i} {e}"))?;
        }
    }
    for (i, location) in trace.locations.iter().enumerate() {
        in_range("object", location.object.0, trace.objects.len())
            .map_err(|e| format!("location {i} {e}"))?;
    }
    for (i, event) in trace.events.iter().enumerate() {
        thread(trace, event.thread)
            .and_then(|()| site(trace, event.site))
            .and_then(|()| event.caller.map_or(Ok(()), |caller| site(trace, caller)))
            .and_then(|()| kind(trace, &event.kind))
            .map_err(|e| format!("event {i} {e}"))?;
    }
    Ok(())
}

/// The ids inside an event, besides those that all events have.
fn kind(trace: &Trace, kind: &EventKind) -> Result<(), String> {
    if let Some(at) = kind.location() {
        location(trace, at)?;
    }
    match kind {
        EventKind::Wait { mutex, .. } => location(trace, *mutex),
        EventKind::Wake { mutex, by, .. } => {
            location(trace, *mutex)?;
            match by {
                WakeCause::Signal(by) => thread(trace, *by),
                WakeCause::Timeout | WakeCause::Spurious | WakeCause::Cancel => Ok(()),
            }
        }
        EventKind::Signal { woken: Some(id), .. } => thread(trace, *id),
        EventKind::Fork { child } | EventKind::Join { child } => thread(trace, *child),
        EventKind::Cancel { target } => thread(trace, *target),
        _ => Ok(()),
    }
}

fn schedule(schedule: &Schedule) -> Result<(), String> {
    for (i, segment) in schedule.segments.iter().enumerate() {
        in_range("thread", segment.thread, schedule.threads.len())
            .map_err(|e| format!("segment {i} of the schedule {e}"))?;
    }
    visible(&schedule.visible)
}

fn visible(set: &VisibleSet) -> Result<(), String> {
    match postcard::serialize_with_flavor(set, Size::default()) {
        Ok(bytes) if bytes <= MAX_VISIBLE_BYTES => Ok(()),
        _ => Err("the visible set names sites that cannot exist".to_owned()),
    }
}

fn thread(trace: &Trace, id: ThreadId) -> Result<(), String> {
    in_range("thread", id.0, trace.threads.len())
}

fn location(trace: &Trace, id: LocationId) -> Result<(), String> {
    in_range("location", id.0, trace.locations.len())
}

fn site(trace: &Trace, id: SiteId) -> Result<(), String> {
    match trace.site(id) {
        Some(_) => Ok(()),
        None => Err(format!("refers to site {}, which is not described", id.0)),
    }
}

fn in_range(what: &str, id: u32, count: usize) -> Result<(), String> {
    if (id as usize) < count {
        Ok(())
    } else {
        Err(format!("refers to {what} {id}, but there are {count}"))
    }
}
