//! Bitcode that somebody else made is read by another process first: LLVM ends the process it is in when a file is damaged
//! in a way that it did not expect.

use std::io;

use crate::load::load;

/// Reading it may take this long, in seconds.
const PATIENCE: u32 = 60;

/// How bitcode ended the process that read it.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("it is damaged: reading it ends the process (signal {signal})")]
    Damaged { signal: i32 },
    #[error("it is damaged: it cannot be read within {PATIENCE} s")]
    Endless,
    #[error("it is damaged: reading it comes upon something that cannot be")]
    Absurd,
    #[error("no process can be started to read it: {0}")]
    Fork(io::Error),
}

/// Whether bitcode can be read at all. That it is refused is no matter of ours: whoever loads it will be told why.
pub fn probe(bitcode: &[u8]) -> Result<(), ProbeError> {
    // SAFETY: the child reads the bitcode in its own copy of this process, and ends.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Err(ProbeError::Fork(io::Error::last_os_error())),
        0 => {
            // SAFETY: all of these concern the child alone.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                for signal in
                    [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL, libc::SIGALRM]
                {
                    libc::signal(signal, libc::SIG_DFL);
                }
                // What LLVM prints before it gives up helps nobody.
                let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
                libc::dup2(nowhere, 1);
                libc::dup2(nowhere, 2);
                libc::alarm(PATIENCE);
            }
            let read = std::panic::catch_unwind(|| drop(load(bitcode)));
            // SAFETY: the end of the child, without what the parent wants done at its own.
            unsafe { libc::_exit(i32::from(read.is_err())) }
        }
        child => {
            let mut status = 0;
            // SAFETY: our own child. An interrupt is no end of it.
            while unsafe { libc::waitpid(child, &mut status, 0) } < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
            match libc::WIFSIGNALED(status) {
                true if libc::WTERMSIG(status) == libc::SIGALRM => Err(ProbeError::Endless),
                true => Err(ProbeError::Damaged { signal: libc::WTERMSIG(status) }),
                false if libc::WEXITSTATUS(status) != 0 => Err(ProbeError::Absurd),
                false => Ok(()),
            }
        }
    }
}
