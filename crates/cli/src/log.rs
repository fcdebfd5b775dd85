//! `unravel log show` and `unravel log stats`.

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Instant;

use serde_json::{Value, json};
use unravel_instrument::{Lines, OpenedLog};
use unravel_recording::{
    Begin, End, Ending, Frame, LogFile, Lost, Mode, Objects, Record, Stack, SyncKind, Unrecorded,
    layout,
};
use unravel_report::words::count;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{LogCommand, LogShowFlags, LogStatsFlags};

pub fn log(command: &LogCommand) -> Result<Exit, CliError> {
    match command {
        LogCommand::Show(flags) => show(flags),
        LogCommand::Stats(flags) => stats(flags),
    }
}

/// How the run ended, as far as the file says without being decoded.
pub fn ending_of(log: &LogFile) -> Ending {
    unravel_instrument::ending_of(log, &Default::default())
}

fn bytes_of(log: &LogFile) -> u64 {
    let segments = log.streams.iter().map(|s| s.segments.len() as u64).sum::<u64>();
    segments * log.segment as u64
}

pub fn say_recorded(path: &Path, log: &LogFile, status: ExitStatus, json: bool) {
    let ending = ending_of(log);
    // What handlers did on top of a thread has a stream of its own.
    let is_thread = |state: u32| state != layout::STATE_HANDLERS;
    let threads = log.streams.iter().filter(|one| is_thread(one.state)).count() as u64;
    if json {
        let ending = format!("{ending:?}");
        sayln!(
            "{}",
            json!({ "log": path, "ending": ending, "status": status.to_string(), "threads": threads })
        );
        return;
    }
    // The standard output is the program's.
    warnln!("recorded {}; {}", count(threads, "thread"), ending_words(&ending));
    warnln!("look at it with: unravel log show {}", path.display());
}

/// As the program was started, if that was kept.
fn arguments(log: &LogFile) -> Vec<String> {
    let all = log.inputs.arguments.iter();
    all.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

fn ending_words(ending: &Ending) -> String {
    match ending {
        Ending::Exited { code } => format!("exited with {code}"),
        Ending::Assertion { thread, message, .. } => {
            format!("assertion `{message}` failed in {thread}")
        }
        Ending::Signal { thread, signal, .. } => format!("killed by signal {signal} in {thread}"),
        Ending::Abort { thread, .. } => format!("aborted by {thread}"),
        Ending::UncaughtException { thread, .. } => {
            format!("an exception that nobody caught in {thread}")
        }
        Ending::Hang => "hung: the log was closed from outside".to_owned(),
        Ending::Replaced => "replaced by another program (exec)".to_owned(),
        Ending::Killed => "killed, or still running: nobody wrote an end".to_owned(),
    }
}

/// What is told of one thread.
struct Told {
    name: String,
    begin: Begin,
    branches: u64,
    syncs: u64,
    last: VecDeque<Record>,
    lost: Vec<Lost>,
    end: End,
    bytes: u64,
}

fn told(log: &OpenedLog, keep: usize) -> Vec<Told> {
    let mut objects = Objects::default();
    let threads = log.threads().into_iter().map(|(name, stream)| {
        let (mut branches, mut syncs, mut last) = (0, 0, VecDeque::new());
        let mut decoded = log.decode_stream(stream, &mut objects, |record| {
            match record {
                Record::Branch { .. } => branches += 1,
                Record::Sync(_) => syncs += 1,
                _ => {}
            }
            if keep > 0 {
                if last.len() == keep {
                    last.pop_front();
                }
                last.push_back(record);
            }
        });
        decoded.lost.extend(log.otherwise_lost(stream));
        let end = unravel_instrument::end_of(stream, &mut objects, decoded.pending, decoded.stack);
        Told {
            name: name.to_string(),
            begin: decoded.begin,
            branches,
            syncs,
            last,
            lost: decoded.lost,
            end,
            bytes: decoded.bytes,
        }
    });
    threads.collect()
}

fn show(flags: &LogShowFlags) -> Result<Exit, CliError> {
    let log = OpenedLog::open(&flags.log)?;
    let threads = told(&log, flags.last);
    let ending = ending_of(&log.file);
    // Of a crash before the first branch there is its end to tell.
    let says_something =
        !matches!(ending, Ending::Exited { .. } | Ending::Killed | Ending::Replaced);
    if !says_something && threads.iter().all(|t| t.branches == 0 && t.syncs == 0) {
        return Err(unravel_instrument::OpenError::Empty.into());
    }
    let lines = Lines::of(&log.program).map_err(unravel_instrument::OpenError::from)?;
    let place = |frame: Frame| place(&log, &lines, frame);
    if flags.json {
        let threads: Vec<Value> = threads.iter().map(|t| thread_json(&log, &lines, t)).collect();
        sayln!(
            "{}",
            json!({
                "build": format!("{:016x}", log.build.0),
                "mode": mode(log.file.mode),
                "ending": ending_words(&ending),
                "arguments": arguments(&log.file),
                "stdin_bytes": log.file.inputs.stdin.as_ref().map(Vec::len),
                "threads": threads,
                "unrecorded": log.unrecorded().iter().map(unrecorded_words).collect::<Vec<_>>(),
            })
        );
        return Ok(Exit::Clean);
    }
    sayln!("{}, build {:016x}", mode(log.file.mode), log.build.0);
    sayln!("{}", ending_words(&ending));
    if !log.file.inputs.arguments.is_empty() {
        sayln!("started as: {}", arguments(&log.file).join(" "));
    }
    if let Some(stdin) = &log.file.inputs.stdin {
        sayln!("standard input: {} bytes", stdin.len());
    }
    for thread in &threads {
        sayln!("");
        sayln!(
            "{}: {} branches, {} sync operations, {}",
            thread.name,
            thread.branches,
            thread.syncs,
            begin_words(&thread.begin)
        );
        for lost in &thread.lost {
            sayln!("  {}", lost_words(lost));
        }
        for record in &thread.last {
            sayln!("  {}", record_words(&log, &lines, record));
        }
        match &thread.end {
            End::Returned => sayln!("  ended"),
            End::Running => sayln!("  was running"),
            End::Pending { kind, object, stack } => {
                sayln!("  waits: {} {}", sync_words(*kind), object.0);
                for frame in stack.iter().rev() {
                    sayln!("    in {}", place(*frame));
                }
            }
        }
    }
    let unrecorded = log.unrecorded();
    if !unrecorded.is_empty() {
        sayln!("");
        sayln!("not recorded:");
        unrecorded.iter().for_each(|u| sayln!("  {}", unrecorded_words(u)));
    }
    Ok(Exit::Clean)
}

fn stats(flags: &LogStatsFlags) -> Result<Exit, CliError> {
    let log = OpenedLog::open(&flags.log)?;
    let begun = Instant::now();
    let threads = told(&log, 0);
    let seconds = begun.elapsed().as_secs_f64();
    let branches: u64 = threads.iter().map(|t| t.branches).sum();
    let syncs: u64 = threads.iter().map(|t| t.syncs).sum();
    let bytes: u64 = threads.iter().map(|t| t.bytes).sum();
    let bits = bytes as f64 * 8.0 / branches.max(1) as f64;
    let (modules, functions) = (log.code.kept().count(), log.functions.len());
    if flags.json {
        sayln!(
            "{}",
            json!({
                "mode": mode(log.file.mode), "threads": threads.len(), "branches": branches, "syncs": syncs, "bytes": bytes,
                "file_bytes": bytes_of(&log.file), "bits_per_branch": bits, "decode_seconds": seconds,
                "modules": modules, "functions": functions,
            })
        );
        return Ok(Exit::Clean);
    }
    sayln!(
        "{}: {}, {} with {}",
        mode(log.file.mode),
        count(threads.len() as u64, "thread"),
        count(modules as u64, "module"),
        count(functions as u64, "function"),
    );
    sayln!(
        "{branches} branches and {syncs} sync operations in {bytes} bytes ({bits:.2} bits a branch)"
    );
    let rate = branches as f64 / seconds.max(1e-9) / 1e6;
    sayln!("decoded in {seconds:.2} s ({rate:.1} million branches a second)");
    Ok(Exit::Clean)
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Whole => "whole log",
        Mode::Flight => "flight recorder",
    }
}

fn place(log: &OpenedLog, lines: &Lines, frame: Frame) -> String {
    let name = &log.functions[frame.function.0 as usize].name;
    match lines.of_frame(frame) {
        Some(line) => {
            let file = line.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("{name} ({file}:{})", line.line)
        }
        None => format!("{name} (block {})", frame.block.0),
    }
}

fn record_words(log: &OpenedLog, lines: &Lines, record: &Record) -> String {
    match record {
        Record::Enter(function) => format!("enters {}", log.functions[function.0 as usize].name),
        Record::Branch { function, block, successor } => {
            let frame = Frame { function: *function, block: *block, instruction: None };
            format!("branch {successor} at {}", place(log, lines, frame))
        }
        Record::Sync(sync) => {
            format!("{} {} (stamp {})", sync_words(sync.kind), sync.object.0, sync.stamp)
        }
        Record::Value { call, value } => format!("{value:#x} from {}", place(log, lines, *call)),
    }
}

fn sync_words(kind: SyncKind) -> &'static str {
    match kind {
        SyncKind::Create => "creates thread",
        SyncKind::Join => "joins thread",
        SyncKind::Begin => "begins as thread",
        SyncKind::Exit => "ends as thread",
        SyncKind::Lock => "locks",
        SyncKind::LockShared => "locks for reading",
        SyncKind::TryLock { acquired: true } => "tries and locks",
        SyncKind::TryLock { acquired: false } => "tries in vain to lock",
        SyncKind::TryLockShared { acquired: true } => "tries and locks for reading",
        SyncKind::TryLockShared { acquired: false } => "tries in vain to lock for reading",
        SyncKind::Unlock => "unlocks",
        SyncKind::Wait => "waits for condition",
        SyncKind::Wake { timed_out: false } => "wakes from condition",
        SyncKind::Wake { timed_out: true } => "timed out waiting for condition",
        SyncKind::Signal => "signals condition",
        SyncKind::Broadcast => "broadcasts condition",
        SyncKind::SemWait => "takes from semaphore",
        SyncKind::SemTryWait { acquired: true } => "tries and takes from semaphore",
        SyncKind::SemTryWait { acquired: false } => "tries in vain to take from semaphore",
        SyncKind::SemPost => "posts semaphore",
        SyncKind::BarrierArrive => "arrives at barrier",
        SyncKind::BarrierLeave => "leaves barrier",
        SyncKind::Once => "asks whether it is the first at",
        SyncKind::OnceDone => "knows it done at",
    }
}

fn begin_words(begin: &Begin) -> String {
    match begin {
        Begin::Start => "from its start".to_owned(),
        Begin::Middle { stack } => format!("from the middle, {} frames deep", stack.len()),
    }
}

fn lost_words(lost: &Lost) -> String {
    match lost {
        Lost::Recycled { bytes } => format!("before that, {bytes} bytes were recycled"),
        Lost::Undecodable { bytes, reason } => {
            format!("lost: {bytes} bytes that do not fit the program: {reason}")
        }
        Lost::Tail => "the last path was not written".to_owned(),
        Lost::Given { reason } => format!("lost from here on: {reason}"),
        Lost::NoRestart { reason } => format!("lost: no restart point: {reason}"),
    }
}

fn unrecorded_words(unrecorded: &Unrecorded) -> String {
    match unrecorded {
        Unrecorded::Image(path) => path.clone(),
        Unrecorded::Function { name, reason } => format!("{name}: {reason}"),
        Unrecorded::Threads(number) => {
            let threads = count(*number, "thread");
            format!("{threads} that something else than pthread_create started")
        }
    }
}

fn thread_json(log: &OpenedLog, lines: &Lines, thread: &Told) -> Value {
    let stack = |stack: &Stack| stack.iter().map(|f| place(log, lines, *f)).collect::<Vec<_>>();
    let waits = match &thread.end {
        End::Pending { kind, object, stack: frames } => {
            json!({ "operation": sync_words(*kind), "object": object.0, "stack": stack(frames) })
        }
        _ => Value::Null,
    };
    json!({
        "thread": thread.name, "branches": thread.branches, "syncs": thread.syncs, "begin": begin_words(&thread.begin),
        "lost": thread.lost.iter().map(lost_words).collect::<Vec<_>>(),
        "last": thread.last.iter().map(|r| record_words(log, lines, r)).collect::<Vec<_>>(),
        "ended": thread.end == End::Returned, "waits": waits,
    })
}
