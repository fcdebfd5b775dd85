//! Room `runtime`: what runs inside a recorded program.
//!
//! `no_std`, no allocation but `mmap`, no threads of its own, nothing that could panic: it becomes one object file that needs only the C
//! library (`crates/driver/build.rs` makes and checks it), linked into every program that `unravel-cc` links.
//!
//! - `thread.rs`: a thread's stream of records, segment after segment, whole or as a ring (flight recorder).
//! - `fault.rs`: the fault at a segment's end, which moves the writer on; crashes of the program.
//! - `file.rs`: the log file, which all threads and the kernel share: it survives SIGKILL.
//! - `sync.rs`, `hot.rs`, `objects.rs`, `threads.rs`: the functions of pthreads that are recorded, in place of the C library's own, which they call.
//! - `elements.rs`: access vectors of chosen elements, in programs that were built for a profile (`unravel coop build`).
//! - `signals.rs`: handlers of the program write into a stream of their own, because they interrupt the writer anywhere.
//! - `ending.rs`: how the process ends; `process.rs`: its begin, `fork`, `exec`.
//!
//! Without `UNRAVEL_LOG` in the environment nothing is kept: all threads write into a small private buffer, over and over.
//!
//! It holds no values of the program: branches, names of places, addresses of sync objects, the text of a failed assertion; unless it
//! was asked for what the program was given (`inputs.rs`).

#![no_std]
// Programs that were built for a profile have the runtime without what records sync operations: they call the C library's own.
#![cfg_attr(
    feature = "vectors",
    expect(dead_code, reason = "what records sync operations uses it")
)]

#[path = "../../recording/src/layout.rs"]
#[expect(dead_code, reason = "the reader's half")]
mod layout;

#[path = "../../recording/src/vectors.rs"]
#[expect(dead_code, reason = "the reader's half")]
mod vectors;

mod elements;
mod ending;
mod fault;
mod file;
#[cfg(not(feature = "vectors"))]
mod hot;
mod inputs;
mod objects;
mod process;
mod signals;
mod stack;
#[cfg(not(feature = "vectors"))]
mod sync;
mod sys;
mod thread;
mod threads;
