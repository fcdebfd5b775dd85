//! Which thread has the assertion: the one that is marked, or the one that the user names.

use std::path::Path;

use super::executions::without_spaces;
use super::lines::{Assertion, ThreadFile};
use super::{ImportError, Options};

/// A file's last condition, which is what an assertion is compared by.
fn last_condition(file: &ThreadFile) -> Option<String> {
    file.conditions.last().map(|condition| without_spaces(&condition.text))
}

/// Sees to it that one of the files of the execution that is read has the assertion. `chosen` are indices into `files`.
pub(super) fn settle(
    directory: &Path,
    files: &mut [ThreadFile],
    chosen: &[usize],
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<(), ImportError> {
    let folder = |what| Err(ImportError::Folder { path: directory.to_owned(), what });
    if let Some(failing) = &options.failing {
        let Some(own) = chosen.iter().copied().find(|index| files[*index].id == *failing) else {
            return folder(format!("there is no thread {failing} in this execution to fail"));
        };
        name(files, own, chosen, notes);
        return Ok(());
    }
    let marked: Vec<usize> =
        chosen.iter().copied().filter(|index| files[*index].assertion.is_some()).collect();
    match marked[..] {
        [_] => Ok(()),
        [a, b, ..] => folder(format!(
            "T{} and T{} are both marked with an assertion",
            files[a].id, files[b].id
        )),
        [] => match met_elsewhere(files, chosen) {
            Some((own, assertion)) => {
                let id = &files[own].id;
                notes.push(format!("T{id} ends with an assertion that is marked in another execution"));
                files[own].assertion = Some(assertion);
                Ok(())
            }
            None => folder(
                "no thread is marked with <assertThread_fail> or <assertThread_ok>: what is the bug? \
                 Name the thread whose last path condition is the failure with --failing"
                    .to_owned(),
            ),
        },
    }
}

/// The user says that the last condition of a thread is the failure, unless the file says that it held. No other thread has
/// an assertion then; the same thread has it in other executions in which it ends with the same condition.
fn name(files: &mut [ThreadFile], own: usize, chosen: &[usize], notes: &mut Vec<String>) {
    let (failing, last) = (files[own].id.clone(), last_condition(&files[own]));
    let assertion = *files[own].assertion.get_or_insert(Assertion::Fails);
    for (index, file) in files.iter_mut().enumerate() {
        if file.id == failing {
            if file.assertion.is_none() && last_condition(file) == last {
                file.assertion = Some(assertion);
            }
        } else if file.assertion.take().is_some() && chosen.contains(&index) {
            notes.push(format!("the assertion of T{} is taken for a branch", file.id));
        }
    }
}

/// A file of this execution that ends with a condition which is marked in another.
fn met_elsewhere(files: &[ThreadFile], chosen: &[usize]) -> Option<(usize, Assertion)> {
    chosen.iter().find_map(|own| {
        let last = last_condition(&files[*own])?;
        let same = |file: &&ThreadFile| {
            file.id == files[*own].id && last_condition(file).as_ref() == Some(&last)
        };
        let assertion = files.iter().filter(same).find_map(|file| file.assertion)?;
        Some((*own, assertion))
    })
}
