//! The decoded log: plain data, in terms of the kept program.

use serde::{Deserialize, Serialize};
use unravel_trace::ThreadName;

/// Says which build a log belongs to: a hash over the hashes of all kept modules, in the order of the link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct BuildId(pub u64);

/// Index into [`Log::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct FunctionId(pub u32);

/// Position of a basic block in its function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct BlockId(pub u32);

/// A recorded run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Log {
    pub build: BuildId,
    pub mode: Mode,
    /// The kept modules, linked: bitcode of exactly the code that ran, before recording code was put in.
    pub program: Vec<u8>,
    /// Functions with a body in `program`, in its order.
    pub functions: Vec<Function>,
    /// The name of the file that ran, without its folders.
    pub name: String,
    pub inputs: Inputs,
    /// By birth: the main thread first, then in the order in which threads started.
    pub threads: Vec<Thread>,
    pub ending: Ending,
    /// What ran unrecorded.
    pub unrecorded: Vec<Unrecorded>,
}

impl Log {
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    pub fn branches(&self) -> usize {
        let branch = |r: &&Record| matches!(r, Record::Branch { .. });
        self.threads.iter().map(|t| t.records.iter().filter(branch).count()).sum()
    }
}

/// What the program was given; nothing unless the recording was asked for it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Inputs {
    /// Its arguments, its name first.
    pub arguments: Vec<Vec<u8>>,
    /// Its standard input, if that was a file.
    pub stdin: Option<Vec<u8>>,
}

/// How much of a thread is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// Everything since the thread's start.
    Whole,
    /// The last megabytes of each thread.
    Flight,
}

/// A function with a body.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Function {
    /// As in [`Log::program`].
    pub name: String,
    pub blocks: u32,
    /// Its code is in the program, but nothing of it was recorded (computed goto, for one): why.
    pub unrecorded: Option<String>,
}

/// Something that ran without being recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Unrecorded {
    /// A library, or the program itself, none of whose code was built by `unravel-cc`.
    Image(String),
    /// A function of a kept module.
    Function { name: String, reason: String },
    /// Threads that somebody else than `pthread_create` started.
    Threads(u32),
}

/// What one thread did.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Thread {
    /// By birth: T0, T0.1, … as everywhere.
    pub name: ThreadName,
    pub begin: Begin,
    pub records: Vec<Record>,
    pub end: End,
    pub lost: Vec<Lost>,
}

/// Where a thread's records begin.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Begin {
    /// Where the thread began.
    Start,
    /// In the middle; what came before was recycled. The stack at that moment, outermost frame first.
    Middle { stack: Stack },
}

/// A call stack, outermost frame first. Frames of unrecorded code are left out.
pub type Stack = Vec<Frame>;

/// A place in a recorded function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Frame {
    pub function: FunctionId,
    pub block: BlockId,
    /// The instruction in the block: the call that the frame stands in. Without one the thread was in recorded code, somewhere after
    /// the begin of this block: on the acyclic path that it did not live to write.
    pub instruction: Option<u32>,
}

/// One thing that a thread did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Record {
    /// Recorded code is entered from unrecorded code: the start of `main` or of a thread, a callback, a call between modules.
    Enter(FunctionId),
    /// A terminator with several successors.
    Branch {
        function: FunctionId,
        block: BlockId,
        successor: u32,
    },
    Sync(Sync),
    /// What a call of unknown external code returned, if the recording was asked for inputs.
    Value {
        call: Frame,
        value: u64,
    },
}

/// A sync operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sync {
    pub kind: SyncKind,
    pub object: Object,
    /// Orders operations on the same object; see the room's header.
    pub stamp: u64,
}

/// Names a sync object, the same in all threads of the log; says nothing of where it lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Object(pub u64);

/// What a sync record says. Of an operation that failed (`trylock` of a held mutex, a wait that timed out) `acquired` is false.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SyncKind {
    /// The object is the child's number among all threads; its name is this thread's next child.
    Create,
    /// The object is the joined thread's number.
    Join,
    /// This thread's first record.
    Begin,
    /// Its last one.
    Exit,
    Lock,
    LockShared,
    TryLock {
        acquired: bool,
    },
    TryLockShared {
        acquired: bool,
    },
    Unlock,
    /// The thread gives the mutex away and waits.
    Wait,
    /// It has the mutex again.
    Wake {
        timed_out: bool,
    },
    Signal,
    Broadcast,
    SemWait,
    SemTryWait {
        acquired: bool,
    },
    SemPost,
    BarrierArrive,
    BarrierLeave,
    Once,
    OnceDone,
}

/// How one thread ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum End {
    /// It returned or exited.
    Returned,
    /// It was inside this operation when the process ended or the log was closed.
    Pending { kind: SyncKind, object: Object, stack: Stack },
    /// It ran, or was in unrecorded code, when the process ended.
    Running,
}

/// How the process ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ending {
    Exited {
        code: i32,
    },
    /// `__assert_fail` and its like.
    Assertion {
        thread: ThreadName,
        message: String,
        stack: Stack,
    },
    /// A signal that ended the process; SIGABRT is `Abort`.
    Signal {
        thread: ThreadName,
        signal: i32,
        address: Option<u64>,
        stack: Stack,
    },
    Abort {
        thread: ThreadName,
        stack: Stack,
    },
    UncaughtException {
        thread: ThreadName,
        stack: Stack,
    },
    /// `--hang-after` or SIGQUIT closed the log; what each thread waits for is its [`Thread::end`].
    Hang,
    /// `exec` put another program in its place.
    Replaced,
    /// Nobody wrote an end: SIGKILL, or the machine went down.
    Killed,
}

/// What is missing of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Lost {
    /// The bytes before the first restart point that is left.
    Recycled { bytes: u64 },
    /// From here on the log contradicts the program's numbering; `bytes` follow that say nothing.
    Undecodable { bytes: u64, reason: String },
    /// How far a counted loop got, or the acyclic path at the end.
    Tail,
    /// The recording itself gave the thread up: why.
    Given { reason: String },
    /// A restart point that could not be mapped to the program.
    NoRestart { reason: String },
}
