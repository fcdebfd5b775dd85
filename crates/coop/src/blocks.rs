//! The block-based mode: an element is a basic block that accesses what is shared, and is accessed when a thread enters it.
//!
//! CoopREP, thesis §3.5.3.2, PRES-BB: the order of blocks with shared accesses, here a vector a block. A block is entered where the first of its
//! sites that touch something shared is executed: whatever comes before it in the block nobody can notice. Blocks are those of the
//! lowered code.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::{Inst, Program};
use unravel_trace::SiteId;

use crate::elements::{Element, ElementId, ElementKind};

/// A block that accesses what is shared.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The function, and where in it the block begins.
    pub function: usize,
    pub start: u32,
    pub site: SiteId,
}

/// The first shared site of every block that has one.
pub(crate) fn entries(program: &Program, shared: &FxHashSet<SiteId>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut taken = FxHashSet::default();
    for (number, function) in program.functions.iter().enumerate() {
        let Some(body) = &function.body else { continue };
        let starts = starts(program, &body.code, &body.blocks, &body.unwind);
        let mut block = 0;
        let mut entered = false;
        for (at, inst) in body.code.iter().enumerate() {
            if starts.contains(&(at as u32)) {
                (block, entered) = (at as u32, false);
            }
            let site = site_of(program, inst).filter(|site| !entered && shared.contains(site));
            if let Some(site) = site
                && taken.insert(site)
            {
                entered = true;
                entries.push(Entry { function: number, start: block, site });
            }
        }
    }
    entries
}

/// The elements by id, and their sites.
pub(crate) fn table(
    program: &Program,
    entries: &[Entry],
    heat: &FxHashMap<SiteId, u64>,
) -> (Vec<Element>, Vec<(SiteId, Vec<u32>)>) {
    let mut all: Vec<(Element, SiteId)> = entries
        .iter()
        .map(|entry| {
            let function = &program.functions[entry.function];
            let place = program.sites[entry.site.index()].place.short();
            let element = Element {
                id: ElementId::named(&format!("block\0{}\0{}", function.name, entry.start)),
                name: format!("{} at {place}", function.display_name),
                kind: ElementKind::Block,
                accesses: heat.get(&entry.site).copied().unwrap_or(0),
                shared: true,
            };
            (element, entry.site)
        })
        .collect();
    all.sort_by_key(|(element, _)| element.id);
    all.dedup_by_key(|(element, _)| element.id);
    let sites = all.iter().enumerate().map(|(at, (_, site))| (*site, vec![at as u32])).collect();
    (all.into_iter().map(|(element, _)| element).collect(), sites)
}

/// Where blocks begin: at targets, and behind whatever jumps.
fn starts(
    program: &Program,
    code: &[Inst],
    addressed: &[u32],
    unwind: &[(u32, u32)],
) -> FxHashSet<u32> {
    let mut starts: FxHashSet<u32> = [0].into_iter().collect();
    starts.extend(addressed);
    starts.extend(unwind.iter().map(|(_, landing)| *landing));
    for (at, inst) in code.iter().enumerate() {
        let targets: Vec<u32> = match *inst {
            Inst::Jump { to } => vec![to],
            Inst::Branch { then, other, .. }
            | Inst::BranchEq { then, other, .. }
            | Inst::BranchNe { then, other, .. }
            | Inst::BranchSlt32 { then, other, .. }
            | Inst::BranchSlt64 { then, other, .. }
            | Inst::BranchUlt { then, other, .. } => vec![then, other],
            Inst::Switch { table, .. } => {
                let switch = &program.switches[table as usize];
                switch.cases.values().copied().chain([switch.default]).collect()
            }
            Inst::IndirectJump { .. } => Vec::new(),
            _ => continue,
        };
        starts.extend(targets);
        starts.insert(at as u32 + 1);
    }
    starts
}

/// The site of an instruction that may be an event.
fn site_of(program: &Program, inst: &Inst) -> Option<SiteId> {
    match *inst {
        Inst::Load8 { site, .. }
        | Inst::Load16 { site, .. }
        | Inst::Load32 { site, .. }
        | Inst::Load64 { site, .. }
        | Inst::LoadN { site, .. }
        | Inst::Store8 { site, .. }
        | Inst::Store16 { site, .. }
        | Inst::Store32 { site, .. }
        | Inst::Store64 { site, .. }
        | Inst::StoreN { site, .. }
        | Inst::Rmw { site, .. }
        | Inst::CmpXchg { site, .. } => Some(site),
        Inst::Call { call, .. }
        | Inst::CallExternal { call, .. }
        | Inst::CallIndirect { call, .. } => Some(program.call(call).site),
        _ => None,
    }
}
