//! The user's own idea of a failure: exit codes, expected output, a check command.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use unravel_trace::{Failure, FailureKind, Outcome, Rules, Run, ThreadName};

/// Judges runs of this process.
#[derive(Debug)]
pub struct Judge {
    rules: Rules,
    /// Receives the program's standard output, if it matters.
    output: Option<File>,
}

impl Judge {
    /// Sends the process's standard output and error away, keeping the output if it is to be judged. For
    /// processes that only run the program.
    pub fn silent(rules: &Rules) -> std::io::Result<Judge> {
        let nowhere = File::options().write(true).open("/dev/null")?;
        let output = if rules.need_output() { Some(memory_file()?) } else { None };
        redirect(output.as_ref().unwrap_or(&nowhere), 1)?;
        redirect(&nowhere, 2)?;
        Ok(Judge { rules: rules.clone(), output })
    }

    /// Leaves the output alone unless it is to be judged; then it is shown after each run.
    pub fn open(rules: &Rules) -> std::io::Result<Judge> {
        let output = if rules.need_output() { Some(memory_file()?) } else { None };
        Ok(Judge { rules: rules.clone(), output })
    }

    /// Runs `execute` with its standard output kept, if that is needed, and shown afterwards.
    pub fn around(&mut self, execute: impl FnOnce() -> Run) -> Run {
        let Some(output) = &self.output else {
            let mut run = execute();
            self.judge(&mut run);
            return run;
        };
        // SAFETY: our own descriptors, put back below.
        let saved = unsafe { libc::dup(1) };
        let _ = redirect(output, 1);
        let mut run = execute();
        // SAFETY: puts back the descriptor kept above, which is nobody else's.
        unsafe {
            libc::dup2(saved, 1);
            libc::close(saved);
        }
        let shown = self.take_output();
        let _ = std::io::stdout().write_all(&shown).and_then(|()| std::io::stdout().flush());
        self.judge_output(&mut run, shown);
        run
    }

    /// Turns a run that ended by itself into a failure if the rules say so.
    pub fn judge(&mut self, run: &mut Run) {
        let output = if self.output.is_some() { self.take_output() } else { Vec::new() };
        self.judge_output(run, output);
    }

    fn judge_output(&self, run: &mut Run, output: Vec<u8>) {
        let Outcome::Exited { code } = run.outcome else { return };
        let verdict = if self.rules.fail_on_exit && code != 0 {
            Some((FailureKind::ExitCode, format!("the program exited with code {code}")))
        } else if self.rules.expect_output.as_ref().is_some_and(|expected| *expected != output) {
            let expected = self.rules.expect_output.as_deref().unwrap_or_default();
            Some((FailureKind::Output, difference(expected, &output)))
        } else {
            self.rules.check.as_ref().and_then(|command| check(command, &output, code))
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

    fn take_output(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.output {
            let _ = file.seek(SeekFrom::Start(0));
            let _ = file.read_to_end(&mut bytes);
            let _ = file.set_len(0);
            let _ = file.seek(SeekFrom::Start(0));
        }
        bytes
    }
}

/// While it lives, what this process writes to its standard output and error goes nowhere: for commands that run
/// the program many times and have words of their own.
#[derive(Debug)]
pub struct Silence {
    output: OwnedFd,
    error: OwnedFd,
}

impl Silence {
    /// Also gives the judge that sees the output before it is gone.
    pub fn begin(rules: &Rules) -> std::io::Result<(Silence, Judge)> {
        std::io::stdout().flush()?;
        let silence = Silence {
            output: std::io::stdout().as_fd().try_clone_to_owned()?,
            error: std::io::stderr().as_fd().try_clone_to_owned()?,
        };
        Ok((silence, Judge::silent(rules)?))
    }

    /// The standard error as it was, for progress.
    pub fn stderr(&self) -> std::io::Result<File> {
        Ok(File::from(self.error.try_clone()?))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // What the program's own buffers still hold belongs nowhere.
        // SAFETY: flushes all streams of the C library.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let _ = std::io::stdout().flush();
        for (saved, descriptor) in [(&self.output, 1), (&self.error, 2)] {
            // SAFETY: puts back a descriptor of this process.
            unsafe { libc::dup2(saved.as_raw_fd(), descriptor) };
        }
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

fn memory_file() -> std::io::Result<File> {
    // SAFETY: a new descriptor that we own.
    unsafe {
        let fd = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 { Err(std::io::Error::last_os_error()) } else { Ok(File::from_raw_fd(fd)) }
    }
}

fn redirect(to: &File, descriptor: i32) -> std::io::Result<()> {
    // SAFETY: replaces a standard descriptor of this process.
    let result = unsafe { libc::dup2(to.as_raw_fd(), descriptor) };
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
