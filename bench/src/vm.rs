//! `cargo xtask bench vm`: how fast the machine executes, and how many schedules it runs.
//!
//! - One execution of CPU-bound programs without threads (`bench/cpu`), on both engines, against the same source compiled with
//!   `clang -O0` and `-O2`: processor time, compiling by the engine included. Start-up is measured apart, with no rounds to do,
//!   and subtracted on all sides.
//! - Schedules: complete runs of the fixed twins of twelve programs of the corpus by the random strategy, one worker,
//!   counted by `find` itself, against starting the native program again and again; what `find` needs before its first schedule
//!   (reading and lowering the program), and how much memory at most.
//!
//! Everything on one core; all sides in turn several times; medians.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::measure::{
    geometric_mean, median, milliseconds, processor_time, spend, stay_on_one_core, time,
};
use crate::scale::Scale;
use xtask::error::Error;
use xtask::workspace::{self, Profile, demand, line, name};

const COMPILER: &str = "clang-19";
/// Programs in `bench/cpu`, with rounds that take some 0.3 s natively on a quiet machine. With a [`SHORT`]th of that a good part of the time is
/// compiling, which is a column of its own.
const LOOPS: [(&str, u64); 10] = [
    ("mix", 16_000),
    ("sieve", 8_000),
    ("matrix", 2_700),
    ("sort", 1_400),
    ("hash", 50_000),
    ("compress", 12_000),
    ("floats", 280_000),
    ("calls", 45_000),
    ("parse", 800_000),
    ("structs", 250_000),
];
const SHORT: u64 = 6;
const ENGINES: [&str; 2] = ["interpret", "compiled"];
/// Folders of the corpus. The first one is the headline's.
const PROGRAMS: [&str; 12] = [
    "atomicity/bank",
    "atomicity/bbuf",
    "atomicity/airline",
    "atomicity/pingpong",
    "data-race/producerconsumer",
    "data-race/bzip2smp",
    "sync/boundedbuffer",
    "sync/piper",
    "sync/rwlock_upgrade",
    "sync/streamcluster",
    "sync/swarm",
    "sync/blackscholes",
];
/// How long schedules of a program are counted in one turn.
const COUNTED: &str = "2s";

/// How much is measured.
struct Extent {
    /// How often the sides take turns.
    turns: usize,
    /// Of each of the loops, if not its own.
    rounds: Option<u64>,
    /// Of a program at most, in one turn.
    schedules: u64,
    programs: &'static [&'static str],
    /// Of the native program, in one turn.
    executions: u64,
}

const WHOLE: Extent =
    Extent { turns: 5, rounds: None, schedules: 50_000, programs: &PROGRAMS, executions: 400 };
const SMOKE: Extent = Extent {
    turns: 1,
    rounds: Some(20),
    schedules: 200,
    programs: PROGRAMS.split_at(2).0,
    executions: 4,
};

pub fn run(scale: Scale) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    stay_on_one_core()?;
    let extent = scale.choose(WHOLE, SMOKE);
    let bench = Bench { tool, scratch: scratch.path().to_owned(), extent };

    let [interpreted, compiled, short] = bench.loops()?;
    println!(
        "\n{:26} {:>12} {:>14} {:>8} {:>10} {:>8}",
        "program", "fork+exec/s", "vm schedules/s", "ratio", "start-up", "memory"
    );
    let mut headline = None;
    for program in bench.extent.programs {
        let rates = bench.schedules(program)?;
        println!(
            "{program:26} {:>12.0} {:>14.0} {:>7.0}× {:>7} ms {:>5} MB",
            rates.native,
            rates.machine,
            rates.ratio,
            milliseconds(rates.start_up),
            rates.kilobytes / 1024
        );
        headline.get_or_insert(rates);
    }
    if let Some(rates) = headline {
        println!(
            "\nvm: {:.0} schedules/s, {:.0}× fork+exec, interpreted {interpreted:.1}× and compiled {compiled:.2}× ({short:.1}× where runs are short) slower than native -O0",
            rates.machine, rates.ratio
        );
    }
    Ok(())
}

struct Bench {
    tool: PathBuf,
    scratch: PathBuf,
    extent: Extent,
}

/// A program of `bench/cpu`: processor seconds, as medians, and how much slower than -O0 the engines are.
struct Loop {
    plain: f64,
    optimised: f64,
    slower: [f64; ENGINES.len()],
    /// The same of the compiled engine where the run is short.
    short: f64,
    /// Instructions a second, by engine.
    rates: [f64; ENGINES.len()],
}

/// Runs a second.
struct Rates {
    native: f64,
    machine: f64,
    ratio: f64,
    /// Processor seconds of a search of one schedule.
    start_up: f64,
    /// Of the search, at most.
    kilobytes: u64,
}

/// What is used of the answer to `unravel run --json`.
#[derive(Deserialize)]
struct RunAnswer {
    steps: u64,
}

/// What is used of the answer to `unravel find --json`.
#[derive(Deserialize)]
struct FindAnswer {
    schedules: u64,
    seconds: f64,
    findings: Vec<serde_json::Value>,
    inconclusive: u64,
}

impl Bench {
    /// Prints the table, and returns the geometric means: of the engines, and of short runs.
    fn loops(&self) -> Result<[f64; 3], Error> {
        println!(
            "{:10} {:>11} {:>11} {:>11} {:>11} {:>8} {:>16} {:>16}",
            "program",
            "native -O0",
            "native -O2",
            ENGINES[0],
            ENGINES[1],
            "short",
            "instructions/s",
            "compiled"
        );
        let mut slower = Vec::new();
        for (program, rounds) in LOOPS {
            let measured = self.cpu_bound(program, self.extent.rounds.unwrap_or(rounds))?;
            println!(
                "{program:10} {:>9.3} s {:>9.3} s {:>10.1}× {:>10.2}× {:>7.1}× {:>14.0} M {:>14.0} M",
                measured.plain,
                measured.optimised,
                measured.slower[0],
                measured.slower[1],
                measured.short,
                measured.rates[0] / 1e6,
                measured.rates[1] / 1e6,
            );
            slower.push([measured.slower[0], measured.slower[1], measured.short]);
        }
        let means = [0, 1, 2].map(|which| geometric_mean(slower.iter().map(|all| all[which])));
        let [interpreted, compiled, short] = means;
        println!("{:34} {interpreted:>10.1}× {compiled:>10.2}× {short:>7.1}×", "geometric mean");
        Ok(means)
    }

    fn cpu_bound(&self, program: &str, rounds: u64) -> Result<Loop, Error> {
        let (few, rounds) = ((rounds / SHORT).max(1).to_string(), rounds.to_string());
        let (few, rounds) = (few.as_str(), rounds.as_str());
        let source = workspace::root().join("bench/cpu").join(program).with_extension("c");
        let natives = [
            self.compile(&source, &format!("{program}-O0"), "-O0")?,
            self.compile(&source, &format!("{program}-O2"), "-O2")?,
        ];
        let built = self.scratch.join(program).with_extension("unravel");
        demand(
            Command::new(&self.tool)
                .arg("build")
                .arg(&source)
                .arg("-o")
                .arg(&built)
                .stdout(Stdio::null()),
        )?;
        let native = |which: usize, rounds: &str| {
            let mut command = Command::new(&natives[which]);
            command.arg(rounds);
            command
        };
        let machine = |engine: &str, rounds: &str| {
            let mut command = Command::new(&self.tool);
            command.arg("run").arg(&built).args(["--json", "--engine", engine]);
            command.args(["--max-steps", "1000000000000", "--", rounds]);
            command
        };
        let mut turns = Vec::new();
        for _ in 0..self.extent.turns {
            let mut seconds = [0.0; 2];
            let mut sum = String::new();
            for (which, seconds) in seconds.iter_mut().enumerate() {
                let (idle, _) = processor_time(|| output(&mut native(which, "0")))?;
                let busy;
                (busy, sum) = processor_time(|| output(&mut native(which, rounds)))?;
                *seconds = (busy - idle).max(1e-6);
            }
            let idle = processor_time(|| output(&mut native(0, "0")))?.0;
            let native_short = processor_time(|| output(&mut native(0, few)))?.0 - idle;
            let idle = processor_time(|| outputs(&mut machine(ENGINES[1], "0")))?.0;
            let short = processor_time(|| outputs(&mut machine(ENGINES[1], few)))?.0 - idle;
            let short = short.max(1e-6) / native_short.max(1e-6);
            let mut slower = [0.0; ENGINES.len()];
            let mut rates = [0.0; ENGINES.len()];
            for (number, engine) in ENGINES.into_iter().enumerate() {
                let (start_up, _) = processor_time(|| outputs(&mut machine(engine, "0")))?;
                let (total, (text, printed)) =
                    processor_time(|| outputs(&mut machine(engine, rounds)))?;
                let answer: RunAnswer = answer(&machine(engine, rounds), &text)?;
                if !printed.starts_with(&sum) {
                    return Err(Error::Answer {
                        command: line(&machine(engine, rounds)),
                        problem: format!("the checksum is not the native one, {}", sum.trim()),
                    });
                }
                let spent = (total - start_up).max(1e-6);
                slower[number] = spent / seconds[0];
                rates[number] = answer.steps as f64 / spent;
            }
            turns.push((seconds, slower, rates, short));
        }
        Ok(Loop {
            plain: median(turns.iter().map(|turn| turn.0[0])),
            optimised: median(turns.iter().map(|turn| turn.0[1])),
            short: median(turns.iter().map(|turn| turn.3)),
            slower: [0, 1].map(|engine| median(turns.iter().map(|turn| turn.1[engine]))),
            rates: [0, 1].map(|engine| median(turns.iter().map(|turn| turn.2[engine]))),
        })
    }

    fn schedules(&self, program: &str) -> Result<Rates, Error> {
        let Extent { turns, executions, .. } = self.extent;
        let source = workspace::root().join("corpus").join(program).join("fixed.c");
        let binary = self.compile(&source, &program.replace('/', "-"), "-O0")?;
        let mut measured = Vec::new();
        for _ in 0..turns {
            let (seconds, ()) = time(|| {
                (0..executions)
                    .try_for_each(|_| demand(Command::new(&binary).stdout(Stdio::null())))
            })?;
            measured.push((executions as f64 / seconds, self.rate(&source)?));
        }
        let one = || spend(self.find(&source, 1).stdout(Stdio::null()));
        let starts: Result<Vec<_>, _> = (0..turns).map(|_| one()).collect();
        let many = spend(self.find(&source, self.extent.schedules).stdout(Stdio::null()))?;
        Ok(Rates {
            start_up: median(starts?.iter().map(|spent| spent.processor_seconds)),
            kilobytes: many.kilobytes,
            native: median(measured.iter().map(|t| t.0)),
            machine: median(measured.iter().map(|t| t.1)),
            ratio: median(measured.iter().map(|t| t.1 / t.0)),
        })
    }

    fn find(&self, source: &Path, schedules: u64) -> Command {
        let mut command = Command::new(&self.tool);
        command.arg("find").arg(source).arg("--out").arg(&self.scratch);
        command.args(["--strategy", "random", "--jobs", "1", "--all", "--json", "--time", COUNTED]);
        command.arg("--schedules").arg(schedules.to_string()).stdin(Stdio::null());
        command
    }

    /// Schedules a second of the machine.
    fn rate(&self, source: &Path) -> Result<f64, Error> {
        let mut command = self.find(source, self.extent.schedules);
        let text = output(&mut command)?;
        let answer: FindAnswer = answer(&command, &text)?;
        if !answer.findings.is_empty() || answer.inconclusive > 0 {
            let problem = "a fixed twin does not pass all schedules".into();
            return Err(Error::Answer { command: line(&command), problem });
        }
        Ok(answer.schedules as f64 / answer.seconds)
    }

    fn compile(&self, source: &Path, program: &str, level: &str) -> Result<PathBuf, Error> {
        let binary = self.scratch.join(program);
        demand(
            Command::new(COMPILER).args([level, "-pthread"]).arg(source).arg("-o").arg(&binary),
        )?;
        Ok(binary)
    }
}

/// Standard output of a command that must succeed.
fn output(command: &mut Command) -> Result<String, Error> {
    outputs(command).map(|(output, _)| output)
}

/// Standard output and standard error of a command that must succeed. With `--json`, what the program under test prints is
/// on the second, so that the first is one document.
fn outputs(command: &mut Command) -> Result<(String, String), Error> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::Start { program: name(command), source })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        eprint!("{error}");
        return Err(Error::Failed { command: line(command), status: output.status });
    }
    Ok((out, error))
}

fn answer<T: DeserializeOwned>(command: &Command, text: &str) -> Result<T, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::Answer { command: line(command), problem: error.to_string() })
}
