//! `cargo xtask bench vm`: how fast the machine interprets, and how many schedules it runs.
//!
//! - Interpreting: `bench/cpu.c`, CPU-bound and without threads, against the same source compiled with
//!   `clang -O0`. An instruction is one of our dense form, which may stand for several of LLVM's. Start-up
//!   is measured apart, with no rounds to do, and subtracted on both sides.
//! - Schedules: complete runs of the fixed twins of `bank` and `bbuf` by the random strategy, one worker,
//!   counted by `find` itself, against starting the native program again and again.
//!
//! Everything on one core; both sides in turn several times; medians.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::measure::{median, stay_on_one_core, time};
use crate::scale::Scale;
use xtask::error::Error;
use xtask::workspace::{self, Profile, demand, line, name};

const COMPILER: &str = "clang-19";
/// The first one is the headline's.
const PROGRAMS: [&str; 2] = ["bank", "bbuf"];

/// How much is measured.
struct Extent {
    /// How often the two sides take turns.
    turns: usize,
    /// Of `cpu.c`.
    rounds: &'static str,
    /// Of a program, in one turn.
    schedules: u64,
    /// Of the native program, in one turn.
    executions: u64,
}

/// The rounds take about 0.3 s natively.
const WHOLE: Extent = Extent { turns: 7, rounds: "5000", schedules: 50_000, executions: 400 };
const SMOKE: Extent = Extent { turns: 1, rounds: "20", schedules: 200, executions: 4 };

pub fn run(scale: Scale) -> Result<(), Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let scratch =
        tempfile::tempdir().map_err(|source| Error::File { path: std::env::temp_dir(), source })?;
    stay_on_one_core()?;
    let extent = scale.choose(WHOLE, SMOKE);
    let bench = Bench { tool, scratch: scratch.path().to_owned(), extent };

    let cpu = bench.cpu()?;
    println!(
        "{:10} {:>12} {:>12} {:>10} {:>18}",
        "program", "native -O0", "vm", "slower", "instructions/s"
    );
    println!(
        "{:10} {:>10.3} s {:>10.3} s {:>9.1}× {:>16.0} M",
        "cpu",
        cpu.native,
        cpu.machine,
        cpu.slower,
        cpu.instructions / 1e6
    );
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
            "\nvm: {:.0} schedules/s, {:.0}× fork+exec, {:.1}× slower than native -O0",
            rates.machine, rates.ratio, cpu.slower
        );
    }
    Ok(())
}

struct Bench {
    tool: PathBuf,
    scratch: PathBuf,
    extent: Extent,
}

/// Seconds for the same work, and what follows from them.
struct Cpu {
    native: f64,
    machine: f64,
    slower: f64,
    /// A second.
    instructions: f64,
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
    fn cpu(&self) -> Result<Cpu, Error> {
        let Extent { turns, rounds, .. } = self.extent;
        let source = workspace::root().join("bench/cpu.c");
        let native = self.compile(&source, "cpu")?;
        let built = self.scratch.join("cpu.unravel");
        demand(
            Command::new(&self.tool)
                .arg("build")
                .arg(&source)
                .arg("-o")
                .arg(&built)
                .stdout(Stdio::null()),
        )?;
        let machine = |rounds: &str| {
            let mut command = Command::new(&self.tool);
            command.arg("run").arg(&built).args([
                "--json",
                "--max-steps",
                "1000000000000",
                "--",
                rounds,
            ]);
            command
        };
        let native = |rounds: &str| {
            let mut command = Command::new(&native);
            command.arg(rounds);
            command
        };
        let mut measured = Vec::new();
        for _ in 0..turns {
            let (idle, _) = time(|| output(&mut native("0")))?;
            let (busy, sum) = time(|| output(&mut native(rounds)))?;
            let (start_up, _) = time(|| outputs(&mut machine("0")))?;
            let (total, (text, printed)) = time(|| outputs(&mut machine(rounds)))?;
            let answer: RunAnswer = answer(&machine(rounds), &text)?;
            if !printed.starts_with(&sum) {
                return Err(Error::Answer {
                    command: line(&machine(rounds)),
                    problem: format!("the checksum is not the native one, {}", sum.trim()),
                });
            }
            measured.push((busy - idle, total - start_up, answer.steps as f64));
        }
        Ok(Cpu {
            native: median(measured.iter().map(|t| t.0)),
            machine: median(measured.iter().map(|t| t.1)),
            slower: median(measured.iter().map(|t| t.1 / t.0)),
            instructions: median(measured.iter().map(|t| t.2 / t.1)),
        })
    }

    fn schedules(&self, program: &str) -> Result<Rates, Error> {
        let Extent { turns, executions, .. } = self.extent;
        let source = workspace::root().join("corpus/atomicity").join(program).join("fixed.c");
        let binary = self.compile(&source, program)?;
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

    fn compile(&self, source: &Path, program: &str) -> Result<PathBuf, Error> {
        let binary = self.scratch.join(program);
        demand(
            Command::new(COMPILER).args(["-O0", "-pthread"]).arg(source).arg("-o").arg(&binary),
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
