//! Where a source creates threads and waits for their end, by the names of functions and of handles.
//!
//! Known are POSIX and C11 threads and those of the C++ library. A creation belongs to a thread if it names the function that
//! the thread began with, or is the statement that holds its lambda; a join, if it uses a name of the creation. A wrapper
//! of the user's counts as the statement that calls it, and an `if` that looks whether a creation or a join went well as the call
//! in its condition. What is behind a function pointer or in another file
//! than those at hand is not found, and no candidate comes of it.

use std::ops::Range;

use unravel_trace::Place;

use crate::source::Source;
use crate::spots::{Files, Spot, Stretch, position};

/// Words of statements that create threads.
const CREATING: [&str; 7] =
    ["pthread_create", "thrd_create", "thread", "jthread", "async", "emplace_back", "push_back"];
/// Names of functions and methods that wait for the end of a thread.
const JOINING: [&str; 5] = ["pthread_join", "thrd_join", "join", "get", "wait"];

/// The statements that create the thread of a spot; then those that call functions in which such statements are.
pub fn creations(of: &Spot, files: &Files) -> Vec<Stretch> {
    let Some(start) = of.frames.last() else { return Vec::new() };
    let creates = |source: &Source, bytes: &Range<usize>| {
        CREATING.iter().any(|word| source.mentions(bytes, word))
            && (source.mentions(bytes, plain(&start.function)) || holds(source, bytes, start))
    };
    with_callers(files, &creates)
}

/// The statements that wait for a thread with these creations; then those that call functions in which such statements are.
pub fn joins(creations: &[Stretch], files: &Files) -> Vec<Stretch> {
    let is_named = |source: &Source, handle: &str| {
        let mut own = creations.iter().filter_map(|one| Some((files.get(&one.file)?, one)));
        // A handle that was declared in the head of a loop over handles stands for any.
        let of_loop = source.text().contains(&format!("{handle} :"))
            || source.text().contains(&format!("{handle}:"));
        of_loop || own.any(|(its, one)| its.mentions(&one.region.bytes, handle))
    };
    let joins = |source: &Source, bytes: &Range<usize>| {
        source.calls(bytes.clone()).iter().any(|call| {
            let name = call.name.rsplit(['.', '>', ':']).next().unwrap_or(&call.name);
            let is_method = name.len() < call.name.len();
            let handle = if is_method {
                call.name.as_str()
            } else {
                call.arguments.first().map_or("", String::as_str)
            };
            let of_arguments = is_method || name.contains('_');
            JOINING.contains(&name) && of_arguments && is_named(source, root(handle))
        })
    };
    with_callers(files, &joins)
}

/// The plain statements that are so, and those that call the functions these are in.
fn with_callers(files: &Files, is_so: &dyn Fn(&Source, &Range<usize>) -> bool) -> Vec<Stretch> {
    let select = |is_so: &dyn Fn(&Source, &Range<usize>) -> bool| {
        let mut found = Vec::new();
        for (file, source) in files.opened() {
            let plain = source.plain_statements().into_iter();
            let plain = plain.map(|region| (region.bytes.clone(), region));
            let tests = source.tests(0..source.text().len()).into_iter();
            let tests = tests.filter_map(|(condition, _)| {
                Some((condition.clone(), source.region(&[source.position_of(condition.start)])?))
            });
            let all = plain.chain(tests).filter(|(bytes, _)| is_so(source, bytes));
            found.extend(all.map(|(_, region)| Stretch { file: file.to_owned(), region }));
        }
        found
    };
    let mut found: Vec<Stretch> = select(is_so);
    let functions: Vec<String> = found.iter().map(|one| one.region.function.clone()).collect();
    found.extend(select(&|source, bytes| {
        let calls = |name: &String| {
            !name.is_empty() && name != "main" && source.mentions(bytes, plain(name))
        };
        functions.iter().any(calls)
    }));
    found
}

/// Whether a statement holds the code of a place: that of a lambda.
fn holds(source: &Source, bytes: &Range<usize>, place: &Place) -> bool {
    let within = |bytes: &Range<usize>| {
        source.byte_at(position(place)).is_some_and(|at| bytes.contains(&at))
    };
    within(bytes)
        && source.function_at(position(place)).is_some_and(|function| function.name.is_empty())
}

/// The last part of a name, without parameters: `run` of `Pool::run(int)`.
fn plain(name: &str) -> &str {
    let name = name.split('(').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

/// The variable at the beginning of an expression: `threads` of `&threads[i]`.
fn root(expression: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = expression.find(is_word).unwrap_or(expression.len());
    expression[start..].split(|c| !is_word(c)).next().unwrap_or("")
}
