//! Shared elements: what is logged, by an identity that does not depend on the run, and which of them an event touches (CoopREP calls them
//! shared program elements).
//!
//! Of a global that is each of its fields, all places of an array together (`blocks[].lock`), by address and debug information. Memory
//! without a name (the heap, locals whose address leaves their function) is told apart by who accesses it: sites that were seen to
//! touch the same field of what one place allocates are one element (`survey.rs`). All objects of an element share its vector, as in LEAP.
//! An access that touches several elements is an access to each.
//!
//! *Not modelled*: a site that no surveyed run executed, and that touches memory without a name, touches no element. Its order is
//! then neither logged nor enforced: it is a hole, which the search around a candidate may fill.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use unravel_code::Program;
use unravel_code::names::{TypeId, TypeTable};
use unravel_trace::{Op, Pending, SiteId, ThreadId};

use crate::budgets::{GRANULE, WIDEST_ACCESS};
use crate::log::digest;

/// A mutex of the system, which a field that holds one is at least as large as.
const MUTEX_BYTES: u32 = 40;

/// Which element, in every run and every log of a build. Never negative as an `i64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ElementId(pub u64);

impl ElementId {
    pub(crate) fn named(name: &str) -> ElementId {
        ElementId(digest(name.as_bytes()) >> 1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ElementKind {
    /// A field of a global, or of what one place allocates.
    Data,
    /// A lock, a condition, a semaphore, …
    Sync,
    /// A basic block that accesses what is shared.
    Block,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Element {
    pub id: ElementId,
    /// As the programmer wrote it, for showing.
    pub name: String,
    pub kind: ElementKind,
    /// Accesses in the surveyed runs, all together: how hot it is.
    pub accesses: u64,
    /// Whether any surveyed run had several threads access a place of it, one of them writing, in an order that creating and joining
    /// threads does not give.
    pub shared: bool,
}

/// What is logged of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// The order of accesses to each variable and lock, as LEAP does.
    Orders,
    /// The order in which basic blocks with such accesses are entered, as PRES-BB does.
    Blocks,
}

/// The elements of a program, and how events are told to touch them.
#[derive(Clone, Debug)]
pub struct Elements {
    mode: Mode,
    /// Those that are logged, by id.
    table: Vec<Element>,
    globals: Globals,
    /// Sites that touch memory without a name, and which elements; in block mode, the first site of each block that touches
    /// something shared.
    sites: FxHashMap<SiteId, Rc<[u32]>>,
    index: FxHashMap<ElementId, u32>,
    /// By address, bytes and whether it is a sync object.
    known: FxHashMap<(u64, u32, bool), Rc<[u32]>>,
}

impl Elements {
    /// `table` is sorted by id; `sites` refers to it by position.
    pub fn new(
        mode: Mode,
        program: &Program,
        table: Vec<Element>,
        sites: &[(SiteId, Vec<u32>)],
    ) -> Elements {
        let index = table.iter().enumerate().map(|(at, one)| (one.id, at as u32)).collect();
        let sites = sites.iter().map(|(site, of)| (*site, of.as_slice().into())).collect();
        let globals = Globals::new(program);
        Elements { mode, table, globals, sites, index, known: FxHashMap::default() }
    }

    pub fn table(&self) -> &[Element] {
        &self.table
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The elements that an event touches, as positions in the table.
    pub fn touched(&mut self, what: &Pending) -> Rc<[u32]> {
        let Some(access) = Accessed::of(what) else { return Rc::new([]) };
        match self.mode {
            Mode::Blocks => self.by_site(what.site),
            Mode::Orders => {
                let at = self.at(what.address, what.bytes, access == Accessed::Sync, what.site);
                // Who wakes from a wait takes the mutex again.
                match what.mutex().filter(|_| what.op == Op::Acquire) {
                    Some(mutex) if self.globals.holds(mutex) => {
                        let mutex = self.at(mutex, MUTEX_BYTES, true, what.site);
                        at.iter().chain(mutex.iter()).copied().collect()
                    }
                    _ => at,
                }
            }
        }
    }

    fn at(&mut self, address: u64, bytes: u32, sync: bool, site: SiteId) -> Rc<[u32]> {
        if !self.globals.holds(address) {
            return self.by_site(site);
        }
        let Elements { known, globals, index, .. } = self;
        let of = || {
            let mut of: Vec<u32> = globals
                .fields(address, bytes, sync)
                .iter()
                .filter_map(|name| index.get(&ElementId::named(name)).copied())
                .collect();
            of.sort_unstable();
            of.dedup();
            of.into()
        };
        known.entry((address, bytes, sync)).or_insert_with(of).clone()
    }

    /// The elements at an address, if it is in a global.
    pub fn at_global(&mut self, address: u64, bytes: u32, sync: bool) -> Rc<[u32]> {
        match self.globals.holds(address) {
            true => self.at(address, bytes, sync, SiteId(0)),
            false => Rc::new([]),
        }
    }

    fn by_site(&self, site: SiteId) -> Rc<[u32]> {
        self.sites.get(&site).cloned().unwrap_or_else(|| Rc::new([]))
    }
}

/// Whether an event accesses anything, and what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accessed {
    Data,
    Sync,
}

impl Accessed {
    pub fn of(what: &Pending) -> Option<Accessed> {
        match what.op {
            Op::Read | Op::Write | Op::Update | Op::Free => Some(Accessed::Data),
            Op::Acquire | Op::AcquireShared | Op::Release | Op::Wait | Op::Signal => {
                Some(Accessed::Sync)
            }
            _ => None,
        }
        .filter(|_| what.address != 0)
    }
}

/// Who holds what, to tell an unlock from other releases: it is implied by the next lock, and not logged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holders(FxHashSet<(u64, ThreadId)>);

impl Holders {
    pub fn is_unlock(&self, thread: ThreadId, what: &Pending) -> bool {
        what.op == Op::Release && self.0.contains(&(what.address, thread))
    }

    /// An event that is executed.
    pub fn executed(&mut self, thread: ThreadId, what: &Pending) {
        let lock = what.mutex().unwrap_or(what.address);
        match what.op {
            Op::Acquire | Op::AcquireShared => drop(self.0.insert((lock, thread))),
            Op::Release | Op::Wait => drop(self.0.remove(&(lock, thread))),
            _ => {}
        }
    }
}

/// The global variables of a program, by address.
#[derive(Clone, Debug)]
pub(crate) struct Globals {
    /// Ascending.
    list: Vec<Variable>,
    types: TypeTable,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    address: u64,
    bytes: u64,
    ty: Option<TypeId>,
}

impl Globals {
    pub fn new(program: &Program) -> Globals {
        let mut seen: FxHashMap<&str, u32> = FxHashMap::default();
        let mut list: Vec<Variable> = Vec::with_capacity(program.globals.len());
        for global in &program.globals {
            // Static variables of two files may have one name.
            let times = seen.entry(&global.name).or_default();
            *times += 1;
            let name = match *times {
                1 => global.name.clone(),
                nth => format!("{}#{nth}", global.name),
            };
            list.push(Variable {
                name,
                address: global.address,
                bytes: global.bytes,
                ty: global.ty,
            });
        }
        list.sort_by_key(|variable| variable.address);
        Globals { list, types: program.types.clone() }
    }

    fn at(&self, address: u64) -> Option<&Variable> {
        let after = self.list.partition_point(|variable| variable.address <= address);
        let variable = &self.list[after.checked_sub(1)?];
        (address < variable.address + variable.bytes.max(1)).then_some(variable)
    }

    pub fn holds(&self, address: u64) -> bool {
        self.at(address).is_some()
    }

    /// The names of the fields that an access touches. A sync object is one field, whatever it is made of.
    pub fn fields(&self, address: u64, bytes: u32, sync: bool) -> Vec<String> {
        let Some(variable) = self.at(address) else { return Vec::new() };
        let field = |offset: u64, size: u64| {
            let member = variable.ty.map(|ty| self.types.member(ty, offset, size));
            let member = member.unwrap_or_default();
            let member = member.split_once('+').map_or(member.as_str(), |(member, _)| member);
            format!("{}{}", variable.name, without_indices(member))
        };
        let first = address - variable.address;
        if sync {
            return vec![field(first, u64::from(bytes.max(1)))];
        }
        let end = (first + u64::from(bytes.max(1))).min(variable.bytes.max(first + 1));
        let end = end.min(first + WIDEST_ACCESS);
        // Every field that begins or goes on there. A long access copies arrays or large structures, of which fields smaller than a
        // granule are of no account.
        let step = if u64::from(bytes) <= 16 * GRANULE { 1 } else { GRANULE as usize };
        let mut names: Vec<String> = (first..end).step_by(step).map(|at| field(at, 1)).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// `[3].lock` as `[].lock`.
pub(crate) fn without_indices(path: &str) -> String {
    let mut inside = false;
    let keep = |c: &char| {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ => return !inside,
        }
        true
    };
    path.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_an_array_are_one() {
        assert_eq!(without_indices("[3].lock"), "[].lock");
        assert_eq!(without_indices("rows[12][7]"), "rows[][]");
        assert_eq!(without_indices("plain"), "plain");
    }
}
