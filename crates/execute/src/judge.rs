//! The user's own idea of a failure: exit codes, expected output, a check command. A function of a run and nothing else.

use std::process::{Command, Stdio};

use unravel_trace::{
    Busiest, Capabilities, EngineError, Executor, Failure, FailureKind, Guide, Health, Job,
    Observer, Outcome, Rules, Run, Scheduler, SiteTable, ThreadName, Whereabouts,
};

/// Turns a run that ended by itself into a failure if the rules say so. A run whose output is to be judged has it.
pub fn judge(rules: &Rules, run: &mut Run) {
    let Outcome::Exited { code } = run.outcome else { return };
    let output = run.output.as_deref().unwrap_or_default();
    let verdict = if rules.fail_on_exit && code != 0 {
        Some((FailureKind::ExitCode, format!("the program exited with code {code}")))
    } else if let Some(expected) = rules.expect_output.as_ref().filter(|e| **e != output) {
        Some((FailureKind::Output, difference(expected, output)))
    } else {
        rules.check.as_ref().and_then(|command| check(command, output, code))
    };
    if let Some((kind, message)) = verdict {
        run.outcome = Outcome::Failed(Box::new(Failure {
            kind,
            message,
            thread: ThreadName::main(),
            stack: Vec::new(),
            related: Vec::new(),
        }));
    }
}

/// An executor whose runs are judged. All that executes goes through it, so that a run means the same everywhere and no
/// room knows of rules.
#[derive(Debug)]
pub struct Judged<E> {
    executor: E,
    rules: Rules,
}

impl<E> Judged<E> {
    pub fn new(executor: E, rules: &Rules) -> Judged<E> {
        Judged { executor, rules: rules.clone() }
    }

    /// From now on its runs are judged so.
    pub fn set_rules(&mut self, rules: &Rules) {
        self.rules = rules.clone();
    }

    /// The executor itself.
    pub fn inner(&self) -> &E {
        &self.executor
    }
}

impl<E: Executor> Executor for Judged<E> {
    fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError> {
        let mut job = *job;
        job.want.output |= self.rules.need_output();
        let mut run = self.executor.run(&job, by, seen)?;
        judge(&self.rules, &mut run);
        Ok(run)
    }

    fn name(&self) -> &'static str {
        self.executor.name()
    }

    fn sites(&self) -> &SiteTable {
        self.executor.sites()
    }

    fn can(&self) -> Capabilities {
        self.executor.can()
    }

    fn guide(&mut self) -> Option<&mut dyn Guide> {
        self.executor.guide()
    }

    fn health(&self) -> Health {
        self.executor.health()
    }

    fn rest(&mut self) {
        self.executor.rest();
    }

    fn after_fork(&mut self) {
        self.executor.after_fork();
    }

    fn judges_orders(&self) -> bool {
        self.executor.judges_orders()
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        self.executor.whereabouts()
    }

    fn busiest(&self) -> Option<Busiest> {
        self.executor.busiest()
    }
}

/// Where two outputs differ, in words.
fn difference(expected: &[u8], found: &[u8]) -> String {
    let (expected, found) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(found));
    let (mut left, mut right) = (expected.lines(), found.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (Some(l), Some(r)) if l == r => {}
            (None, None) => break,
            (l, r) => {
                let show = |line: Option<&str>| line.map_or("nothing".into(), |l| format!("'{l}'"));
                return format!("output line {number}: expected {}, got {}", show(l), show(r));
            }
        }
    }
    "the output differs in its last line end".into()
}

fn check(command: &str, output: &[u8], code: i32) -> Option<(FailureKind, String)> {
    let path = std::env::temp_dir().join(format!("unravel-output-{}", std::process::id()));
    let result = std::fs::write(&path, output).and_then(|()| {
        Command::new("sh")
            .args(["-c", command])
            .env("UNRAVEL_STDOUT", &path)
            .env("UNRAVEL_EXIT", code.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
    });
    let _ = std::fs::remove_file(&path);
    match result {
        Ok(status) if status.success() => None,
        Ok(status) => {
            Some((FailureKind::Check, format!("the check '{command}' says no ({status})")))
        }
        Err(error) => {
            Some((FailureKind::Check, format!("the check '{command}' cannot be run: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: i32, output: &str) -> Run {
        let output = Some(output.as_bytes().to_vec());
        Run { outcome: Outcome::Exited { code }, output, ..Run::default() }
    }

    fn verdict(rules: &Rules, code: i32, output: &str) -> Option<FailureKind> {
        let mut run = run(code, output);
        judge(rules, &mut run);
        run.outcome.failure().map(|failure| failure.kind)
    }

    #[test]
    fn a_run_is_judged_by_what_it_is() {
        let exit = Rules { fail_on_exit: true, ..Rules::default() };
        assert_eq!(verdict(&exit, 3, ""), Some(FailureKind::ExitCode));
        assert_eq!(verdict(&exit, 0, ""), None);
        assert_eq!(verdict(&Rules::default(), 3, ""), None);
        let output = Rules { expect_output: Some(b"24\n".to_vec()), ..Rules::default() };
        assert_eq!(verdict(&output, 0, "23\n"), Some(FailureKind::Output));
        assert_eq!(verdict(&output, 0, "24\n"), None);
        let check = Rules { check: Some("grep -q 24 $UNRAVEL_STDOUT".into()), ..Rules::default() };
        assert_eq!(verdict(&check, 0, "23\n"), Some(FailureKind::Check));
        assert_eq!(verdict(&check, 0, "24\n"), None);
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference(b"a\nb\n", b"a\nc\n"), "output line 2: expected 'b', got 'c'");
        assert_eq!(difference(b"a\n", b"a"), "the output differs in its last line end");
    }
}
