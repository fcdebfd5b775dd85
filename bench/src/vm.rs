//! `cargo xtask bench vm`: how fast the machine executes, and how many schedules it runs.
//!
//! - One execution of CPU-bound programs without threads (`bench/cpu`), on both engines, against the same source compiled with
//!   `clang -O0` and `-O2`: processor time, compiling by the engine included. Start-up is measured apart, with no rounds to do,
//!   and subtracted on all sides.
//! - Schedules: complete runs of the fixed twins of `bank` and `bbuf` by the random strategy, one worker,
//!   counted by `find` itself, against starting the native program again and again.
//!
//! Everything on one core; all sides in turn several times; medians.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::measure::{geometric_mean, median, processor_time, stay_on_one_core, time};
use crate::scale::Scale;
use xtask::error::Error;
use xtask::workspace::{self, Profile, demand, line, name};

const COMPILER: &str = "clang-19";
/// Programs in `bench/cpu`, with rounds that take about 0.1 s natively on a quiet machine: with a hundredth of that, what is measured is
/// how long compiling takes.
const LOOPS: [(&str, &str); 10] = [
    ("mix", "2700"),
    ("sieve", "800"),
    ("matrix", "450"),
    ("sort", "350"),
    ("hash", "5500"),
    ("compress", "2500"),
    ("floats", "40000"),
    ("calls", "9000"),
    ("parse", "200000"),
    ("structs", "50000"),
];
const ENGINES: [&str; 2] = ["interpret", "compiled"];
/// The first one is the headline's.
const PROGRAMS: [&str; 2] = ["bank", "bbuf"];

/// How much is measured.
struct Extent {
    /// How often the sides take turns.
    turns: usize,
    /// Of each of the loops, if not its own.
    rounds: Option<&'static str>,
    /// Of a program, in one turn.
    schedules: u64,
    /// Of the native program, in one turn.
    executions: u64,
}

const WHOLE: Extent = Extent { turns: 5, rounds: None, schedules: 50_000, executions: 400 };
const SMOKE: Extent = Extent { turns: 1, rounds: Some("20"), schedules: 200, executions: 4 };

pub fn run(scale: Scale) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    stay_on_one_core()?;
    let extent = scale.choose(WHOLE, SMOKE);
    let bench = Bench { tool, scratch: scratch.path().to_owned(), extent };

    let [interpreted, compiled] = bench.loops()?;
    println!("\n{:10} {:>12} {:>14} {:>8}", "program", "fork+exec/s", "vm schedules/s", "ratio");
    let mut headline = None;
    for program in PROGRAMS {
        let rates = bench.schedules(program)?;
        println!(
            "{program:10} {:>12.0} {:>14.0} {:>7.0}×",
            rates.native, rates.machine, rates.ratio
        );
        headline.get_or_insert(rates);
    }
    if let Some(rates) = headline {
        println!(
            "\nvm: {:.0} schedules/s, {:.0}× fork+exec, interpreted {interpreted:.1}× and compiled {compiled:.1}× slower than native -O0",
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
    /// Instructions a second, by engine.
    rates: [f64; ENGINES.len()],
}

/// Runs a second.
struct Rates {
    native: f64,
    machine: f64,
    ratio: f64,
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
    /// Prints the table, and returns the engines' geometric means.
    fn loops(&self) -> Result<[f64; ENGINES.len()], Error> {
        println!(
            "{:10} {:>11} {:>11} {:>11} {:>11} {:>16} {:>16}",
            "program",
            "native -O0",
            "native -O2",
            ENGINES[0],
            ENGINES[1],
            "instructions/s",
            "compiled"
        );
        let mut slower = Vec::new();
        for (program, rounds) in LOOPS {
            let measured = self.cpu_bound(program, self.extent.rounds.unwrap_or(rounds))?;
            println!(
                "{program:10} {:>9.3} s {:>9.3} s {:>10.1}× {:>10.1}× {:>14.0} M {:>14.0} M",
                measured.plain,
                measured.optimised,
                measured.slower[0],
                measured.slower[1],
                measured.rates[0] / 1e6,
                measured.rates[1] / 1e6,
            );
            slower.push(measured.slower);
        }
        let means = [0, 1].map(|engine| geometric_mean(slower.iter().map(|both| both[engine])));
        println!("{:34} {:>10.1}× {:>10.1}×", "geometric mean", means[0], means[1]);
        Ok(means)
    }

    fn cpu_bound(&self, program: &str, rounds: &str) -> Result<Loop, Error> {
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
            turns.push((seconds, slower, rates));
        }
        Ok(Loop {
            plain: median(turns.iter().map(|turn| turn.0[0])),
            optimised: median(turns.iter().map(|turn| turn.0[1])),
            slower: [0, 1].map(|engine| median(turns.iter().map(|turn| turn.1[engine]))),
            rates: [0, 1].map(|engine| median(turns.iter().map(|turn| turn.2[engine]))),
        })
    }

    fn schedules(&self, program: &str) -> Result<Rates, Error> {
        let Extent { turns, executions, .. } = self.extent;
        let source = workspace::root().join("corpus/atomicity").join(program).join("fixed.c");
        let binary = self.compile(&source, program, "-O0")?;
        let mut measured = Vec::new();
        for _ in 0..turns {
            let (seconds, ()) = time(|| {
                (0..executions)
                    .try_for_each(|_| demand(Command::new(&binary).stdout(Stdio::null())))
            })?;
            measured.push((executions as f64 / seconds, self.rate(&source)?));
        }
        Ok(Rates {
            native: median(measured.iter().map(|t| t.0)),
            machine: median(measured.iter().map(|t| t.1)),
            ratio: median(measured.iter().map(|t| t.1 / t.0)),
        })
    }

    /// Schedules a second of the machine.
    fn rate(&self, source: &Path) -> Result<f64, Error> {
        let mut command = Command::new(&self.tool);
        command.arg("find").arg(source).arg("--out").arg(&self.scratch);
        command.args(["--strategy", "random", "--jobs", "1", "--all", "--json", "--schedules"]);
        command.arg(self.extent.schedules.to_string());
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
