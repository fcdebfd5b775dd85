//! Changes of atomic objects in two steps that become one.
//!
//! Proposed wherever a cause has an event between the load and the change that goes by it; all such changes of one object become
//! one measure, as a repair of one of them leaves the others.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};

use super::{MOST_CAUSES, Proposal};
use crate::atomics::in_one_step;
use crate::measures::Measure;
use crate::rewrite::{Edit, Rewrite};
use crate::source::{Source, TwoSteps};
use crate::spots::{Files, position, spots};

/// What changing one step costs: less than any lock.
const STEP: u64 = 4;

/// What is done to one object.
struct Object {
    name: String,
    covers: Vec<usize>,
    steps: Vec<(String, TwoSteps)>,
}

pub(super) fn one_steps(
    classes: &[CauseClass],
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut objects: Vec<Object> = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let causes = class.causes.iter().take(MOST_CAUSES);
        for spot in causes.flat_map(|cause| spots(cause, analysis)).flatten() {
            let Some(place) = spot.frames.first() else { continue };
            let file = place.file.to_string();
            files.open(&file);
            let Some(source) = files.get(&file) else { continue };
            let Some(function) = source.function_at(position(place)) else { continue };
            for steps in source.two_steps(function.body.clone()) {
                if lines(source, &steps).contains(&place.line) {
                    note(&mut objects, index, &file, steps);
                }
            }
        }
    }
    objects.into_iter().filter_map(|object| proposal(object, files)).collect()
}

/// From the load to the end of the change.
fn lines(source: &Source, steps: &TwoSteps) -> std::ops::RangeInclusive<u32> {
    let line = |byte: usize| source.position_of(byte).line;
    let start = steps.load.bytes.start.min(steps.act.bytes.start);
    line(start)..=line(steps.act.bytes.end)
}

fn note(objects: &mut Vec<Object>, index: usize, file: &str, steps: TwoSteps) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = steps.load.object.rsplit(|c| !is_word(c)).find(|word| !word.is_empty());
    let name = name.unwrap_or(&steps.load.object).to_owned();
    let object = match objects.iter_mut().position(|object| object.name == name) {
        Some(at) => &mut objects[at],
        None => {
            objects.push(Object { name, covers: Vec::new(), steps: Vec::new() });
            objects.last_mut().expect("it was just put there")
        }
    };
    if !object.covers.contains(&index) {
        object.covers.push(index);
    }
    let steps = (file.to_owned(), steps);
    if !object.steps.contains(&steps) {
        object.steps.push(steps);
    }
}

fn proposal(object: Object, files: &Files) -> Option<Proposal> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut places: Vec<String> = Vec::new();
    for (file, steps) in &object.steps {
        let source = files.get(file)?;
        let new = in_one_step(file, source, steps)?;
        edits.extend(new.into_iter().filter(|edit| !edits.contains(edit)).collect::<Vec<_>>());
        let function = source.function_at(source.position_of(steps.load.bytes.start))?;
        let line = source.position_of(steps.load.bytes.start).line;
        places.push(format!("{} (line {line})", function.name));
    }
    let first = object.steps.first().map(|(_, steps)| steps.load.object.as_str());
    let title = format!("`{}` is read and changed at once in {}", first?, places.join(" and "));
    let cost = STEP * object.steps.len() as u64;
    let rewrite = Rewrite { kind: RepairKind::AtomicUpdate, title, edits };
    Some(Proposal { measure: Measure::Rewrite(rewrite), covers: object.covers, cost })
}
