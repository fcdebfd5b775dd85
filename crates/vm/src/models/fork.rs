//! `fork` and what its child does up to `exec`: the usual way to start another program.
//!
//! A native step: the process forks, and in the child the thread that called goes on alone, in a copy of the machine, until it executes
//! another program or gives up after trying (`_exit`). What it does on its way (closing descriptors, `dup2`, `setsid`, `chdir`) is done
//! there, for real. The parent waits for that moment, so that the child is another program when anything else happens here.
//!
//! *Not modelled*: a child that goes on as this program. It ends without `exec`, fails, waits for a thread, or uses a pipe or a
//! socket of ours, of which it has none: the run is inconclusive then, with what it did. Errs towards that.

use std::ffi::c_char;

use unravel_trace::Outcome;

use super::{Args, Family, Flow, fail_with_errno};
use crate::budgets::CHILD_TIME;
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("fork", fork),
    ("vfork", fork),
    ("_Fork", fork),
    ("execv", |m, a| execute(m, a, "execv", Words::At(1), None)),
    ("execvp", |m, a| execute(m, a, "execvp", Words::At(1), None)),
    ("execve", |m, a| execute(m, a, "execve", Words::At(1), Some(2))),
    ("execvpe", |m, a| execute(m, a, "execvpe", Words::At(1), Some(2))),
    ("execl", |m, a| execute(m, a, "execv", Words::From(1), None)),
    ("execlp", |m, a| execute(m, a, "execvp", Words::From(1), None)),
    ("execle", |m, a| {
        let count = (1..).take_while(|index| a.word(*index) != 0).count();
        execute(m, a, "execve", Words::From(1), Some(count + 2))
    }),
    ("fexecve", |m, _| {
        m.finish_inconclusive("the program calls 'fexecve', which is not supported".into())
    }),
    ("execveat", |m, _| {
        m.finish_inconclusive("the program calls 'execveat', which is not supported".into())
    }),
];

/// The child has come to `exec`. Everything else that it says is why it does not.
const EXECUTES: u8 = b'e';

/// A process that was forked to become another program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apart {
    /// Where it tells its parent.
    tell: i32,
    /// It tried to become another program, and is still there.
    tried: bool,
}

impl Apart {
    fn say(self, what: &[u8]) {
        // SAFETY: writes bytes of ours to a pipe of ours.
        unsafe { libc::write(self.tell, what.as_ptr().cast(), what.len()) };
    }

    /// Ends the child, which does what is not followed.
    fn give_up(self, why: &str) -> ! {
        if !self.tried {
            self.say(why.as_bytes());
        }
        // SAFETY: nothing of this process is to be put away: it is a copy.
        unsafe { libc::_exit(127) }
    }

    /// The same, where a run would have ended.
    pub fn end(self, outcome: &Outcome) -> ! {
        match outcome {
            Outcome::Inconclusive { reason, .. } => self.give_up(reason),
            Outcome::Failed(failure) => self.give_up(&failure.message),
            Outcome::Exited { .. } | Outcome::Discarded => {
                self.give_up("it ends without starting another program")
            }
        }
    }

    /// `_exit` in the child, after it tried: that is its exit code.
    pub fn exit(self, code: i32) -> ! {
        if !self.tried {
            self.give_up("it ends without starting another program");
        }
        // SAFETY: as above.
        unsafe { libc::_exit(code) }
    }

    /// Its thread would have to wait.
    pub fn blocks(self) -> ! {
        self.give_up("it waits for another thread, of which it has none")
    }
}

fn fork(m: &mut Machine, a: Args) -> Flow {
    m.external_event("fork", a.site());
    if m.apart.is_some() {
        m.finish_inconclusive("a child that 'fork' made forks again".into());
    }
    let mut ends = [0; 2];
    // SAFETY: fills two numbers of ours.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return fail_with_errno(libc::EAGAIN);
    }
    let [hear, tell] = ends;
    // SAFETY: the child uses nothing but this thread's stack and memory of its own, and ends by `exec` or `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        m.apart = Some(Apart { tell, tried: false });
        return Flow::Return(0);
    }
    // SAFETY: descriptors of ours.
    unsafe { libc::close(tell) };
    let said = if child > 0 { heard(hear) } else { Some(vec![EXECUTES]) };
    // SAFETY: as above.
    unsafe { libc::close(hear) };
    if child < 0 {
        return fail_with_errno(libc::EAGAIN);
    }
    let why = match said.as_deref() {
        Some([EXECUTES, ..]) => return Flow::Return(m.children.come(child)),
        Some([]) => "it ended".to_owned(),
        Some(why) => String::from_utf8_lossy(why).into_owned(),
        None => "it starts no other program for long".to_owned(),
    };
    // SAFETY: a child of ours, of which nobody knows.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    m.finish_inconclusive(format!(
        "the program calls 'fork', whose child is only followed up to 'exec': {why}"
    ));
}

/// What the child says until it has become another program or has ended; none if that takes too long.
fn heard(hear: i32) -> Option<Vec<u8>> {
    let mut said = Vec::new();
    loop {
        let mut awaited = libc::pollfd { fd: hear, events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry of ours.
        match unsafe { libc::poll(&mut awaited, 1, CHILD_TIME) } {
            0 => return None,
            n if n < 0 => continue,
            _ => {}
        }
        let mut bytes = [0u8; 512];
        // SAFETY: fills bytes of ours.
        match unsafe { libc::read(hear, bytes.as_mut_ptr().cast(), bytes.len()) } {
            n @ 1.. => said.extend(&bytes[..n as usize]),
            0 => return Some(said),
            _ => {}
        }
    }
}

/// Where the arguments of the new program are: a table that an argument points to, or the arguments from this one on.
enum Words {
    At(usize),
    From(usize),
}

fn execute(m: &mut Machine, a: Args, name: &str, words: Words, environment: Option<usize>) -> Flow {
    let Some(apart) = &mut m.apart else {
        m.finish_inconclusive(format!("the program becomes another one by '{name}'"));
    };
    apart.say(&[EXECUTES]);
    apart.tried = true;
    let given: Vec<u64> = match words {
        Words::At(_) => Vec::new(),
        Words::From(first) => {
            let each = (first..).map(|index| a.word(index)).take_while(|word| *word != 0);
            each.chain([0]).collect()
        }
    };
    let table = match words {
        Words::At(index) => a.word(index) as *const *const c_char,
        Words::From(_) => given.as_ptr().cast(),
    };
    let path = a.word(0) as *const c_char;
    // SAFETY: the program's own strings and tables: what it gets wrong ends its child, which is what would happen. Signals are those of a
    // program that has just been started.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        match (name, environment) {
            ("execve", Some(index)) => libc::execve(path, table, a.word(index) as _),
            ("execvpe", Some(index)) => libc::execvpe(path, table, a.word(index) as _),
            ("execvp", _) => libc::execvp(path, table),
            _ => libc::execv(path, table),
        };
    }
    fail_with_errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOENT))
}
