//! Other programs that the program starts: `system`, `popen`, `posix_spawn`, and waiting for them. Native steps: each is one
//! event, during which nothing else of the program goes on.
//!
//! Numbers of processes are ours, the same in every run. What a child does outside is the world's; a child that is still there when
//! the run ends is waited for by nobody. For `fork` see [`super::fork`]. *Not modelled*: children that get a descriptor of ours ([`super::descriptors`]): they are inconclusive, too.

use super::process::PROCESS;
use super::{Args, Family, Flow, OK, fail_with_errno};
use crate::machine::Machine;
use crate::resolve::native_address;

pub(crate) const MODELS: Family = &[
    ("system", |m, a| native(m, a, "system")),
    ("popen", |m, a| {
        let flow = native(m, a, "popen");
        if let Flow::Return(stream @ 1..) = flow {
            m.open_files.push(stream);
        }
        flow
    }),
    ("pclose", |m, a| {
        let stream = a.word(0);
        m.open_files.retain(|open| *open != stream);
        native(m, a, "pclose")
    }),
    ("posix_spawn", |m, a| spawn(m, a, "posix_spawn")),
    ("posix_spawnp", |m, a| spawn(m, a, "posix_spawnp")),
    ("posix_spawn_file_actions_adddup2", |m, a| {
        if m.descriptors.is_ours(a.int(1)) {
            m.finish_inconclusive(
                "the program gives one of its pipes or sockets to another program, which is not modelled"
                    .into(),
            );
        }
        call(m, "posix_spawn_file_actions_adddup2", &[a.word(0), a.word(1), a.word(2)])
    }),
    ("wait", |m, a| wait(m, a, -1, a.word(0), 0)),
    ("waitpid", |m, a| wait(m, a, a.int(0), a.word(1), a.int(2))),
    ("wait3", |m, a| wait_used(m, a, -1, a.word(0), a.int(1), a.word(2))),
    ("wait4", |m, a| wait_used(m, a, a.int(0), a.word(1), a.int(2), a.word(3))),
    ("waitid", wait_id),
];

/// The number of the first child; others follow.
const FIRST: u64 = PROCESS + 1000;

/// The children of a run.
#[derive(Debug, Default)]
pub(crate) struct Children {
    /// Their numbers outside, in order; 0 if they were waited for.
    outside: Vec<i32>,
}

impl Children {
    /// The number of a new one.
    pub fn come(&mut self, outside: i32) -> u64 {
        self.outside.push(outside);
        FIRST + self.outside.len() as u64 - 1
    }

    /// The number outside of a child that was not waited for yet.
    pub fn outside(&self, number: i32) -> Option<i32> {
        let index = usize::try_from(i64::from(number) - FIRST as i64).ok()?;
        self.outside.get(index).copied().filter(|child| *child > 0)
    }

    pub fn clear(&mut self) {
        for child in self.outside.drain(..).filter(|child| *child > 0) {
            // SAFETY: takes note of a child that may have ended; the next run has none.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) };
        }
    }
}

fn call(m: &mut Machine, name: &str, words: &[u64]) -> Flow {
    let Some(address) = native_address(name) else {
        m.finish_inconclusive(format!("the function '{name}' is not known"));
    };
    match m.try_call_native(address, words) {
        Ok(result) => Flow::Return(result),
        Err(_) => Flow::Throw,
    }
}

fn native(m: &mut Machine, a: Args, name: &str) -> Flow {
    m.test_cancel();
    m.external_event(name, a.site());
    call(m, name, &[a.word(0), a.word(1)])
}

/// `posix_spawn(number_at, path, actions, attributes, arguments, environment)`.
fn spawn(m: &mut Machine, a: Args, name: &str) -> Flow {
    m.external_event(name, a.site());
    let mut child: libc::pid_t = 0;
    let at = &raw mut child as u64;
    let flow = call(m, name, &[at, a.word(1), a.word(2), a.word(3), a.word(4), a.word(5)]);
    if let Flow::Return(0) = flow {
        let number = m.children.come(child);
        if a.word(0) != 0 {
            m.check_sync(a.word(0), 4, true);
            // SAFETY: checked.
            unsafe { (a.word(0) as *mut i32).write_unaligned(number as i32) };
        }
    }
    flow
}

fn wait(m: &mut Machine, a: Args, number: i32, status_at: u64, options: i32) -> Flow {
    match wait_for(m, a, number, options) {
        Err(flow) => flow,
        Ok(None) => OK,
        Ok(Some((number, status))) => {
            if status_at != 0 {
                m.check_sync(status_at, 4, true);
                // SAFETY: checked.
                unsafe { (status_at as *mut i32).write_unaligned(status) };
            }
            Flow::Return(number)
        }
    }
}

/// `wait3` and `wait4`: what a child used is another thing in every run.
fn wait_used(
    m: &mut Machine,
    a: Args,
    number: i32,
    status_at: u64,
    options: i32,
    usage_at: u64,
) -> Flow {
    if usage_at != 0 {
        m.finish_inconclusive(
            "the program asks what a child process has used (wait3, wait4), which is not modelled"
                .into(),
        );
    }
    wait(m, a, number, status_at, options)
}

/// `waitid(kind, number, info, options)`.
fn wait_id(m: &mut Machine, a: Args) -> Flow {
    let known = libc::WEXITED | libc::WNOHANG;
    let number = match a.int(0) as u32 {
        libc::P_ALL => -1,
        libc::P_PID => a.int(1),
        _ => 0,
    };
    if number == 0 || a.int(3) & !known != 0 || a.int(3) & libc::WEXITED == 0 {
        m.finish_inconclusive(
            "the program waits for children by waitid otherwise than for their end".into(),
        );
    }
    let ended = match wait_for(m, a, number, a.int(3) & libc::WNOHANG) {
        Err(flow) => return flow,
        Ok(ended) => ended,
    };
    let at = a.word(2);
    if at != 0 {
        m.check_sync(at, 128, true);
        let mut info = [0u8; 128];
        if let Some((number, status)) = ended {
            let (code, value) = match libc::WIFEXITED(status) {
                true => (libc::CLD_EXITED, libc::WEXITSTATUS(status)),
                false if libc::WCOREDUMP(status) => (libc::CLD_DUMPED, libc::WTERMSIG(status)),
                false => (libc::CLD_KILLED, libc::WTERMSIG(status)),
            };
            let fields = [(0, libc::SIGCHLD), (8, code), (16, number as i32), (24, value)];
            for (offset, value) in fields {
                info[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
            }
        }
        // SAFETY: checked.
        unsafe { std::ptr::copy_nonoverlapping(info.as_ptr(), at as *mut u8, info.len()) };
    }
    OK
}

/// Waits until a child ends: its number and status; none if it is not over (`WNOHANG`).
fn wait_for(
    m: &mut Machine,
    a: Args,
    number: i32,
    options: i32,
) -> Result<Option<(u64, i32)>, Flow> {
    m.test_cancel();
    m.external_event("waitpid", a.site());
    let outside = match number {
        -1 if m.children.outside.iter().any(|child| *child > 0) => -1,
        number => match m.children.outside(number) {
            Some(child) => child,
            None => return Err(fail_with_errno(libc::ECHILD)),
        },
    };
    let mut status = 0i32;
    let words = [outside as u32 as u64, &raw mut status as u64, options as u32 as u64];
    let Flow::Return(result) = call(m, "waitpid", &words) else { return Err(Flow::Throw) };
    let ended = result as i32;
    if ended < 0 {
        return Err(Flow::Return(ended as u32 as u64));
    }
    let Some(index) = m.children.outside.iter().position(|child| *child == ended && ended > 0)
    else {
        return Ok(None);
    };
    m.children.outside[index] = 0;
    Ok(Some((FIRST + index as u64, status)))
}
