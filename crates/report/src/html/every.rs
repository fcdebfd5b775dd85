//! Every event of both runs, for those who ask: columns of small numbers that refer to tables of texts.

use serde::Serialize;
use std::collections::HashMap;
use unravel_trace::{Place, Trace};

use super::strings::Strings;
use super::timeline::Timeline;
use super::values::Changes;
use crate::source::Sources;
use crate::words;

#[derive(Serialize)]
pub struct Every<'c> {
    strings: Strings,
    /// Key, short name and text of source lines, as numbers of `strings`.
    places: Vec<(u32, u32, u32)>,
    failing: Run,
    passing: Option<Run>,
    /// Names of all variables of the failing run; the watched ones come first.
    variables: &'c [String],
    values: &'c Strings,
    /// Event, variable, value; event, variable, value; …
    changes: Vec<u32>,
}

/// An element an event.
#[derive(Default, Serialize)]
struct Run {
    thread: Vec<usize>,
    /// Index in `places`, -1 if nothing is known.
    place: Vec<i64>,
    /// What it does, to what, and the rest: numbers of `strings`.
    verb: Vec<u32>,
    name: Vec<u32>,
    rest: Vec<u32>,
    /// The same event of the other run, or -1.
    twin: Vec<i64>,
}

impl<'c> Every<'c> {
    pub fn of(timeline: &Timeline<'_>, changes: &'c Changes<'_>, sources: &Sources) -> Every<'c> {
        let mut tables = Tables {
            timeline,
            sources,
            strings: Strings::default(),
            places: vec![],
            known: HashMap::new(),
        };
        let failing = tables.run(&timeline.failing.run.trace, &timeline.twins.failing);
        let passing = (timeline.passing.as_ref())
            .map(|side| tables.run(&side.run.trace, &timeline.twins.passing));
        let flat = changes.list.iter().flat_map(|c| [c.event, c.variable, c.value]);
        Every {
            strings: tables.strings,
            places: tables.places,
            failing,
            passing,
            variables: &changes.variables,
            values: &changes.values,
            changes: flat.collect(),
        }
    }
}

struct Tables<'a, 'd> {
    timeline: &'a Timeline<'d>,
    sources: &'a Sources,
    strings: Strings,
    places: Vec<(u32, u32, u32)>,
    known: HashMap<Place, usize>,
}

impl Tables<'_, '_> {
    fn run(&mut self, trace: &Trace, twins: &[Option<u32>]) -> Run {
        let lanes: Vec<usize> = trace.threads.iter().map(|name| self.timeline.lane(name)).collect();
        let mut run = Run::default();
        for (event, twin) in trace.events.iter().zip(twins) {
            let phrase = words::phrase(trace, event);
            run.thread.push(lanes[event.thread.index()]);
            run.place.push(words::place(trace, event).map_or(-1, |place| self.place(place)));
            run.verb.push(self.strings.number(phrase.verb));
            run.name.push(self.strings.number(&phrase.name));
            run.rest.push(self.strings.number(&phrase.rest));
            run.twin.push(twin.map_or(-1, i64::from));
        }
        run
    }

    fn place(&mut self, place: &Place) -> i64 {
        if let Some(number) = self.known.get(place) {
            return *number as i64;
        }
        let key = self.timeline.key(place).unwrap_or_default();
        let label = self.timeline.names.label(place);
        let source = self.sources.line(place).unwrap_or_default();
        let texts = [key, label, source].map(|text| self.strings.number(&text));
        let number = self.places.len();
        self.places.push(texts.into());
        self.known.insert(place.clone(), number);
        number as i64
    }
}
