//! Reading a log file. Nothing of it is trusted: it may be cut short, damaged, or made by an enemy.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use unravel_trace::ThreadName;

use crate::layout::{
    self, EndingEntry, Header, Image, InputsEntry, ModuleEntry, SlotMeta, ThreadEntry,
};
use crate::log::{Inputs, Mode};

/// Why a file is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{} is no log of a recorded program", path.display())]
    NotALog { path: PathBuf },
    #[error("{} is a log of version {found}; this is for version {}: record it again", path.display(), layout::VERSION)]
    Version { path: PathBuf, found: u32 },
    #[error("{} is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: &'static str },
}

/// A frame of a restart point: an address, and where its function begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NativeFrame {
    pub address: u64,
    pub function: u64,
}

/// A segment of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    pub sequence: u64,
    /// One of `layout::BEGIN_*`.
    pub begin: u32,
    /// Innermost first.
    pub frames: Vec<NativeFrame>,
    /// Outer frames are missing.
    pub cut_off: bool,
    /// Where its bytes are in the file.
    at: u64,
}

/// The stream of one thread, or of the handlers on top of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    pub number: u32,
    pub parent: u32,
    pub nth: u32,
    pub tid: u32,
    pub state: u32,
    pub pending: u8,
    pub object: u64,
    pub lost: u32,
    /// Without gaps; the last ones that are there.
    pub segments: Vec<Segment>,
    /// How many segments came before those.
    pub recycled: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawEnding {
    pub kind: u32,
    pub thread: u32,
    pub code: i64,
    pub address: u64,
    pub message: String,
    pub frames: Vec<NativeFrame>,
}

/// A log file, opened.
#[derive(Debug)]
pub struct LogFile {
    file: File,
    pub path: PathBuf,
    pub mode: Mode,
    pub pid: u32,
    pub sync: bool,
    pub segment: usize,
    pub ending: RawEnding,
    pub images: Vec<(u64, PathBuf)>,
    pub modules: Vec<(u64, u32, u32)>,
    pub streams: Vec<Stream>,
    pub unrecorded_threads: u32,
    pub inputs: Inputs,
}

/// Bytes of one of the layout's structures, taken field by field.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut taken = [0; N];
        if let Some(bytes) = self.0.get(at..at + N) {
            taken.copy_from_slice(bytes);
        }
        taken
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn long(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
}

macro_rules! at {
    ($kind:ty, $field:ident) => {
        std::mem::offset_of!($kind, $field)
    };
}

impl LogFile {
    pub fn open(path: &Path) -> Result<LogFile, LogError> {
        let io = |source| LogError::Io { path: path.to_path_buf(), source };
        let damaged = |what| LogError::Damaged { path: path.to_path_buf(), what };
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let read = |at: u64, size: usize| {
            let mut bytes = vec![0; size];
            file.read_exact_at(&mut bytes, at).map(|()| bytes)
        };
        let Ok(header) = read(0, size_of::<Header>()) else {
            return Err(LogError::NotALog { path: path.to_path_buf() });
        };
        let header = Fields(&header);
        if header.long(at!(Header, magic)) != layout::MAGIC {
            return Err(LogError::NotALog { path: path.to_path_buf() });
        }
        let version = header.word(at!(Header, version));
        if version != layout::VERSION {
            return Err(LogError::Version { path: path.to_path_buf(), found: version });
        }
        let mode = match header.word(at!(Header, mode)) {
            layout::MODE_WHOLE => Mode::Whole,
            layout::MODE_FLIGHT => Mode::Flight,
            _ => return Err(damaged("it is neither whole nor a flight recorder's")),
        };
        let segment = header.word(at!(Header, segment)) as usize;
        if !(4096..=1 << 30).contains(&segment) {
            return Err(damaged("its segments have an impossible size"));
        }
        if length < layout::SLOTS {
            return Err(damaged("it is cut short"));
        }
        let count = |field: usize, most: u32| header.word(field).min(most);
        let images = count(at!(Header, images), layout::IMAGES) as usize;
        let images = read(layout::IMAGE_TABLE, images * size_of::<Image>()).map_err(io)?;
        let images = images.chunks_exact(size_of::<Image>()).map(image).collect();
        let modules = count(at!(Header, modules), layout::MODULES) as usize;
        let modules = read(layout::MODULE_TABLE, modules * size_of::<ModuleEntry>()).map_err(io)?;
        let modules = modules.chunks_exact(size_of::<ModuleEntry>()).map(|bytes| {
            let entry = Fields(bytes);
            let (first, count) =
                (entry.word(at!(ModuleEntry, first)), entry.word(at!(ModuleEntry, count)));
            (entry.long(at!(ModuleEntry, hash)), first, count)
        });
        let modules = modules.collect();
        let threads = count(at!(Header, threads), layout::THREADS) as usize;
        let threads = read(layout::THREAD_TABLE, threads * size_of::<ThreadEntry>()).map_err(io)?;
        let mut streams: Vec<Stream> = threads
            .chunks_exact(size_of::<ThreadEntry>())
            .enumerate()
            .map(|(number, bytes)| stream(number as u32, bytes))
            .collect();
        let ending = ending(&read(layout::ENDING, size_of::<EndingEntry>()).map_err(io)?);
        let slot = layout::META + segment as u64;
        let slots =
            ((length - layout::SLOTS) / slot).min(u64::from(header.word(at!(Header, slots))));
        for number in 0..slots {
            let start = layout::SLOTS + number * slot;
            let meta = read(start, layout::META as usize).map_err(io)?;
            if let Some((thread, segment)) = segment_of(&meta, start + layout::META)
                && let Some(stream) = streams.get_mut(thread as usize)
            {
                stream.segments.push(segment);
            }
        }
        streams.iter_mut().for_each(keep_last_run);
        let room = read(layout::INPUTS, size_of::<InputsEntry>()).map_err(io)?;
        let texts = |bytes| read(layout::INPUTS + size_of::<InputsEntry>() as u64, bytes);
        let inputs = inputs(&room, texts).map_err(io)?;
        let unrecorded_threads = header.word(at!(Header, unrecorded_threads));
        let (pid, sync) = (header.word(at!(Header, pid)), header.word(at!(Header, sync)) != 0);
        let path = path.to_path_buf();
        Ok(LogFile {
            file,
            path,
            mode,
            pid,
            sync,
            segment,
            ending,
            images,
            modules,
            streams,
            unrecorded_threads,
            inputs,
        })
    }

    /// The names of threads, by number. What signal handlers did goes by the name of their thread.
    pub fn names(&self) -> HashMap<u32, ThreadName> {
        let mut names: HashMap<u32, ThreadName> = HashMap::new();
        for stream in &self.streams {
            let name = match names.get(&stream.parent) {
                _ if stream.number == 0 => ThreadName::main(),
                Some(parent) if stream.state == layout::STATE_HANDLERS => parent.clone(),
                Some(parent) => parent.child(stream.nth),
                // Only in a damaged log.
                None => ThreadName::main().child(u32::MAX - stream.number),
            };
            names.insert(stream.number, name);
        }
        names
    }

    /// The bytes of a segment.
    pub fn read(&self, segment: &Segment) -> Result<Vec<u8>, LogError> {
        let mut bytes = vec![0; self.segment];
        let read = self.file.read_exact_at(&mut bytes, segment.at);
        read.map_err(|source| LogError::Io { path: self.path.clone(), source })?;
        Ok(bytes)
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let text = bytes.split(|&b| b == 0).next().unwrap_or_default();
    PathBuf::from(std::ffi::OsStr::from_bytes(text))
}

fn image(bytes: &[u8]) -> (u64, PathBuf) {
    (Fields(bytes).long(at!(Image, base)), path_of(&bytes[at!(Image, path)..]))
}

/// What the program was given; `texts` reads so many bytes of what follows the entry.
fn inputs<E>(entry: &[u8], texts: impl FnOnce(usize) -> Result<Vec<u8>, E>) -> Result<Inputs, E> {
    let entry = Fields(entry);
    let kept = entry.word(at!(InputsEntry, kept));
    let room = (layout::INPUTS_BYTES - size_of::<InputsEntry>()) as u64;
    let length = |at, bit| if kept & bit != 0 { entry.long(at).min(room) as usize } else { 0 };
    let arguments = length(at!(InputsEntry, arguments), layout::INPUTS_ARGUMENTS);
    let standard_input = length(at!(InputsEntry, standard_input), layout::INPUTS_STANDARD_INPUT);
    let all = texts((arguments + standard_input).min(room as usize))?;
    let (texts, rest) = all.split_at(arguments);
    let ends = texts.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
    let begins = std::iter::once(0).chain(ends.clone().map(|end| end + 1));
    Ok(Inputs {
        arguments: begins.zip(ends).map(|(begin, end)| texts[begin..end].to_vec()).collect(),
        stdin: (kept & layout::INPUTS_STANDARD_INPUT != 0).then(|| rest.to_vec()),
    })
}

fn stream(number: u32, bytes: &[u8]) -> Stream {
    let entry = Fields(bytes);
    Stream {
        number,
        parent: entry.word(at!(ThreadEntry, parent)),
        nth: entry.word(at!(ThreadEntry, nth)),
        tid: entry.word(at!(ThreadEntry, tid)),
        state: entry.word(at!(ThreadEntry, state)),
        pending: (entry.long(at!(ThreadEntry, pending)) >> 56) as u8,
        object: entry.long(at!(ThreadEntry, pending)) & ((1 << 56) - 1),
        lost: entry.word(at!(ThreadEntry, lost)),
        segments: Vec::new(),
        recycled: 0,
    }
}

fn frames(bytes: &[u8], count: usize) -> Vec<NativeFrame> {
    let pairs = bytes.chunks_exact(16).take(count);
    pairs
        .map(|pair| NativeFrame { address: Fields(pair).long(0), function: Fields(pair).long(8) })
        .collect()
}

fn ending(bytes: &[u8]) -> RawEnding {
    let entry = Fields(bytes);
    let text = at!(EndingEntry, text);
    let length = (entry.word(at!(EndingEntry, message)) as usize).min(layout::MESSAGE);
    let count = (entry.word(at!(EndingEntry, frames)) as usize).min(layout::ENDING_FRAMES);
    RawEnding {
        kind: entry.word(at!(EndingEntry, kind)),
        thread: entry.word(at!(EndingEntry, thread)),
        code: entry.long(at!(EndingEntry, code)) as i64,
        address: entry.long(at!(EndingEntry, address)),
        message: String::from_utf8_lossy(&bytes[text..text + length]).into_owned(),
        frames: frames(&bytes[at!(EndingEntry, stack)..], count),
    }
}

fn segment_of(meta: &[u8], at: u64) -> Option<(u32, Segment)> {
    let entry = Fields(meta);
    let sequence = entry.long(at!(SlotMeta, sequence));
    let count = (entry.word(at!(SlotMeta, frames)) as usize).min(layout::FRAMES);
    let segment = Segment {
        sequence,
        begin: entry.word(at!(SlotMeta, begin)),
        frames: frames(&meta[size_of::<SlotMeta>()..], count),
        cut_off: entry.word(at!(SlotMeta, cut_off)) != 0,
        at,
    };
    (sequence != 0).then_some((entry.word(at!(SlotMeta, thread)), segment))
}

/// Keeps the longest run of segments without a gap that ends with the last one: a slot may have been caught while it was recycled.
fn keep_last_run(stream: &mut Stream) {
    stream.segments.sort_by_key(|segment| segment.sequence);
    stream.segments.dedup_by_key(|segment| segment.sequence);
    let mut first = stream.segments.len().saturating_sub(1);
    while first > 0
        && stream.segments[first - 1].sequence.checked_add(1)
            == Some(stream.segments[first].sequence)
    {
        first -= 1;
    }
    stream.segments.drain(..first);
    stream.recycled = stream.segments.first().map_or(0, |s| s.sequence - 1);
}
