//! The diagnosis of one finding, in a process of its own: a program that destroys its process, or does not come to an
//! end, costs this bug its diagnosis and nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_diagnose::{Options, Stage, diagnose};
use unravel_execute::{Apart, Judged, Laboratory, Received};
use unravel_explore::Finding;
use unravel_results::Diagnosis;
use unravel_solve::Heeding;
use unravel_trace::{Detail, Executor, Rules, Run};

use crate::budgets::{GRACE, HASTE, TICK};
use crate::explain::Task;
use crate::simplifying::simplified;

/// A diagnosis, with the runs that it is about.
#[derive(Debug, Serialize, Deserialize)]
pub struct Diagnosed {
    pub diagnosis: Diagnosis,
    /// The failing run, reduced; `None` if it did not fail again.
    pub failing: Option<Run>,
    pub passing: Option<Run>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Begins(Stage),
    Ends(Box<Result<Diagnosed, String>>),
}

/// Diagnoses in a forked process. An error is the reason why there is no diagnosis.
pub fn apart(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    finding: &Finding,
    deadline: Instant,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Stage, Duration),
) -> Result<Diagnosed, String> {
    let started = Instant::now();
    let mut stage = Stage::Replaying;
    let mut work: Apart<Message> = Apart::start(executor, |executor, stop, send| {
        let result = here(executor, request, finding, deadline, stop, &mut |stage| {
            send(&Message::Begins(stage));
        });
        send(&Message::Ends(Box::new(result)));
    })
    .map_err(|error| format!("no process can be started: {error}"))?;
    let mut stopped: Option<Instant> = None;
    loop {
        progress(stage, started.elapsed());
        match work.receive(TICK) {
            Received::Message(Message::Begins(next)) => stage = next,
            Received::Message(Message::Ends(result)) => return *result,
            Received::Ended { signal } => {
                return Err(format!("the program killed its process (signal {signal})"));
            }
            Received::Nothing => {}
        }
        if interrupted.load(Ordering::Relaxed) {
            work.stop();
            let since = *stopped.get_or_insert_with(Instant::now);
            if since.elapsed() > HASTE {
                return Err("interrupted before its diagnosis had come to anything".to_owned());
            }
        }
        if Instant::now() > deadline + GRACE {
            let seconds = started.elapsed().as_secs();
            return Err(format!(
                "its diagnosis did not end within {seconds} s; give it more with --diagnose-time"
            ));
        }
    }
}

fn here(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    finding: &Finding,
    deadline: Instant,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Stage),
) -> Result<Diagnosed, String> {
    let input = finding.run.input(request.input);
    // Differing exit codes are a failure only for who has seen both.
    let mut executor = Judged::new(executor, &finding.rules(&Rules::default()));
    let run = simplified(&mut executor, &input, finding, deadline, interrupted);
    let visible = run.schedule.visible.clone();
    let mut lab =
        Laboratory::new(&mut executor, input, visible).until(Some(deadline), Some(interrupted));
    let name = &request.program.name;
    let options = Options::default();
    let mut solver = Heeding::new(request.solver.make(), interrupted);
    let mut diagnosis = diagnose(&mut lab, name, &run, &mut solver, &options, progress)
        .map_err(|error| error.to_string())?;
    diagnosis.switches_given = finding.run.schedule.context_switches();
    if interrupted.load(Ordering::Relaxed) {
        diagnosis.notes.push("interrupted: this is what was known by then".to_owned());
    } else if Instant::now() >= deadline {
        diagnosis
            .notes
            .push("the time was up: more may be found with a larger --diagnose-time".to_owned());
    }
    // A symbolic run has events that others lack (accesses inside of library functions, the access that failed). The
    // diagnosis is about those.
    let failing = lab.replay(&diagnosis.failing.schedule, lab.at_most(Detail::Symbolic));
    let failing = failing.outcome.is_same_bug(&diagnosis.failing.outcome).then_some(failing);
    let passing = diagnosis
        .alternates
        .first()
        .map(|alternate| lab.replay(&alternate.run.schedule, Detail::Events));
    Ok(Diagnosed { diagnosis, failing, passing })
}
