//! The recorded code of a program, ready for decoding: all kept modules of its images, numbered.

use std::collections::HashMap;

use crate::file::LogFile;
use crate::identifiers::{Identified, Identifiers};
use crate::kept::{self, Kept};
use crate::log::FunctionId;
use crate::numbering::Numbering;
use crate::places::{self, Place, Places};
use crate::shape::FunctionShape;
use crate::{LogError, NativeFrame, elf};

/// A function of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodeRef {
    pub module: u32,
    pub function: u32,
}

/// Why a log cannot be decoded at all.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("nothing of the program was built by unravel-cc: there is nothing to decode")]
    NotRecorded,
    #[error(
        "the program {image} is not there any more, and with it the modules that the log needs"
    )]
    ProgramMissing { image: String },
    #[error("{image} is of another build than the log: module {hash:016x} is not in it")]
    OtherBuild { image: String, hash: u64 },
    #[error("two modules of the program cannot be told apart in the log")]
    Ambiguous,
}

struct ModuleCode {
    kept: Kept,
    numberings: Vec<Option<Numbering>>,
    identifiers: Identifiers,
}

/// All recorded code of a log's program.
pub struct Code {
    modules: Vec<ModuleCode>,
    /// The lower half of where each module's identifiers began, how many there are, and the module.
    ranges: Vec<(u32, u32, u32)>,
    by_hash: HashMap<u64, u32>,
    images: Vec<(u64, Places)>,
    /// Images without recorded code.
    pub unrecorded: Vec<String>,
}

impl Code {
    /// Finds the modules of a log in the files that the process had loaded.
    pub fn of(log: &LogFile) -> Result<Code, CodeError> {
        if log.modules.is_empty() {
            return Err(CodeError::NotRecorded);
        }
        let mut code = Code {
            modules: Vec::new(),
            ranges: Vec::new(),
            by_hash: HashMap::new(),
            images: Vec::new(),
            unrecorded: Vec::new(),
        };
        for (base, path) in &log.images {
            let name = path.display().to_string();
            let Ok(Some(section)) = elf::section(path, kept::SECTION) else {
                code.unrecorded.push(name);
                continue;
            };
            let all = Kept::decode_all(&section);
            if all.is_empty() {
                code.unrecorded.push(name);
                continue;
            }
            let places = elf::section(path, places::SECTION).ok().flatten().unwrap_or_default();
            code.images.push((*base, Places::read(&places)));
            all.into_iter().for_each(|kept| code.add(kept));
        }
        let program = log.images.first().map(|(_, path)| path.display().to_string());
        let program = program.unwrap_or_default();
        for &(hash, first, count) in &log.modules {
            let Some(&module) = code.by_hash.get(&hash) else {
                let there = log.images.first().is_some_and(|(_, path)| path.exists());
                return Err(match there {
                    true => CodeError::OtherBuild { image: program, hash },
                    false => CodeError::ProgramMissing { image: program },
                });
            };
            if code.modules[module as usize].identifiers.all.len() as u32 != count {
                return Err(CodeError::OtherBuild { image: program, hash });
            }
            code.ranges.push((first, count, module));
        }
        code.check_ranges()?;
        Ok(code)
    }

    fn add(&mut self, kept: Kept) {
        let number = self.modules.len() as u32;
        if self.by_hash.insert(kept.hash, number).is_some() {
            self.by_hash.insert(kept.hash, self.by_hash[&kept.hash].min(number));
        }
        let recorded = |f: &FunctionShape| f.is_recorded().then(|| Numbering::new(f));
        let numberings = kept.shape.functions.iter().map(recorded).collect();
        let identifiers = Identifiers::of(&kept.shape);
        self.modules.push(ModuleCode { kept, numberings, identifiers });
    }

    fn check_ranges(&mut self) -> Result<(), CodeError> {
        self.ranges.sort_unstable();
        self.ranges.dedup();
        let apart =
            self.ranges.windows(2).all(|pair| pair[0].0.saturating_add(pair[0].1) <= pair[1].0);
        if apart { Ok(()) } else { Err(CodeError::Ambiguous) }
    }

    /// The kept modules, in the order of the images and of the link.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.modules.iter().map(|module| &module.kept)
    }

    pub fn shape(&self, code: CodeRef) -> &FunctionShape {
        &self.modules[code.module as usize].kept.shape.functions[code.function as usize]
    }

    pub fn numbering(&self, code: CodeRef) -> &Numbering {
        let numbering = &self.modules[code.module as usize].numberings[code.function as usize];
        numbering.as_ref().expect("only recorded functions are walked")
    }

    pub fn is_recorded(&self, code: CodeRef) -> bool {
        self.modules[code.module as usize].numberings[code.function as usize].is_some()
    }

    /// What an identifier of the log names.
    pub fn identified(&self, identifier: u32) -> Option<(u32, Identified)> {
        let after = self.ranges.partition_point(|&(first, ..)| first <= identifier);
        let &(first, count, module) = self.ranges.get(after.checked_sub(1)?)?;
        let offset = identifier - first;
        let all = &self.modules[module as usize].identifiers.all;
        (offset < count).then(|| Some((module, *all.get(offset as usize)?))).flatten()
    }

    fn place(&self, find: impl Fn(&Places, u64) -> Option<Place>) -> Option<(CodeRef, Place)> {
        let (_, place) =
            self.images.iter().find_map(|(base, places)| Some((*base, find(places, *base)?)))?;
        let module = *self.by_hash.get(&place.module)?;
        let code = CodeRef { module, function: place.function };
        let functions = &self.modules[module as usize].numberings;
        let numbering = functions.get(place.function as usize)?.as_ref()?;
        (place.node < numbering.block_of.len()).then_some((code, place))
    }

    /// The store of recorded code at an address of the process.
    pub fn store_at(&self, frame: NativeFrame) -> Option<(CodeRef, Place)> {
        self.place(|places, base| places.store(frame.address.checked_sub(base)?))
    }

    /// The call that a frame stands behind.
    pub fn call_at(&self, frame: NativeFrame) -> Option<(CodeRef, Place)> {
        self.place(|places, base| {
            places.call(frame.address.checked_sub(base)?, frame.function.checked_sub(base)?)
        })
    }
}

/// Which function of the linked program each function of a module is.
pub type FunctionIds = Vec<Vec<Option<FunctionId>>>;
