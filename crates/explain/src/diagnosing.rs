//! The diagnosis of one finding, in a process of its own: a program that destroys its process, or does not come to an
//! end, costs this bug its diagnosis and nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_certify::Certifying;
use unravel_diagnose::{Options, Searched, Stage, diagnose};
use unravel_execute::{Apart, Attended, Judged, Laboratory, Limit, clock};
use unravel_explore::Finding;
use unravel_results::{Diagnosis, Status};
use unravel_solve::{Heeding, Solver, SolverChoice};
use unravel_trace::{Detail, Executor, Rules, Run};

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

/// What is to be diagnosed, and how long.
#[derive(Clone, Debug)]
pub struct Why<'w> {
    pub request: &'w Task<'w>,
    pub finding: &'w Finding,
    pub searched: Searched,
    pub deadline: Instant,
    pub interrupted: &'w AtomicBool,
}

/// Diagnoses in a forked process. An error is the reason why there is no diagnosis.
pub fn apart(
    executor: &mut dyn Executor,
    why: &Why<'_>,
    progress: &mut dyn FnMut(Stage, Duration),
) -> Result<Diagnosed, String> {
    let Why { deadline, interrupted, .. } = *why;
    let started = Instant::now();
    let mut stage = Stage::Replaying;
    let mut work: Apart<Message> = Apart::start(executor, |executor, stop, send| {
        let result = here(executor, &Why { interrupted: stop, ..why.clone() }, &mut |stage| {
            send(&Message::Begins(stage));
        });
        send(&Message::Ends(Box::new(result)));
    })
    .map_err(|error| format!("no process can be started: {error}"))?;
    let limit = Limit::new(Some(deadline), Some(interrupted));
    let attended = work.attend(limit, |message| {
        match message {
            Some(Message::Begins(next)) => stage = next,
            Some(Message::Ends(result)) => return Some(*result),
            None => {}
        }
        progress(stage, started.elapsed());
        None
    });
    match attended {
        Attended::Done(result) => result,
        Attended::Ended { signal } => {
            Err(format!("the program killed its process (signal {signal})"))
        }
        Attended::Late if limit.is_interrupted() => {
            Err("interrupted before its diagnosis had come to anything".to_owned())
        }
        Attended::Late => {
            let seconds = started.elapsed().as_secs_f64();
            Err(format!(
                "its diagnosis did not end within {seconds:.1} s; give it more with --diagnose-time"
            ))
        }
    }
}

fn here(
    executor: &mut dyn Executor,
    why: &Why<'_>,
    progress: &mut dyn FnMut(Stage),
) -> Result<Diagnosed, String> {
    let Why { request, finding, deadline, interrupted, .. } = *why;
    let input = finding.run.input(request.input);
    // Differing exit codes are a failure only for who has seen both.
    let mut executor = Judged::new(executor, &finding.rules(&Rules::default()));
    let run = simplified(&mut executor, &input, finding, deadline, interrupted);
    let visible = run.schedule.visible.clone();
    let mut lab =
        Laboratory::new(&mut executor, input, visible).until(Some(deadline), Some(interrupted));
    let name = &request.program.name;
    let certify = request.certify && request.solver == SolverChoice::Orders;
    let options = Options { searched: why.searched.clone(), certify, ..Options::default() };
    let (certifying, ledger) = Certifying::new(None).map_err(|error| error.to_string())?;
    let solver: Box<dyn Solver> = match certify {
        true => Box::new(certifying),
        false => request.solver.make(),
    };
    let mut solver = Heeding::new(solver, interrupted).until(Some(clock::on_the_wall(deadline)));
    let mut diagnosis = diagnose(&mut lab, name, &run, &mut solver, &options, progress)
        .map_err(|error| error.to_string())?;
    if request.certify {
        diagnosis.certified = Some(ledger.borrow().of(&diagnosis));
    }
    diagnosis.switches_given = finding.run.schedule.context_switches();
    if interrupted.load(Ordering::Relaxed) {
        diagnosis.notes.push("interrupted: this is what was known by then".to_owned());
    } else if clock::now() >= deadline {
        diagnosis
            .notes
            .push("the time was up: more may be found with a larger --diagnose-time".to_owned());
    }
    // A symbolic run has events that others lack (accesses inside of library functions, the access that failed). The
    // diagnosis is about those.
    let failing = lab.replay(&diagnosis.failing.schedule, lab.at_most(Detail::Symbolic));
    let failing = failing.outcome.is_same_bug(&diagnosis.failing.outcome).then_some(failing);
    if failing.is_none() && diagnosis.status == Status::Confirmed {
        let reason = "the simplified run did not fail again when it was replayed".to_owned();
        diagnosis.status = Status::Inconclusive { reason };
    }
    let passing = diagnosis.alternates.first().map(|alternate| {
        if alternate.usual_answers {
            lab.force(Vec::new());
        }
        lab.replay(&alternate.run.schedule, Detail::Events)
    });
    Ok(Diagnosed { diagnosis, failing, passing })
}
