//! `cargo xtask bench coop --native`: what recording access vectors costs natively (CoopREP's table 3.10), and how large the logs are (3.11).
//!
//! The fixed twins of its 13 programs (`bench/coop`), of a size that takes plain `-O2` at least a second. Variants run one after the other in each turn:
//! the plain program, a copy of it (what that differs by is the noise), the program that logs all elements, programs that were built for
//! one instance each of an informed profile of a half, the same halves told at its start to the program that could log all, and that one without logging
//! anything. CPU time, the least of the turns, because whatever else the machine does only adds; of the halves the mean over instances.
//!
//! Two rows a program. *bare*: nothing between accesses, which no program that does something is like: the stress. *paper*: as many accesses
//! in a second as the paper's program had at most (`Paper::density`: tables 3.2 and 3.6, and the times of §3.5.5), by computing between accesses; how much
//! is found out by running. The accesses that count are those that a complete log has, so that what is logged in a second
//! is what the paper's programs accessed. Seconds are CPU seconds of ours and seconds of the paper's machine of 2009; nothing is scaled.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unravel_recording::vectors;
use xtask::error::Error;
use xtask::workspace::{self, Profile, demand};

use crate::measure::stay_on_one_core;
use crate::scale::Scale;

use super::paper::{self, Paper};

/// A program, and of the paper: its size, overhead in per cent of LEAP and of the best of CoopREP (table 3.10), with their logs' sizes (table 3.11).
struct Row {
    program: &'static str,
    paper: &'static Paper,
    leap: (u32, &'static str),
    best: (u32, &'static str),
}

#[rustfmt::skip] // One line a row, as in the tables.
const ROWS: [Row; 13] = [
    row("boundedbuffer", &paper::ROWS[0], (42, "6 KB"), (15, "3 KB")),
    row("bubblesort", &paper::ROWS[1], (50, "600 KB"), (23, "209 KB")),
    row("bufwriter", &paper::ROWS[2], (68, "3.3 MB"), (40, "988 KB")),
    row("deadlock", &paper::ROWS[3], (2, "500 B"), (1, "400 B")),
    row("manager", &paper::ROWS[4], (38, "107 KB"), (29, "23 KB")),
    row("piper", &paper::ROWS[5], (14, "7 KB"), (12, "5 KB")),
    row("producerconsumer", &paper::ROWS[6], (52, "8 KB"), (30, "4 KB")),
    row("ticketorder", &paper::ROWS[7], (111, "71 KB"), (69, "53 KB")),
    row("twostage", &paper::ROWS[8], (116, "52 KB"), (42, "33 KB")),
    row("cache4j", &paper::ROWS[9], (23, "3 KB"), (5, "900 B")),
    row("derby", &paper::ROWS[10], (52, "27 KB"), (43, "20 KB")),
    row("tomcat", &paper::ROWS[11], (12, "3 KB"), (2, "2 KB")),
    row("weblech", &paper::ROWS[12], (12, "2 KB"), (2, "600 B")),
];

const fn row(
    program: &'static str,
    paper: &'static Paper,
    leap: (u32, &'static str),
    best: (u32, &'static str),
) -> Row {
    Row { program, paper, leap, best }
}

/// Seconds that say what an access and a turn of `compute` take.
const PILOT: f64 = 0.05;
/// Turns for each access there at first, and how often that is put right.
const PILOT_WORK: u64 = 64;
const PILOTS: u32 = 6;
/// Instances of a half that are built and measured (the paper, §3.5.5, has three): an even number, because of an odd number of elements every other
/// instance logs one more.
const INSTANCES: usize = 4;

/// How it is measured.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// All cores instead of one: threads then meet at elements, and figures depend on what else the machine does.
    pub spread: bool,
    /// Of the plain program.
    pub seconds: f64,
    pub turns: usize,
}

/// What is executed.
#[derive(Clone, Debug)]
struct Variant {
    program: PathBuf,
    /// The elements that it is told to log; without it nothing is logged.
    elements: Option<String>,
}

/// What was measured of a program.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    plain: f64,
    control: f64,
    full: f64,
    half: f64,
    told: f64,
    nothing: f64,
    /// Accesses of a complete log in a second of the plain program.
    density: f64,
    /// The part of a complete log's accesses that a half logs: half of five elements are three.
    share: f64,
    /// Bytes of entries, of a complete log and of a half.
    bytes: (u64, u64),
}

/// `rows`: a file of rows that need not be measured again, and to which the others are added.
pub fn run(
    filter: Option<&str>,
    how: How,
    rows: Option<&Path>,
    scale: Scale,
) -> Result<bool, Error> {
    let tool = workspace::build_tool(Profile::Release)?;
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let scratch =
        tempfile::tempdir_in(&folder).map_err(|source| Error::File { path: folder, source })?;
    let chosen: Vec<&Row> =
        ROWS.iter().filter(|row| filter.is_none_or(|part| row.program.contains(part))).collect();
    if chosen.is_empty() {
        return Err(Error::NoCase(filter.unwrap_or_default().to_owned()));
    }
    if !how.spread {
        stay_on_one_core()?;
    }
    let how = scale.choose(how, How { seconds: 0.01, turns: 1, ..how });
    let cores = if how.spread { "all cores" } else { "one core" };
    println!(
        "{cores}: CPU time to plain -O2; bare: nothing between accesses; paper: as many accesses a second as the paper's program had at most; half: \
         built for an instance; told: the same elements, told at its start\n  {:17} {:5} {:>8} {:>10} {:>10} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>10} {:>10}  \
         paper: LEAP, best of CoopREP",
        "program",
        "",
        "plain",
        "accesses/s",
        "paper's",
        "control",
        "full",
        "half",
        "share",
        "told",
        "nothing",
        "log full",
        "log half"
    );
    let mut known = Known::read(rows)?;
    let mut all = [Vec::new(), Vec::new()];
    for row in chosen {
        let mut subject = None;
        for (all, (what, density)) in
            all.iter_mut().zip([("bare", None), ("paper", Some(row.paper.density()))])
        {
            let key = format!("{} {what}, {cores}, {} s", row.program, how.seconds);
            let seen = match known.find(&key) {
                Some(seen) => seen,
                None => {
                    let subject = match &mut subject {
                        Some(subject) => subject,
                        None => subject.insert(Subject::build(&tool, row, scratch.path())?),
                    };
                    let work = subject.work(density, scale)?;
                    known.add(key, subject.measure(how, work)?)?
                }
            };
            println!("{}", line(row, what, &seen));
            all.push(seen);
        }
        if let Some(Subject { folder, .. }) = subject {
            // A full log of a second is large, and the scratch folder is memory.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    println!(
        "coop native: bare: {}; at the paper's density: {}",
        summary(&all[0]),
        summary(&all[1])
    );
    Ok(true)
}

fn line(row: &Row, what: &str, seen: &Seen) -> String {
    format!(
        "  {:17} {what:5} {:>6.2} s {:>10.0} {:>10.0} {:>8.3} {:>7.3} {:>7.3} {:>7.2} {:>7.3} {:>8.3} {:>10} {:>10}  {} % {}, {} % {}",
        row.program,
        seen.plain,
        seen.density,
        row.paper.density(),
        seen.control,
        seen.full,
        seen.half,
        seen.share,
        seen.told,
        seen.nothing,
        size(seen.bytes.0),
        size(seen.bytes.1),
        row.leap.0,
        row.leap.1,
        row.best.0,
        row.best.1,
    )
}

/// Rows that were measured before, and a file to which those of this time are added: what was interrupted goes on there.
#[derive(Default)]
struct Known<'a> {
    file: Option<&'a Path>,
    rows: Vec<(String, Seen)>,
}

impl Known<'_> {
    fn read(file: Option<&Path>) -> Result<Known<'_>, Error> {
        let Some(path) = file else { return Ok(Known::default()) };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(Error::File { path: path.to_owned(), source }),
        };
        // A last line that was cut off is measured again.
        let rows = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Known { file, rows })
    }

    fn find(&self, key: &str) -> Option<Seen> {
        self.rows.iter().find(|(known, _)| known == key).map(|(_, seen)| *seen)
    }

    fn add(&mut self, key: String, seen: Seen) -> Result<Seen, Error> {
        if let Some(path) = self.file {
            let row = serde_json::to_string(&(key, seen)).expect("a row is plain data");
            let problem = |source| Error::File { path: path.to_owned(), source };
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .map_err(problem)?;
            writeln!(file, "{row}").map_err(problem)?;
        }
        Ok(seen)
    }
}

/// Overheads in the mean, and how many programs cost at most 1.3 times plain with a half.
fn summary(all: &[Seen]) -> String {
    let mean = |of: fn(&Seen) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let within = all.iter().filter(|seen| seen.half <= 1.3).count();
    let worst = all.iter().map(|seen| seen.half).fold(0.0, f64::max);
    format!(
        "full {:.3}, half {:.3} (worst {worst:.3}, {within} of {} at most 1.3; it logs {:.2} of the accesses), nothing {:.3}, control {:.3} times plain",
        mean(|seen| seen.full),
        mean(|seen| seen.half),
        all.len(),
        mean(|seen| seen.share),
        mean(|seen| seen.nothing),
        mean(|seen| seen.control),
    )
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A program in all its variants.
struct Subject {
    folder: PathBuf,
    plain: PathBuf,
    control: PathBuf,
    field: PathBuf,
    /// Built for an instance, with the elements of that instance.
    halves: Vec<(PathBuf, String)>,
}

impl Subject {
    fn build(tool: &Path, row: &Row, scratch: &Path) -> Result<Subject, Error> {
        let source = workspace::root().join("bench/coop").join(row.program).with_extension("c");
        let folder = scratch.join(row.program);
        std::fs::create_dir(&folder)
            .map_err(|source| Error::File { path: folder.clone(), source })?;
        let (plain, control) = (folder.join("plain"), folder.join("control"));
        let mut compile = Command::new("clang-19");
        compile.args(["-O2", "-w"]).arg(&source).arg("-o").arg(&plain).arg("-pthread");
        demand(&mut compile)?;
        std::fs::copy(&plain, &control)
            .map_err(|source| Error::File { path: control.clone(), source })?;
        let coop = |arguments: &[&str]| -> Result<(), Error> {
            let mut command = Command::new(tool);
            command.arg("coop").args(arguments).arg(&source).current_dir(&folder);
            demand(command.stdout(Stdio::null()))
        };
        let count = INSTANCES.to_string();
        coop(&["profile", "--informed", "--coverage", "50%", "--instances", &count])?;
        coop(&["build", "-o", "field"])?;
        let path = folder.join("profile.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|source| Error::File { path: path.clone(), source })?;
        let profile: Value = serde_json::from_str(&text).map_err(|problem| Error::Answer {
            command: "unravel coop profile".into(),
            problem: problem.to_string(),
        })?;
        let mut halves: Vec<(PathBuf, String)> = Vec::new();
        for instance in 0..INSTANCES {
            let own: Vec<u64> = (profile["instances"][instance].as_array().into_iter().flatten())
                .filter_map(Value::as_u64)
                .collect();
            let own = own.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            if halves.iter().any(|(_, known)| *known == own) {
                continue;
            }
            let name = format!("half{instance}");
            coop(&["build", "--instance", &instance.to_string(), "-o", &name])?;
            halves.push((folder.join(name), own));
        }
        let field = folder.join("field");
        Ok(Subject { folder, plain, control, field, halves })
    }

    /// Turns of `compute` for each access, so that there are so many accesses in a second.
    fn work(&self, density: Option<f64>, scale: Scale) -> Result<u64, Error> {
        let Some(density) = density else { return Ok(0) };
        let plain = Variant { program: self.plain.clone(), elements: None };
        let full = Variant { program: self.field.clone(), elements: Some("all".to_owned()) };
        let seconds = scale.choose(PILOT, 0.002);
        let each = |work: u64| -> Result<f64, Error> {
            let rounds = self.rounds(&plain, seconds, work)?;
            let accesses = self.once(&full, rounds, work)?.1.accesses;
            Ok(self.once(&plain, rounds, work)?.0 / accesses.max(1) as f64)
        };
        let (wanted, bare) = (1.0 / density, each(0)?);
        let mut work = PILOT_WORK;
        for _ in 0..scale.choose(PILOTS, 1) {
            let here = each(work)?;
            if (0.97..1.03).contains(&(here / wanted)) {
                break;
            }
            // Threads that compute wait for each other less often, so that less may be left of what the bare program takes.
            let turn = (here - bare).max(here / 8.0) / work as f64;
            work = (((wanted - bare) / turn).max(wanted / turn / 8.0).round() as u64).max(1);
        }
        Ok(work)
    }

    /// So many that a program takes so long.
    fn rounds(&self, plain: &Variant, seconds: f64, work: u64) -> Result<u64, Error> {
        let mut rounds: u64 = 1;
        loop {
            let took = self.once(plain, rounds, work)?.0;
            // BubbleSort takes the square of its rounds.
            let most = if took < seconds / 32.0 { 4.0 } else { 2.0 };
            let more = (seconds * 1.05 / took.max(1e-6)).clamp(1.05, most);
            let next = ((rounds as f64 * more) as u64).max(rounds + 1);
            if took >= seconds || rounds >= 1 << 30 || self.is_too_large(next) {
                return Ok(rounds);
            }
            rounds = next;
        }
    }

    fn measure(&self, how: How, work: u64) -> Result<Seen, Error> {
        let of = |program: &PathBuf, elements: Option<&str>| Variant {
            program: program.clone(),
            elements: elements.map(str::to_owned),
        };
        let plain = of(&self.plain, None);
        let rounds = self.rounds(&plain, how.seconds, work)?;
        let mut variants = vec![
            plain,
            of(&self.control, None),
            of(&self.field, Some("all")),
            of(&self.field, None),
        ];
        for (program, own) in &self.halves {
            variants.push(of(program, Some("all")));
            variants.push(of(&self.field, Some(own)));
        }
        let mut times = vec![Vec::new(); variants.len()];
        let mut logs = vec![Log::default(); variants.len()];
        for _ in 0..how.turns {
            for (at, variant) in variants.iter().enumerate() {
                let (seconds, log) = self.once(variant, rounds, work)?;
                times[at].push(seconds);
                logs[at] = log;
            }
        }
        let least = |turns: &Vec<f64>| turns.iter().copied().fold(f64::INFINITY, f64::min);
        let times: Vec<f64> = times.iter().map(least).collect();
        let ratio = |at: usize| times[at] / times[0];
        let mean = |first: usize| {
            let all: Vec<f64> = (first..variants.len()).step_by(2).map(ratio).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let halves = self.halves.len() as u64;
        let of_halves = || logs.iter().skip(4).step_by(2);
        let bytes = of_halves().map(|log| log.bytes).sum::<u64>() / halves;
        let accesses = of_halves().map(|log| log.accesses).sum::<u64>();
        Ok(Seen {
            plain: times[0],
            control: ratio(1),
            full: ratio(2),
            nothing: ratio(3),
            half: mean(4),
            told: mean(5),
            density: logs[2].accesses as f64 / times[0],
            share: accesses as f64 / (halves * logs[2].accesses.max(1)) as f64,
            bytes: (logs[2].bytes, bytes),
        })
    }

    /// What BubbleSort has room for.
    fn is_too_large(&self, rounds: u64) -> bool {
        self.plain.parent().is_some_and(|folder| folder.ends_with("bubblesort")) && rounds > 16384
    }

    /// CPU seconds of a run, and what it logged.
    fn once(&self, variant: &Variant, rounds: u64, work: u64) -> Result<(f64, Log), Error> {
        let log = self.folder.join("log");
        let beside = self.folder.join(format!("log{}", vectors::SUFFIX));
        for file in [&log, &beside] {
            let _ = std::fs::remove_file(file);
        }
        let mut command = Command::new(&variant.program);
        command.args([rounds.to_string(), work.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        match &variant.elements {
            Some(own) => command.env("UNRAVEL_LOG", &log).env("UNRAVEL_ELEMENTS", own),
            None => command.env_remove("UNRAVEL_LOG").env_remove("UNRAVEL_ELEMENTS"),
        };
        let failed = |source| Error::File { path: variant.program.clone(), source };
        let child = command.spawn().map_err(failed)?;
        let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
        // SAFETY: waits for our own child, whose handle is not used again; the kernel fills in the usage.
        let usage = unsafe {
            libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr());
            usage.assume_init()
        };
        let status = std::process::ExitStatus::from_raw(status);
        if !status.success() {
            return Err(failed(std::io::Error::other(status.to_string())));
        }
        let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        let logged = match &variant.elements {
            Some(_) => Log::read(&beside)?,
            None => Log::default(),
        };
        Ok((time(usage.ru_utime) + time(usage.ru_stime), logged))
    }
}

/// How much a run logged.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    accesses: u64,
    bytes: u64,
}

impl Log {
    /// Adds up all vectors of a file. One of which accesses are missing is an error: it would be cheaper than it should be.
    fn read(path: &Path) -> Result<Log, Error> {
        let problem = |source| Error::File { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(problem)?;
        let mut log = Log::default();
        let mut table = vec![0u8; vectors::MOST_ELEMENTS * size_of::<vectors::ElementEntry>()];
        file.read_exact_at(&mut table, vectors::ELEMENT_TABLE).map_err(problem)?;
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        for entry in table.chunks_exact(8).filter(|entry| word(entry) != 0) {
            if word(&entry[4..]) != 0 {
                return Err(problem(std::io::Error::other("an element is lost")));
            }
            let mut at = vectors::VECTORS + u64::from(word(entry) - 1) * vectors::STRIDE;
            let mut part = vec![0u8; vectors::STEP as usize];
            'vector: loop {
                let read = file.read_at(&mut part, at).map_err(problem)?;
                at += read as u64;
                for entry in part[..read].chunks_exact(4).map(word) {
                    if entry == 0 {
                        break 'vector;
                    }
                    log.accesses += u64::from(entry & vectors::ENTRY_MOST);
                    log.bytes += 4;
                }
                if read == 0 {
                    break;
                }
            }
        }
        Ok(log)
    }
}
