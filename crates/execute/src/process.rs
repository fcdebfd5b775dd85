//! Processes that run the program: forked copies of this one, because a process has room for one machine's memory,
//! and because a program can destroy whatever it runs in. They talk through pipes, in messages with their length.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::marker::PhantomData;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use unravel_trace::Executor;

use crate::budgets::{GRACE, TICK};
use crate::silence::fall_silent;
use crate::{Limit, clock};

/// A forked process, killed when dropped.
#[derive(Debug)]
pub struct Child {
    pid: i32,
}

impl Child {
    /// `body` is all that the child does. It does not outlive us, and Ctrl-C is for us alone.
    /// What the program prints there goes nowhere.
    pub fn fork(
        executor: &mut dyn Executor,
        body: impl FnOnce(&mut dyn Executor),
    ) -> Result<Child> {
        // SAFETY: a fork of a process without other threads that hold locks.
        unsafe {
            // What is buffered would be written twice.
            libc::fflush(std::ptr::null_mut());
            match libc::fork() {
                -1 => Err(Error::last_os_error()),
                0 => {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::signal(libc::SIGINT, libc::SIG_IGN);
                    if fall_silent().is_err() {
                        libc::_exit(1);
                    }
                    executor.after_fork();
                    body(executor);
                    libc::_exit(0)
                }
                pid => Ok(Child { pid }),
            }
        }
    }

    /// Waits for its end; returns the signal that ended it, or 0.
    pub fn wait(&mut self) -> i32 {
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::waitpid(self.pid, &mut status, 0) };
        self.pid = -1;
        if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.pid > 0 {
            // SAFETY: our own child, not waited for yet.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            self.wait();
        }
    }
}

/// A number that this process and its children see alike, 0 or false at first.
#[derive(Debug)]
pub struct Shared<T: Atomic> {
    page: *mut T,
}

/// What a page of zeros may be taken for.
pub trait Atomic {}
impl Atomic for AtomicBool {}
impl Atomic for AtomicU64 {}

impl<T: Atomic> Shared<T> {
    pub fn new() -> Result<Shared<T>> {
        // SAFETY: a new page of our own.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        Ok(Shared { page: page.cast() })
    }
}

impl<T: Atomic> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped as long as this lives; zeros are a value of every atomic.
        unsafe { &*self.page }
    }
}

impl<T: Atomic> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: our own page.
        unsafe { libc::munmap(self.page.cast(), size_of::<T>()) };
    }
}

/// Work in a process of its own that sends messages as it goes.
#[derive(Debug)]
pub struct Apart<T> {
    child: Child,
    messages: File,
    stop: Shared<AtomicBool>,
    sends: PhantomData<T>,
}

/// What came from work that goes on apart.
#[derive(Debug)]
pub enum Received<T> {
    Message(T),
    /// Nothing within the time.
    Nothing,
    /// The process has ended, by this signal if not 0.
    Ended {
        signal: i32,
    },
}

/// What came of work that was attended.
#[derive(Debug)]
pub enum Attended<R> {
    Done(R),
    /// The process has ended, by this signal if not 0.
    Ended {
        signal: i32,
    },
    /// It did not end when it should.
    Late,
}

impl<T: Serialize + DeserializeOwned> Apart<T> {
    /// `body` gets the executor, a flag that says when to stop, and a way to send messages. Ctrl-C does not reach it.
    pub fn start(
        executor: &mut dyn Executor,
        body: impl FnOnce(&mut dyn Executor, &AtomicBool, &mut dyn FnMut(&T)),
    ) -> Result<Apart<T>> {
        let (messages, mut out) = pipe(executor)?;
        let stop = Shared::new()?;
        let child = Child::fork(executor, |executor| {
            body(executor, &stop, &mut |message| {
                // Nobody listens any more: then it does not matter.
                let _ = write_message(&mut out, message);
            });
        })?;
        drop(out);
        Ok(Apart { child, messages, stop, sends: PhantomData })
    }

    /// The next message.
    pub fn receive(&mut self, at_most: Duration) -> Received<T> {
        if ready(&[&self.messages], at_most).is_empty() {
            return Received::Nothing;
        }
        match read_message(&mut self.messages) {
            Ok(message) => Received::Message(message),
            Err(_) => Received::Ended { signal: self.child.wait() },
        }
    }

    /// Receives until `each` has got what was waited for; it is told of every message, and of every tick without one. When
    /// somebody wants it to end, the work is asked to; what does not end shortly after its limit is left alone.
    pub fn attend<R>(
        &mut self,
        limit: Limit<'_>,
        mut each: impl FnMut(Option<T>) -> Option<R>,
    ) -> Attended<R> {
        let mut over: Option<Instant> = None;
        loop {
            let message = match self.receive(TICK) {
                Received::Message(message) => Some(message),
                Received::Nothing => None,
                Received::Ended { signal } => return Attended::Ended { signal },
            };
            if let Some(result) = each(message) {
                return Attended::Done(result);
            }
            if limit.is_interrupted() {
                self.stop();
            }
            if !limit.may_go_on()
                && clock::now().saturating_duration_since(*over.get_or_insert_with(clock::now))
                    > GRACE
            {
                return Attended::Late;
            }
        }
    }

    /// Asks it to come to an end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Which of the pipes have something to read, or have ended.
pub fn ready(pipes: &[&File], at_most: Duration) -> Vec<usize> {
    let poll =
        |file: &&File| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<libc::pollfd> = pipes.iter().map(poll).collect();
    if polls.is_empty() {
        return Vec::new();
    }
    // SAFETY: descriptors we own.
    let found =
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as u64, at_most.as_millis() as i32) };
    if found <= 0 {
        return Vec::new();
    }
    (0..polls.len()).filter(|index| polls[*index].revents != 0).collect()
}

/// The ends to read from and to write to.
pub fn pipe(executor: &mut dyn Executor) -> Result<(File, File)> {
    executor.rest();
    let mut ends = [0; 2];
    // SAFETY: a new pipe whose ends we own.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

pub fn write_message<T: Serialize>(to: &mut File, message: &T) -> Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(Error::other)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)
}

pub fn read_message<T: DeserializeOwned>(from: &mut File) -> Result<T> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    let wanted = u64::from_le_bytes(length);
    if from.take(wanted).read_to_end(&mut bytes)? as u64 != wanted {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(Error::other)
}
