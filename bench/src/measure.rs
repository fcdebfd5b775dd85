//! How things are measured here: on one core, the two sides in turn, medians.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use xtask::error::Error;
use xtask::workspace::{line, name};

/// Keeps this process and all it starts on one core, so that no side gets more of the machine than the
/// other.
pub fn stay_on_one_core() -> Result<(), Error> {
    // SAFETY: the set is ours, and its size is told.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &mut set) == 0 {
            let first = (0..libc::CPU_SETSIZE as usize).find(|core| libc::CPU_ISSET(*core, &set));
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(first.unwrap_or(0), &mut set);
            libc::sched_setaffinity(0, size, &set)
        } else {
            -1
        }
    };
    if result == 0 {
        return Ok(());
    }
    Err(Error::Start { program: "on one core".into(), source: std::io::Error::last_os_error() })
}

/// The middle one; of an even number, the upper of the two in the middle.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seconds that `work` takes, with what it returns.
pub fn time<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(f64, T), Error> {
    let started = Instant::now();
    let result = work()?;
    Ok((started.elapsed().as_secs_f64(), result))
}

/// Processor seconds of the processes that `work` starts and waits for, with what it returns: what others do meanwhile
/// matters less to them.
pub fn processor_time<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(f64, T), Error> {
    let before = used_by_children();
    let result = work()?;
    Ok((used_by_children() - before, result))
}

fn used_by_children() -> f64 {
    let used = children();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

/// Kilobytes of the largest process of all that were started and waited for, from the beginning on.
pub fn largest_child() -> u64 {
    children().ru_maxrss as u64
}

fn children() -> libc::rusage {
    // SAFETY: zeros are a valid answer, which is then written over.
    unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut used);
        used
    }
}

/// What values come to where ratios count.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}

/// What one process took.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    pub processor_seconds: f64,
    pub kilobytes: u64,
}

/// Runs a command whose output goes nowhere or into a file. It must succeed.
pub fn spend(command: &mut Command) -> Result<Spent, Error> {
    let child = command.spawn();
    let child = child.map_err(|source| Error::Start { program: name(command), source })?;
    let mut status = 0;
    // SAFETY: waits for our own child, whose handle is not used again; the kernel fills in the usage.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::wait4(child.id() as i32, &mut status, 0, &mut used);
        used
    };
    let status = ExitStatus::from_raw(status);
    if !status.success() {
        return Err(Error::Failed { command: line(command), status });
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ok(Spent {
        processor_seconds: seconds(used.ru_utime) + seconds(used.ru_stime),
        kilobytes: used.ru_maxrss as u64,
    })
}

/// Seconds as milliseconds, for tables.
pub fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::{geometric_mean, median};

    #[test]
    fn ratios_and_their_inverses_cancel_out() {
        assert!((geometric_mean([4.0, 0.25, 2.0, 0.5]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        assert_eq!(median([3.0, 1000.0, 1.0, 2.0, 2.5]), 2.5);
    }
}
