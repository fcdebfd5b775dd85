//! Weaving into one body: calls on the edges of its control flow.
//!
//! An edge to the next instruction gets its calls between the two, where nobody else arrives. Any other edge is led
//! through calls of its own behind the code. A return gets its calls before it, where all who arrive pass.

use rustc_hash::FxHashMap;
use unravel_trace::SiteId;

use super::guard::{Act, Guard, crossing};
use super::objects::Objects;
use crate::{Body, Inst, Program, Reg, Switch, Target, patch};

pub(super) struct BodyWeaver<'w> {
    program: &'w mut Program,
    objects: &'w mut Objects,
    guards: &'w [Guard],
    old: &'w Body,
    /// By instruction of the old body: the measures in whose span it lies.
    spans: &'w [Vec<usize>],
    /// Targets are those of the old body, until everything has its place.
    new: Body,
    /// Where the instructions of the old body went; of a return, where its calls begin.
    moved: Vec<Target>,
    /// The slots that hold the addresses of locks and flags.
    addresses: FxHashMap<u64, Reg>,
    /// Edges of the old body that are led through calls, and where those begin.
    detours: FxHashMap<(usize, Target), Target>,
}

/// What a thread does on an edge, and where that is.
struct Edge {
    left: Vec<Act>,
    entered: Vec<Act>,
    from: SiteId,
    to: SiteId,
}

fn leaves_the_function(inst: &Inst) -> bool {
    matches!(inst, Inst::Return { .. } | Inst::ReturnVoid | Inst::Resume { .. })
}

impl<'w> BodyWeaver<'w> {
    pub fn new(
        program: &'w mut Program,
        objects: &'w mut Objects,
        guards: &'w [Guard],
        old: &'w Body,
        spans: &'w [Vec<usize>],
    ) -> BodyWeaver<'w> {
        let (code, places, terminators) = Default::default();
        let new = Body { code, places, terminators, ..old.clone() };
        let (moved, addresses, detours) = Default::default();
        BodyWeaver { program, objects, guards, old, spans, new, moved, addresses, detours }
    }

    /// `None` if an indirect jump stands in the way.
    pub fn weave(mut self) -> Option<Body> {
        self.lay_out();
        self.lead_jumps();
        self.lead_exceptions();
        self.lead_indirect_jumps()?;
        Some(self.new)
    }

    /// The code in its old order, with the calls between two instructions and before returns.
    fn lay_out(&mut self) {
        let old = self.old;
        for (index, (inst, place)) in old.code.iter().zip(&old.places).enumerate() {
            let arrival = match index.checked_sub(1) {
                None => Some(self.arrival()),
                Some(before) if old.code[before].falls_through() => {
                    Some(self.edge(before, index as Target))
                }
                Some(_) => None,
            };
            if let Some(arrival) = arrival {
                self.emit_edge(&arrival);
            }
            self.moved.push(self.new.code.len() as Target);
            if leaves_the_function(inst) {
                let (left, entered) = crossing(self.guards, &self.spans[index], &[]);
                self.emit_edge(&Edge { left, entered, from: *place, to: *place });
            }
            self.emit(*inst, *place);
        }
    }

    /// The way into the function.
    fn arrival(&self) -> Edge {
        let (left, entered) = crossing(self.guards, &[], &self.spans[0]);
        Edge { left, entered, from: self.old.places[0], to: self.old.places[0] }
    }

    fn edge(&self, from: usize, to: Target) -> Edge {
        let at = to as usize;
        let (left, entered) = crossing(self.guards, &self.spans[from], &self.spans[at]);
        Edge { left, entered, from: self.old.places[from], to: self.old.places[at] }
    }

    fn lead_jumps(&mut self) {
        for (from, inst) in self.old.code.iter().enumerate() {
            if let Inst::Switch { table, .. } = *inst {
                self.lead_switch(from, table as usize);
                continue;
            }
            let mut inst = *inst;
            patch::targets(&mut inst, |to| *to = self.lead(from, *to));
            // Only returns have calls of their own before them, and they have no target.
            let at = self.moved[from] as usize;
            if !leaves_the_function(&inst) {
                self.new.code[at] = inst;
            }
        }
    }

    /// A table belongs to one switch.
    fn lead_switch(&mut self, from: usize, table: usize) {
        let Switch { cases, default } = self.program.switches[table].clone();
        let mut cases: Vec<(u64, Target)> = cases.into_iter().collect();
        cases.sort_unstable();
        let cases = cases.into_iter().map(|(value, to)| (value, self.lead(from, to))).collect();
        let default = self.lead(from, default);
        self.program.switches[table] = Switch { cases, default };
    }

    /// Where a jump goes now.
    fn lead(&mut self, from: usize, to: Target) -> Target {
        if let Some(detour) = self.detours.get(&(from, to)) {
            return *detour;
        }
        let edge = self.edge(from, to);
        if edge.is_empty() {
            return self.moved[to as usize];
        }
        let detour = self.new.code.len() as Target;
        self.emit_edge(&edge);
        self.emit(Inst::Jump { to: self.moved[to as usize] }, edge.to);
        self.detours.insert((from, to), detour);
        detour
    }

    /// Whoever unwinds looks for a landing pad at the target: the calls come behind a copy of it.
    fn lead_exceptions(&mut self) {
        let mut unwind = Vec::with_capacity(self.old.unwind.len());
        for (call, pad) in &self.old.unwind {
            let edge = self.edge(*call as usize, *pad);
            let mut to = self.moved[*pad as usize];
            if !edge.is_empty() {
                let detour = self.new.code.len() as Target;
                self.emit(self.old.code[*pad as usize], edge.to);
                self.emit_edge(&edge);
                self.emit(Inst::Jump { to }, edge.to);
                to = detour;
            }
            unwind.push((self.moved[*call as usize], to));
        }
        self.new.unwind = unwind;
    }

    /// An address leads to one place whoever jumps there: all who may must do the same on the way.
    fn lead_indirect_jumps(&mut self) -> Option<()> {
        let code = self.old.code.iter().enumerate();
        let jumps = code.filter(|(_, inst)| matches!(inst, Inst::IndirectJump { .. }));
        let jumps: Vec<usize> = jumps.map(|(index, _)| index).collect();
        let mut blocks = Vec::with_capacity(self.old.blocks.len());
        for to in &self.old.blocks {
            let Some((first, rest)) = jumps.split_first() else {
                blocks.push(self.moved[*to as usize]);
                continue;
            };
            let edge = self.edge(*first, *to);
            if rest.iter().any(|jump| !self.edge(*jump, *to).does_as(&edge)) {
                return None;
            }
            blocks.push(self.lead(*first, *to));
        }
        self.new.blocks = blocks;
        Some(())
    }

    fn emit_edge(&mut self, edge: &Edge) {
        edge.left.iter().for_each(|act| self.emit_act(*act, edge.from));
        edge.entered.iter().for_each(|act| self.emit_act(*act, edge.to));
    }

    fn emit_act(&mut self, act: Act, near: SiteId) {
        let address = self.objects.address(self.program, act);
        let next = self.new.slots;
        let object = *self.addresses.entry(address).or_insert(next);
        if object == next {
            // Constants are the last slots of a frame.
            self.new.constants.push(address);
            self.new.slots += 1;
        }
        let (call, site) = self.objects.call(self.program, act, object, near);
        self.emit(call, site);
    }

    fn emit(&mut self, inst: Inst, place: SiteId) {
        self.new.code.push(inst);
        self.new.places.push(place);
    }
}

impl Edge {
    fn is_empty(&self) -> bool {
        self.left.is_empty() && self.entered.is_empty()
    }

    fn does_as(&self, other: &Edge) -> bool {
        (&self.left, &self.entered) == (&other.left, &other.entered)
    }
}
