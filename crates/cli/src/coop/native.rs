//! Native programs that log: one build for all instances, and runs of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use unravel_coop::{Ending, Fleet, Followed, LogId, Mode, Profile, plan, read_native, seen_at};
use unravel_driver::{build_native, lines_of};
use unravel_fleet::Store;
use unravel_instrument::{Wanted, log_elements};
use unravel_recording::vectors;

use super::steps::{Bench, Recorded};
use crate::error::CliError;
use crate::flags::CoopRecordFlags;
use crate::interrupt::INTERRUPTED;

/// A native program that logs.
pub struct Built {
    pub sites: usize,
    /// Elements that it cannot log, and why.
    pub unlogged: Vec<(String, String)>,
    elements: usize,
}

impl Built {
    pub fn logged(&self) -> usize {
        self.elements - self.unlogged.len()
    }
}

impl Bench {
    /// Compiles what the machine executes, with the logging of the profile's elements in it.
    /// Of one instance's alone, or of all.
    pub fn build(
        &self,
        profile: &Profile,
        instance: Option<usize>,
        output: &Path,
    ) -> Result<Built, CliError> {
        let chosen: BTreeSet<u32> = match instance {
            None => (0..profile.elements.len() as u32).collect(),
            Some(one) => {
                let own = profile.instances.get(one);
                own.ok_or(CliError::NoInstance(one, profile.instances.len()))?
                    .iter()
                    .copied()
                    .collect()
            }
        };
        // What is compiled has its sites as they are without.
        if self.loaded.input.limits.uninit.fails {
            return Err(CliError::NativeUninit);
        }
        let built = &self.loaded.built;
        let name = &self.loaded.reference.name;
        let load = |source| CliError::Load { program: name.clone(), source };
        let (program, marked) = unravel_program::mark(&built.bitcode).map_err(load)?;
        let mut elements = self.elements(profile);
        let plan = plan(&program, profile, &mut elements);
        let refused = plan.refused.clone();
        let touching = plan.touching.clone();
        let mut at = |address, bytes, sync| elements.at_global(address, bytes, sync).to_vec();
        let wanted = Wanted {
            build: profile.build(),
            elements: profile.elements.len() as u32,
            blocks: profile.mode == Mode::Blocks,
            chosen: chosen.clone(),
            visible: plan.visible,
            by_site: plan.by_site,
            touching: plan.touching,
            at: &mut at,
            seen_at: &|site, callers: &[(String, u32)]| seen_at(&program, site, callers),
            ranges: plan.ranges,
            refused: plan.refused,
        };
        let logging = log_elements(&marked, wanted)
            .map_err(|error| CliError::Instrument { program: name.clone(), source: error })?;
        let line_of = |site: u32| {
            let place = &program.sites.get(site as usize)?.place;
            place.is_own().then(|| (place.file.to_string(), place.line))
        };
        if build_native(&logging.bitcode, &built.libs, &line_of, output)? != 0 {
            return Err(CliError::NativeBuild);
        }
        let unlogged = logging.unlogged.iter().filter(|one| chosen.contains(one)).map(|element| {
            let sites = logging.left_out.iter().filter(|site| touching[site].contains(element));
            let places: Vec<String> =
                sites.map(|site| program.sites[*site as usize].place.short()).collect();
            let why = match refused.contains(element) {
                true => "part of a global that is too large".to_owned(),
                false => format!("accessed in a library's function at {}", places.join(", ")),
            };
            (profile.elements[*element as usize].name.clone(), why)
        });
        let unlogged = unlogged.collect();
        Ok(Built { sites: logging.sites, unlogged, elements: chosen.len() })
    }

    /// Runs instances natively, or takes what they wrote elsewhere.
    pub fn record_native(
        &mut self,
        profile: &Profile,
        fleet: &Fleet,
        native: &Path,
        flags: &CoopRecordFlags,
    ) -> Result<Recorded, CliError> {
        let mut recorded = Recorded::default();
        for log in &flags.log {
            self.take(profile, (native, log), flags, &mut recorded)?;
        }
        if !flags.log.is_empty() {
            return Ok(recorded);
        }
        let scratch = tempfile::tempdir().map_err(CliError::Stdin)?;
        let log = scratch.path().join("run.log");
        let beside = scratch.path().join(format!("run.log{}", vectors::SUFFIX));
        let last = fleet.instances.1.min(profile.instances.len());
        for instance in fleet.instances.0..last {
            let chosen = match flags.all {
                true => "all".to_owned(),
                false => {
                    let numbers = profile.instances[instance].iter().map(u32::to_string);
                    numbers.collect::<Vec<_>>().join(",")
                }
            };
            for _ in 0..fleet.runs {
                if INTERRUPTED.load(Ordering::Relaxed) {
                    return Ok(recorded);
                }
                let read = |source| CliError::Read { path: native.to_owned(), source };
                let mut command = Command::new(native);
                command.args(&self.loaded.input.args);
                command.env("UNRAVEL_LOG", &log).env("UNRAVEL_ELEMENTS", &chosen);
                command.env("UNRAVEL_HANG_AFTER_MS", flags.hang_after.to_string());
                command.envs(flags.env.iter().filter_map(|one| one.split_once('=')));
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
                let mut child = command.spawn().map_err(read)?;
                if let (Some(mut to), Some(text)) = (child.stdin.take(), &self.loaded.input.stdin) {
                    use std::io::Write as _;
                    // A program need not read what it is given.
                    let _ = to.write_all(text);
                }
                child.wait().map_err(read)?;
                self.take(profile, (native, &log), flags, &mut recorded)?;
                for file in [&log, &beside] {
                    std::fs::remove_file(file)
                        .map_err(|source| CliError::Read { path: file.clone(), source })?;
                }
            }
        }
        Ok(recorded)
    }

    /// One run's files as a partial log.
    fn take(
        &mut self,
        profile: &Profile,
        (native, log): (&Path, &Path),
        flags: &CoopRecordFlags,
        recorded: &mut Recorded,
    ) -> Result<(), CliError> {
        let made = log.metadata().and_then(|data| data.modified());
        let since = made.ok().and_then(|made| made.duration_since(SystemTime::UNIX_EPOCH).ok());
        let when = since.unwrap_or_default().as_nanos().to_le_bytes();
        let host = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let place = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        let id = LogId::given(&[&when, &host, place.as_os_str().as_encoded_bytes()]);
        let mut problem = None;
        let mut lines = |spots: &[u64]| {
            lines_of(native, spots).unwrap_or_else(|error| {
                problem = Some(error);
                Vec::new()
            })
        };
        let read = read_native(log, profile, &self.program, id, &mut lines)?;
        if let Some(problem) = problem {
            return Err(problem.into());
        }
        recorded.lost += read.lost.len() as u64;
        let Some(log) = read.log else {
            recorded.silent += 1;
            return Ok(());
        };
        recorded.logs += 1;
        recorded.failed += u64::from(log.ending != Ending::Passed);
        recorded.accesses += log.accesses() as u64;
        if flags.verify {
            match self.verify(profile, &log)? {
                Followed::Same => recorded.same += 1,
                other => recorded.differ.push((log.id, other)),
            }
        }
        Store::write(&flags.out, &log)?;
        Ok(())
    }
}
