//! One line on standard error that says what is being done, if a person is there to read it.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use unravel_diagnose::Stage;

/// How often the line is drawn anew at most, a second.
const HERTZ: u8 = 10;

/// The line. It is gone when dropped.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Nothing is shown unless `wanted`, and unless standard error is a terminal.
    pub fn new(wanted: bool) -> Progress {
        let error = std::io::stderr();
        let shown = wanted && error.is_terminal();
        let kept = error.as_fd().try_clone_to_owned().ok().filter(|_| shown);
        Progress::on(kept.map(File::from))
    }

    /// On a terminal that was standard error before a program got it.
    pub fn on(terminal: Option<File>) -> Progress {
        let bar = ProgressBar::new_spinner();
        let pair = terminal.and_then(|file| Some((file.try_clone().ok()?, file)));
        bar.set_draw_target(match pair {
            Some((read, write)) => {
                ProgressDrawTarget::term(Term::read_write_pair(read, write), HERTZ)
            }
            None => ProgressDrawTarget::hidden(),
        });
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("a valid template");
        bar.set_style(style);
        Progress { bar }
    }

    pub fn show(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A stage of a diagnosis in words.
pub fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Replaying => "replaying the failing run",
        Stage::SeekingFailing => "looking for an order of the paths that fails",
        Stage::Reducing => "removing context switches",
        Stage::SeekingAlternate => "looking for the nearest schedule that passes",
        Stage::SeekingCause => "looking for the root cause",
    }
}
