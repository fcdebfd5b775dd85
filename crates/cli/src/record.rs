//! `unravel record`.

use std::fs::File;
use std::io::{IsTerminal, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use unravel_recording::{Ending, LogFile, elf, kept};

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RecordFlags;
use crate::log;

pub fn record(flags: &RecordFlags) -> Result<Exit, CliError> {
    let (program, arguments) = flags.program.split_first().expect("clap asks for a program");
    check_is_recorded(Path::new(program))?;
    remove_old(&flags.output)?;
    let mut command = Command::new(program);
    command.args(arguments).env("UNRAVEL_LOG", &flags.output);
    command.env("UNRAVEL_SYNC", if flags.no_sync { "0" } else { "1" });
    match flags.flight {
        Some(megabytes) => command.env("UNRAVEL_FLIGHT", megabytes.to_string()),
        None => command.env_remove("UNRAVEL_FLIGHT"),
    };
    match flags.hang_after {
        Some(time) => command.env("UNRAVEL_HANG_AFTER_MS", time.as_millis().to_string()),
        None => command.env_remove("UNRAVEL_HANG_AFTER_MS"),
    };
    match flags.inputs {
        true => {
            command.env("UNRAVEL_INPUTS", "1");
            if let Some(file) = spooled().map_err(CliError::Stdin)? {
                command.stdin(file);
            }
        }
        false => {
            command.env_remove("UNRAVEL_INPUTS");
        }
    }
    // An interrupt from the terminal is the program's; we wait for it and tell what is in the log.
    // SAFETY: between fork and exec only this one call is made.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let read = |source| CliError::Read { path: program.into(), source };
    let status = command.spawn().and_then(|mut child| child.wait()).map_err(read)?;
    let log = LogFile::open(&flags.output).map_err(CliError::Log)?;
    log::say_recorded(&flags.output, &log, status, flags.json);
    if flags.inputs && log.inputs.stdin.is_none() {
        warnln!("note: the standard input is not in the log: it is a terminal, or too long");
    }
    let failed = !matches!(log::ending_of(&log), Ending::Exited { code: 0 } | Ending::Replaced);
    Ok(if failed { Exit::Finding } else { Exit::Clean })
}

/// What comes through a pipe, in a file without a name: the runtime can keep only what can be read twice. `None` for files, which it
/// reads itself, and for terminals, where somebody waits for what the program says first.
fn spooled() -> std::io::Result<Option<File>> {
    let mut stdin = std::io::stdin();
    // SAFETY: asks where the descriptor stands.
    let is_file = unsafe { libc::lseek(stdin.as_raw_fd(), 0, libc::SEEK_CUR) } >= 0;
    if is_file || stdin.is_terminal() {
        return Ok(None);
    }
    let mut file = tempfile::tempfile()?;
    std::io::copy(&mut stdin, &mut file)?;
    file.rewind()?;
    Ok(Some(file))
}

/// A program without recorded modules would run, and write nothing.
fn check_is_recorded(program: &Path) -> Result<(), CliError> {
    let path = match program.components().count() {
        1 => std::env::var_os("PATH")
            .and_then(|path| {
                let mut all = std::env::split_paths(&path).map(|folder| folder.join(program));
                all.find(|file| file.is_file())
            })
            .unwrap_or_else(|| program.to_path_buf()),
        _ => program.to_path_buf(),
    };
    let read = |source| CliError::Read { path: path.clone(), source };
    match elf::section(&path, kept::SECTION).map_err(read)? {
        Some(section) if !section.is_empty() => Ok(()),
        _ => Err(CliError::NotRecorded { path }),
    }
}

/// An old log makes room; any other file stays.
fn remove_old(path: &Path) -> Result<(), CliError> {
    if !path.exists() {
        return Ok(());
    }
    match LogFile::open(path) {
        Ok(_)
        | Err(
            unravel_recording::LogError::Version { .. }
            | unravel_recording::LogError::Damaged { .. },
        ) => std::fs::remove_file(path)
            .map_err(|source| CliError::Write { path: path.into(), source }),
        Err(_) => Err(CliError::InTheWay { path: path.into() }),
    }
}
