//! `unravel repair`: patches against every cause, each of them checked.

use unravel_causes::Progress as Now;
use unravel_repair::{Effort, Request};

use crate::causes;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RepairFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::program;
use crate::progress::Progress;
use crate::workshop::Variants;
use std::time::Duration;

pub fn repair(flags: &RepairFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let analysis = causes::analyse(&mut loaded, &flags.extent, &mut |now: Now| {
        progress.show(&causes::words(now));
    })?;
    let program::Loaded { built, vm, reference, input, rules } = loaded;
    // A process has room for one machine.
    drop(vm);
    let mut variants = Variants {
        built: &built,
        reference: &reference,
        rules: &rules,
        directory: tempfile::tempdir().map_err(|source| CliError::Write { path: "a temporary directory".into(), source })?,
    };
    let request = Request {
        root: reference.cwd.as_ref(),
        input: &input,
        rules: &rules,
        effort: Effort {
            exhaustive: Duration::from_secs(5),
            schedules: flags.schedules,
            time: Duration::from_secs(20),
            jobs: flags.jobs.unwrap_or(2),
        },
        time: flags.repair_time.unwrap_or(Duration::from_secs(60)),
        most: flags.most,
    };
    let repairs = unravel_repair::repair(&mut variants, analysis, &request, &INTERRUPTED, &mut |now| {
        progress.show(&format!("repair {} of {}: {}", now.tried + 1, now.of, now.title));
    });
    drop(progress);
    for r in &repairs.repairs {
        println!("### {} [{}] {:?}\n{}{:?}", r.title, r.kind, r.cost, r.diff, r.checks);
    }
    for r in &repairs.rejected {
        println!("rejected: {} | {}", r.title, r.reason);
    }
    println!("REPAIRS {} of {} classes, {} rejected, {:.1}s", repairs.repairs.len(), repairs.causes.classes.len(), repairs.rejected.len(), repairs.elapsed.as_secs_f64());
    Ok(if repairs.causes.bugs.is_empty() { Exit::Clean } else { Exit::Finding })
}
