//! Builds programs to be recorded, with the slow trace beside the log, runs them, and compares the two.

#![allow(dead_code, reason = "each test uses some of it")]

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use unravel_driver::{Compiler, wrap_with};
use unravel_instrument::{OpenedLog, Options};
use unravel_recording::places::trace;
use unravel_recording::shape::Leaves;
use unravel_recording::{Decoded, Lost, Objects, Record, Stream};

/// A folder with one program in it.
pub struct Built {
    pub folder: tempfile::TempDir,
    pub program: PathBuf,
}

pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Where the program lies in memory, if there is such a place: logs are large.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.expect("a scratch folder")
}

pub fn clang(arguments: &[&str]) {
    let status = Command::new("clang-19").args(arguments).status().expect("clang-19 is installed");
    assert!(status.success(), "clang-19 {arguments:?}");
}

fn wrapped(arguments: &[&str], traced: bool) -> i32 {
    let cxx = arguments.iter().any(|a| a.ends_with(".cpp"));
    let compiler = if cxx { Compiler::Cxx } else { Compiler::C };
    let options = Options { trace: traced };
    wrap_with(compiler, arguments.iter().map(OsString::from), options).expect("the wrapper works")
}

/// Builds with the slow trace in it.
pub fn build(arguments: &[&str]) -> Built {
    let folder = folder();
    let program = folder.path().join("program");
    let support = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/trace.c");
    let object = folder.path().join("trace.o");
    let path = |p: &Path| p.to_str().expect("plain").to_owned();
    clang(&["-O1", "-c", &path(&support), "-o", &path(&object)]);
    let (program_text, object_text) = (path(&program), path(&object));
    let mut all = arguments.to_vec();
    all.extend([object_text.as_str(), "-o", program_text.as_str(), "-lm", "-pthread"]);
    assert_eq!(wrapped(&all, true), 0, "{arguments:?} is built");
    Built { folder, program }
}

/// Builds as a user does.
pub fn build_plain(arguments: &[&str]) -> Built {
    let folder = folder();
    let program = folder.path().join("program");
    let text = program.to_str().expect("plain").to_owned();
    let mut all = arguments.to_vec();
    all.extend(["-o", text.as_str(), "-lm", "-pthread"]);
    assert_eq!(wrapped(&all, false), 0, "{arguments:?} is built");
    Built { folder, program }
}

pub fn source(name: &str) -> String {
    programs().join(name).to_str().expect("plain").to_owned()
}

impl Built {
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub fn command(&self, arguments: &[&str], flight: u32) -> Command {
        for old in fs::read_dir(self.folder.path()).expect("the folder").flatten() {
            let name = old.file_name().to_string_lossy().into_owned();
            if name.starts_with("log") || name.ends_with(".trace") {
                let _ = fs::remove_file(old.path());
            }
        }
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("UNRAVEL_LOG", self.log())
            .env("TRACE_FOLDER", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        match flight {
            0 => command.env_remove("UNRAVEL_FLIGHT"),
            megabytes => command.env("UNRAVEL_FLIGHT", megabytes.to_string()),
        };
        command
    }

    pub fn run(&self, arguments: &[&str], flight: u32) -> ExitStatus {
        let output = self.command(arguments, flight).output().expect("the program starts");
        output.status
    }

    /// Runs, and says what it printed.
    pub fn output(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments, 0).output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {text}", output.status);
        text
    }

    pub fn opened(&self) -> OpenedLog {
        OpenedLog::open(&self.log()).expect("the log opens")
    }

    /// What the thread really did.
    pub fn truth(&self, tid: u32) -> Vec<u32> {
        let path = self.folder.path().join(format!("{tid}.trace"));
        let Ok(mut file) = fs::File::open(path) else { return Vec::new() };
        let (mut all, mut chunk) = (Vec::new(), vec![0; 1 << 20]);
        loop {
            let read = file.read(&mut chunk).expect("the trace");
            let numbers = chunk[..read].chunks_exact(4);
            let numbers = numbers.map(|n| u32::from_le_bytes(n.try_into().expect("four")));
            let before = all.len();
            all.extend(numbers.take_while(|&n| n != 0).map(|n| n - 1));
            if all.len() - before < (1 << 18) || read == 0 {
                return all;
            }
        }
    }

    /// Decodes one thread, as numbers of the slow trace.
    pub fn decoded(&self, log: &OpenedLog, stream: &Stream) -> (Vec<u32>, Decoded) {
        // Where each function of the linked program comes from.
        let kept: Vec<_> = log.code.kept().collect();
        let mut origin = std::collections::HashMap::new();
        for (kept, ids) in kept.iter().zip(&log.ids) {
            for (number, id) in ids.iter().enumerate() {
                if let Some(id) = id {
                    origin.entry(*id).or_insert((number as u32, &kept.shape.functions[number]));
                }
            }
        }
        let mut branches = Vec::new();
        let decoded = log.decode_stream(stream, &mut Objects::default(), |record| {
            if let Record::Branch { function, block, successor } = record {
                let (number, shape) = origin[&function];
                let from = &shape.blocks[block.0 as usize];
                branches.push(match from.leaves {
                    Leaves::Invoke => trace::pad(number, from.successors[1] as usize),
                    _ => trace::branch(number, block.0 as usize, successor),
                });
            }
        });
        (branches, decoded)
    }

    /// Compares all threads of a run that ended by itself with the slow trace. Returns how many branches there were.
    pub fn assert_exact(&self, what: &str) -> usize {
        let log = self.opened();
        let mut all = 0;
        for (name, stream) in log.threads() {
            let truth = self.truth(stream.tid);
            let (branches, decoded) = self.decoded(&log, stream);
            let differs = truth.iter().zip(&branches).position(|(a, b)| a != b);
            let broken = decoded.lost.iter().any(|l| matches!(l, Lost::Undecodable { .. }));
            assert!(
                truth.len() == branches.len() && differs.is_none() && !broken,
                "{what}, {name}: {} branches decoded of {}, first difference {differs:?}, lost {:?}",
                branches.len(),
                truth.len(),
                decoded.lost,
            );
            all += branches.len();
        }
        assert!(all > 0, "{what}: no branch was recorded");
        all
    }
}

pub fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}
