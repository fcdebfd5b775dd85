//! A log file → the decoded log: finds the kept modules, links them to one program, decodes every thread.

use std::collections::HashMap;
use std::path::Path;

use unravel_recording::layout;
use unravel_recording::shape::{FunctionShape, Recorded};
use unravel_recording::{
    Begin, BuildId, Code, CodeError, Decoded, Decoder, End, Ending, Function, FunctionId,
    FunctionIds, Log, LogError, LogFile, Lost, Object, Objects, Record, Stack, Stream, SyncKind,
    Thread, Unrecorded, sync_kind,
};
use unravel_trace::ThreadName;

use crate::extract::blocks_of;
use crate::module::{Module, ModuleError, NewNames, name_of};

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Code(#[from] CodeError),
    #[error(transparent)]
    Module(#[from] ModuleError),
    #[error(
        "the log holds not one record: the program did not run recorded code, or the log was closed before it did"
    )]
    Empty,
}

/// So many branches of a thread are held in memory at most (12 bytes each).
const HELD: u64 = 1 << 27;

/// A log whose program was found, ready to be decoded thread by thread.
pub struct OpenedLog {
    pub file: LogFile,
    pub code: Code,
    pub build: BuildId,
    /// The kept modules, linked.
    pub program: Vec<u8>,
    pub functions: Vec<Function>,
    pub ids: FunctionIds,
}

/// Reads and decodes a whole log.
pub fn open_log(path: &Path) -> Result<Log, OpenError> {
    OpenedLog::open(path)?.decode()
}

impl OpenedLog {
    pub fn open(path: &Path) -> Result<OpenedLog, OpenError> {
        let file = LogFile::open(path)?;
        let code = Code::of(&file)?;
        let kept: Vec<&[u8]> = code.kept().map(|kept| kept.bitcode.as_slice()).collect();
        let hashes: Vec<u8> = code.kept().flat_map(|kept| kept.hash.to_le_bytes()).collect();
        let build = BuildId(unravel_code::fingerprint(&hashes));
        let (module, names) = Module::link(&kept)?;
        let (functions, ids) = functions(&code, &module, names);
        Ok(OpenedLog { file, code, build, program: module.write(), functions, ids })
    }

    /// The streams that are threads, with their names.
    pub fn threads(&self) -> Vec<(ThreadName, &Stream)> {
        let names = self.file.names();
        let threads = self.file.streams.iter().filter(|s| s.state != layout::STATE_HANDLERS);
        // A thread that was never started has no segment.
        let begun = threads.filter(|stream| !stream.segments.is_empty());
        begun.map(|stream| (names[&stream.number].clone(), stream)).collect()
    }

    /// Decodes one stream; each record goes to `sink`.
    pub fn decode_stream(
        &self,
        stream: &Stream,
        objects: &mut Objects,
        sink: impl FnMut(Record),
    ) -> Decoded {
        Decoder::new(&self.file, stream, &self.code, &self.ids, objects, sink).run()
    }

    /// The same, for who holds all records, or does not trust the log.
    pub fn decode_at_most(
        &self,
        branches: u64,
        stream: &Stream,
        objects: &mut Objects,
        sink: impl FnMut(Record),
    ) -> Decoded {
        let decoder = Decoder::new(&self.file, stream, &self.code, &self.ids, objects, sink);
        decoder.at_most(branches).run()
    }

    pub fn decode(self) -> Result<Log, OpenError> {
        let mut objects = Objects::default();
        let (mut threads, mut stacks) = (Vec::new(), HashMap::new());
        for (name, stream) in self.threads() {
            let mut records = Vec::new();
            let keep = |record| records.push(record);
            let mut decoded = self.decode_at_most(HELD, stream, &mut objects, keep);
            decoded.lost.extend(self.otherwise_lost(stream));
            stacks.insert(name.clone(), decoded.stack.clone());
            let end = end_of(stream, &mut objects, decoded.pending, decoded.stack);
            threads.push(Thread { name, begin: decoded.begin, records, end, lost: decoded.lost });
        }
        let nothing = |t: &Thread| t.records.is_empty() && t.begin == Begin::Start;
        if threads.iter().all(nothing) {
            return Err(OpenError::Empty);
        }
        let ending = ending_of(&self.file, &stacks);
        // The program is the first of the loaded files.
        let image = self.file.images.first().and_then(|(_, path)| path.file_name());
        let name = image.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let inputs = self.file.inputs.clone();
        let unrecorded = self.unrecorded();
        let mode = self.file.mode;
        let (build, program, functions) = (self.build, self.program, self.functions);
        Ok(Log { build, mode, program, functions, name, inputs, threads, ending, unrecorded })
    }

    /// What the runtime itself gave up.
    pub fn otherwise_lost(&self, stream: &Stream) -> Option<Lost> {
        let jumped = |other: &Stream| {
            other.state == layout::STATE_HANDLERS
                && other.parent == stream.number
                && other.lost & layout::LOST_JUMP != 0
        };
        if stream.lost & layout::LOST_SPACE != 0 {
            return Some(Lost::Given { reason: "there was no room for the log".to_owned() });
        }
        let jumped = self.file.streams.iter().any(jumped);
        jumped.then(|| Lost::Given { reason: "a signal handler was left by a jump".to_owned() })
    }

    pub fn unrecorded(&self) -> Vec<Unrecorded> {
        let mut all: Vec<Unrecorded> =
            self.code.unrecorded.iter().cloned().map(Unrecorded::Image).collect();
        for function in &self.functions {
            if let Some(reason) = function.unrecorded.clone() {
                all.push(Unrecorded::Function { name: function.name.clone(), reason });
            }
        }
        if self.file.unrecorded_threads > 0 {
            all.push(Unrecorded::Threads(self.file.unrecorded_threads));
        }
        all
    }
}

/// How the run ended. `stacks` says where threads stood, as far as they were decoded.
pub fn ending_of(file: &LogFile, stacks: &HashMap<ThreadName, Stack>) -> Ending {
    let raw = &file.ending;
    let thread = file.names().remove(&raw.thread).unwrap_or_else(ThreadName::main);
    let stack = stacks.get(&thread).cloned().unwrap_or_default();
    match raw.kind {
        layout::END_EXIT => Ending::Exited { code: raw.code as i32 },
        layout::END_ASSERTION => Ending::Assertion { thread, message: raw.message.clone(), stack },
        layout::END_SIGNAL => {
            let address = (raw.address != 0).then_some(raw.address);
            Ending::Signal { thread, signal: raw.code as i32, address, stack }
        }
        layout::END_ABORT => Ending::Abort { thread, stack },
        layout::END_EXCEPTION => Ending::UncaughtException { thread, stack },
        layout::END_HANG => Ending::Hang,
        layout::END_EXEC => Ending::Replaced,
        _ => Ending::Killed,
    }
}

/// How a thread ended whose stream ends with this stack, in this operation if it says so; else its entry may say one.
pub fn end_of(
    stream: &Stream,
    objects: &mut Objects,
    pending: Option<(SyncKind, Object)>,
    stack: Stack,
) -> End {
    let of_entry =
        || sync_kind(stream.pending).map(|kind| (kind, objects.name(kind, stream.object)));
    match (stream.state, pending.or_else(of_entry)) {
        (layout::STATE_RETURNED, _) => End::Returned,
        (_, Some((kind, object))) => End::Pending { kind, object, stack },
        _ => End::Running,
    }
}

/// The linked program's functions, and which of them each function of a kept module is. A copy that the linker did not take is the one it
/// took if their shapes are the same.
fn functions(code: &Code, module: &Module, names: NewNames) -> (Vec<Function>, FunctionIds) {
    let defined = module.defined();
    let by_name: HashMap<String, u32> =
        defined.iter().enumerate().map(|(i, &f)| (name_of(f), i as u32)).collect();
    let mut functions: Vec<Function> = defined
        .iter()
        .map(|&f| Function {
            name: name_of(f),
            blocks: blocks_of(f).len() as u32,
            unrecorded: None,
        })
        .collect();
    let mut taken: HashMap<&str, &FunctionShape> = HashMap::new();
    let mut ids = FunctionIds::new();
    for (kept, names) in code.kept().zip(&names) {
        let mut own = Vec::with_capacity(names.len());
        for (shape, name) in kept.shape.functions.iter().zip(names) {
            let id = match name {
                Some(name) => {
                    taken.insert(name, shape);
                    by_name.get(name.as_str()).copied()
                }
                None => taken
                    .get(shape.name.as_str())
                    .filter(|first| first.blocks == shape.blocks)
                    .and_then(|_| by_name.get(&shape.name).copied()),
            };
            if let (Some(id), Recorded::No(reason)) = (id, &shape.recorded) {
                functions[id as usize].unrecorded = Some(reason.clone());
            }
            own.push(id.map(FunctionId));
        }
        ids.push(own);
    }
    (functions, ids)
}
