//! Where the output of the program under test goes when nobody wants it. It writes to the descriptors of this process, so
//! these are what is sent away.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::panic::PanicHookInfo;

/// While it lives, what this process writes to its standard output and error goes nowhere: for commands that run
/// the program many times and have words of their own.
pub struct Silence {
    output: OwnedFd,
    error: OwnedFd,
    /// What happened at a panic before.
    hook: Option<Hook>,
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;

impl Silence {
    pub fn begin() -> std::io::Result<Silence> {
        std::io::stdout().flush()?;
        let silence = Silence {
            output: std::io::stdout().as_fd().try_clone_to_owned()?,
            error: std::io::stderr().as_fd().try_clone_to_owned()?,
            hook: Some(std::panic::take_hook()),
        };
        let error = silence.stderr()?;
        fall_silent()?;
        // A bug in us is told where the user can read it.
        std::panic::set_hook(Box::new(move |panic| {
            let _ = writeln!(&error, "{panic}");
        }));
        Ok(silence)
    }

    /// The standard error as it was, for progress.
    pub fn stderr(&self) -> std::io::Result<File> {
        Ok(File::from(self.error.try_clone()?))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // What the program's own buffers still hold belongs nowhere.
        // SAFETY: flushes all streams of the C library.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let _ = std::io::stdout().flush();
        if let Some(hook) = self.hook.take().filter(|_| !std::thread::panicking()) {
            std::panic::set_hook(hook);
        }
        for (saved, descriptor) in [(&self.output, 1), (&self.error, 2)] {
            // SAFETY: puts back a descriptor of this process.
            unsafe { libc::dup2(saved.as_raw_fd(), descriptor) };
        }
    }
}

/// Sends standard output and error of this process away for good.
pub(crate) fn fall_silent() -> std::io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    for descriptor in [1, 2] {
        // SAFETY: replaces a standard descriptor of this process.
        if unsafe { libc::dup2(nowhere.as_raw_fd(), descriptor) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}
