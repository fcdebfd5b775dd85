//! From what was kept during the run to [`Symbolic`].
//!
//! Locations that one thread alone accessed, or that nobody wrote, are no matter of scheduling. Their reads leave
//! no symbol: the graph is built anew in order of its nodes, with what the shadow of memory said in place of
//! them. Symbols and accesses are numbered anew, by event, and conditions that became constants are dropped.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::*;

use super::bug::Verdict;
use super::graph::Graph;
use super::{Concolic, Recorded};
use crate::machine::Machine;

impl Machine {
    /// The symbolic side of the run that has just ended.
    pub fn take_symbolic(
        &mut self,
        trace: &Trace,
        outcome: &Outcome,
        requests: Vec<Request>,
    ) -> Option<Box<Symbolic>> {
        if !self.concolic.is_on() {
            return None;
        }
        let failing = self.failing_event();
        let dead = self.add_liveness(trace, failing);
        let verdict = self.verdict(outcome, dead, requests);
        Some(Box::new(self.concolic.finish(trace.events.len(), verdict)))
    }
}

impl Concolic {
    fn finish(&mut self, events: usize, verdict: Verdict) -> Symbolic {
        let uses = Uses::of(&self.accesses);
        let mut kept = match self.separable {
            true => vec![true; self.accesses.len()],
            false => uses.kept(&self.accesses),
        };
        self.keep_for_bug(&verdict, &uses, &mut kept);
        let mut order: Vec<usize> = (0..kept.len()).filter(|i| kept[*i]).collect();
        order.sort_by_key(|i| (self.accesses[*i].event, self.accesses[*i].write));
        let mut numbers = FxHashMap::default();
        for (number, access) in order.iter().enumerate() {
            numbers.insert(*access as u32, number as u32);
        }
        let mut rebuilt = Rebuilt {
            exprs: Exprs::default(),
            ids: FxHashMap::default(),
            numbers: &numbers,
            reader: self.separable.then_some(0),
            foreign: FxHashSet::default(),
        };
        let mut symbolic = Symbolic {
            shadows: shadows(&self.accesses, &order, events),
            steps: std::mem::take(&mut self.steps),
            initial: self.initial_memory(&order),
            inputs: self.inputs.values().cloned().collect(),
            order: if self.guide.is_on() { KnownOrder::Unknown } else { KnownOrder::Observed },
            ..Symbolic::default()
        };
        for access in &order {
            let Recorded { address, bytes, value, thread, .. } = self.accesses[*access];
            rebuilt.read_by(thread);
            let value = rebuilt.expr(self, value);
            symbolic.accesses.push(Access { address, bytes, value });
        }
        let last = self.last_conditions();
        for condition in std::mem::take(&mut self.conditions) {
            rebuilt.read_by(condition.thread.index());
            let holds = rebuilt.expr(self, condition.holds);
            match rebuilt.exprs.as_const(holds) {
                None => symbolic.conditions.push(Condition { holds, ..condition }),
                Some(0) if self.guide.is_on() => self.guide.contradiction = true,
                Some(value) => debug_assert_eq!(value, 1, "a condition holds in this run"),
            }
        }
        self.keep_foreign(&mut rebuilt, &mut symbolic);
        symbolic.conditions.sort_by_key(|condition| condition.after);
        self.decide(verdict, &last, &mut rebuilt, &mut symbolic);
        symbolic.exprs = rebuilt.exprs;
        symbolic
    }

    /// What a thread read and another went on with, unseen: it stays as it is.
    fn keep_foreign(&self, rebuilt: &mut Rebuilt<'_>, symbolic: &mut Symbolic) {
        let mut foreign: Vec<u32> = std::mem::take(&mut rebuilt.foreign).into_iter().collect();
        foreign.sort_unstable();
        for symbol in foreign {
            let access = &self.accesses[symbol as usize];
            rebuilt.read_by(access.thread);
            let read = rebuilt.expr(self, access.value);
            let bits = rebuilt.exprs.bits(read);
            let value = rebuilt.exprs.constant(self.graph.known(SymbolId(symbol)), bits);
            symbolic.conditions.push(Condition {
                thread: ThreadId(access.thread as u32),
                after: access.event,
                holds: rebuilt.exprs.compare(CompareOp::Eq, read, value),
                site: SiteId(0),
                why: ConditionKind::Fixed,
                otherwise: Otherwise::Unknown,
            });
        }
    }

    /// What each thread asserted last, which it may have asserted before.
    fn last_conditions(&self) -> Vec<Option<ExprId>> {
        let holds = |index: usize| self.conditions.get(index).map(|condition| condition.holds);
        self.threads.iter().map(|thread| thread.last_condition.and_then(holds)).collect()
    }

    fn decide(
        &mut self,
        verdict: Verdict,
        last: &[Option<ExprId>],
        rebuilt: &mut Rebuilt,
        symbolic: &mut Symbolic,
    ) {
        let (thread, otherwise) = match verdict {
            Verdict::Is(bug) => {
                symbolic.bug = bug;
                return;
            }
            Verdict::Fails { thread, after, fails } => {
                rebuilt.read_by(thread);
                let fails = rebuilt.expr(self, fails);
                let thread = ThreadId(thread as u32);
                if rebuilt.exprs.as_const(fails).is_none() {
                    symbolic.bug = Bug::Condition { thread, after, fails };
                    return;
                }
                (thread.index(), Bug::Reached { thread, after })
            }
            Verdict::LastOf { thread, otherwise } => (thread, otherwise),
        };
        rebuilt.read_by(thread);
        let last = last.get(thread).copied().flatten().map(|holds| rebuilt.expr(self, holds));
        let decides = |c: &Condition| c.thread.index() == thread && c.why != ConditionKind::Alive;
        let conditions = &mut symbolic.conditions;
        let exactly = conditions.iter().rposition(|c| decides(c) && Some(c.holds) == last);
        let Some(last) = exactly.or_else(|| conditions.iter().rposition(decides)) else {
            symbolic.bug = otherwise;
            return;
        };
        let Condition { thread, after, holds, site, .. } = conditions.remove(last);
        symbolic.bug = Bug::Condition { thread, after, fails: holds };
        let later = self.threads[thread.index()].plain_branches > 0;
        symbolic.parted_at = later.then_some(site);
    }

    /// Reads that decide the bug matter although nobody wrote what they read: the write is yet to come, and that
    /// may be the very bug.
    fn keep_for_bug(&self, verdict: &Verdict, uses: &Uses, kept: &mut [bool]) {
        let decides = match verdict {
            Verdict::Is(_) => None,
            Verdict::Fails { fails, .. } => Some(*fails),
            Verdict::LastOf { thread, .. } => {
                self.last_conditions().get(*thread).copied().flatten()
            }
        };
        let mut seen = FxHashSet::default();
        let mut todo: Vec<ExprId> = decides.into_iter().collect();
        while let Some(next) = todo.pop() {
            if !seen.insert(next) {
                continue;
            }
            match self.graph.exprs.node(next) {
                Node::Symbol(symbol) => {
                    let index = symbol.0 as usize;
                    let access = &self.accesses[index];
                    kept[index] |= !access.range().any(|at| uses.0[&at].written);
                    if !kept[index] {
                        todo.push(access.memory);
                    }
                }
                node => node.operands(|of| todo.push(of)),
            }
        }
    }

    /// Memory that kept reads read, as it was before the first recorded access, in pieces of up to eight bytes; and
    /// inputs, which may be anything.
    fn initial_memory(&self, order: &[usize]) -> Vec<Initial> {
        let reads = order.iter().map(|i| &self.accesses[*i]).filter(|access| !access.write);
        let reads = reads.filter(|access| !self.inputs.contains_key(&access.address));
        let mut bytes: Vec<u64> = reads.flat_map(Recorded::range).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let mut initial: Vec<Initial> = Vec::new();
        for at in bytes {
            let byte = u128::from(self.initial[&at]);
            match initial.last_mut() {
                Some(last)
                    if last.address + u64::from(last.bytes) == at && !at.is_multiple_of(8) =>
                {
                    last.value =
                        last.value.map(|value| value | byte << (8 * u32::from(last.bytes)));
                    last.bytes += 1;
                }
                _ => initial.push(Initial { address: at, bytes: 1, value: Some(byte) }),
            }
        }
        let inputs = self.inputs.values();
        initial.extend(inputs.map(|i| Initial { address: i.address, bytes: i.bytes, value: None }));
        initial.sort_by_key(|initial| initial.address);
        initial
    }
}

impl Recorded {
    fn range(&self) -> std::ops::Range<u64> {
        self.address..self.address + u64::from(self.bytes)
    }
}

/// Who uses a byte.
#[derive(Clone, Copy)]
struct Use {
    thread: usize,
    several: bool,
    written: bool,
}

struct Uses(FxHashMap<u64, Use>);

impl Uses {
    fn of(accesses: &[Recorded]) -> Uses {
        let mut uses: FxHashMap<u64, Use> = FxHashMap::default();
        for access in accesses {
            let first = Use { thread: access.thread, several: false, written: false };
            for at in access.range() {
                let byte = uses.entry(at).or_insert(first);
                byte.several |= byte.thread != access.thread;
                byte.written |= access.write;
            }
        }
        Uses(uses)
    }

    fn is_shared(&self, access: &Recorded) -> bool {
        access.range().any(|at| self.0[&at].several && self.0[&at].written)
    }

    /// Which accesses matter to others.
    fn kept(&self, accesses: &[Recorded]) -> Vec<bool> {
        // A write also matters if one byte of it is read together with one that is shared.
        let read: FxHashSet<u64> = accesses
            .iter()
            .filter(|access| !access.write && self.is_shared(access))
            .flat_map(Recorded::range)
            .collect();
        let matters = |access: &Recorded| {
            self.is_shared(access) || access.write && access.range().any(|at| read.contains(&at))
        };
        accesses.iter().map(matters).collect()
    }
}

fn shadows(accesses: &[Recorded], order: &[usize], events: usize) -> Vec<Shadow> {
    let mut shadows = vec![Shadow::default(); events];
    for (number, access) in order.iter().enumerate() {
        let access = &accesses[*access];
        let shadow = &mut shadows[access.event as usize];
        if shadow.reads + shadow.writes == 0 {
            shadow.first = number as u32;
        }
        if access.write {
            shadow.writes += 1;
        } else {
            shadow.reads += 1;
        }
    }
    shadows
}

/// The graph with only the symbols that are left.
struct Rebuilt<'a> {
    exprs: Exprs,
    /// The old nodes that were built already.
    ids: FxHashMap<(Option<usize>, ExprId), ExprId>,
    numbers: &'a FxHashMap<u32, u32>,
    /// In separable runs, the thread whose expressions are being built: what others read is a constant to it.
    reader: Option<usize>,
    /// Symbols that became constants so.
    foreign: FxHashSet<u32>,
}

impl Rebuilt<'_> {
    fn read_by(&mut self, thread: usize) {
        self.reader = self.reader.map(|_| thread);
    }

    /// Builds an old expression, operands first.
    fn expr(&mut self, old: &Concolic, id: ExprId) -> ExprId {
        let mut todo = vec![id];
        while let Some(&next) = todo.last() {
            let reader = self.reader;
            if self.ids.contains_key(&(reader, next)) {
                todo.pop();
                continue;
            }
            let node = old.graph.exprs.node(next);
            let mut missing = Vec::new();
            let mut need = |of: ExprId| {
                if !self.ids.contains_key(&(reader, of)) {
                    missing.push(of);
                }
            };
            match node {
                Node::Symbol(symbol) if !self.numbers.contains_key(&symbol.0) => {
                    need(old.accesses[symbol.0 as usize].memory)
                }
                node => node.operands(need),
            }
            if missing.is_empty() {
                let new = self.build(old, &old.graph, next, node);
                self.ids.insert((reader, next), new);
                todo.pop();
            } else {
                todo.extend(missing);
            }
        }
        self.ids[&(self.reader, id)]
    }

    fn is_foreign(&self, old: &Concolic, symbol: SymbolId) -> bool {
        let thread = old.accesses[symbol.0 as usize].thread;
        self.reader.is_some_and(|reader| reader != thread)
    }

    fn build(&mut self, old: &Concolic, graph: &Graph, id: ExprId, node: Node) -> ExprId {
        let bits = graph.exprs.bits(id);
        let new = |of: ExprId| self.ids[&(self.reader, of)];
        match node {
            Node::Const(value) => self.exprs.constant(value, bits),
            Node::Symbol(symbol) if self.is_foreign(old, symbol) => {
                self.foreign.insert(symbol.0);
                self.exprs.constant(graph.known(symbol), bits)
            }
            Node::Symbol(symbol) => match self.numbers.get(&symbol.0) {
                Some(number) => self.exprs.symbol(SymbolId(*number), bits),
                None => new(old.accesses[symbol.0 as usize].memory),
            },
            Node::Binary(op, a, b) => {
                let (a, b) = (new(a), new(b));
                self.exprs.binary(op, a, b)
            }
            Node::Compare(op, a, b) => {
                let (a, b) = (new(a), new(b));
                self.exprs.compare(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (new(c), new(a), new(b));
                self.exprs.ite(c, a, b)
            }
            Node::Extract(a, low) => {
                let a = new(a);
                self.exprs.extract(a, low, bits)
            }
            Node::Concat(a, b) => {
                let (a, b) = (new(a), new(b));
                self.exprs.concat(a, b)
            }
            Node::ZeroExtend(a) => {
                let a = new(a);
                self.exprs.zero_extend(a, bits)
            }
            Node::SignExtend(a) => {
                let a = new(a);
                self.exprs.sign_extend(a, bits)
            }
            Node::Float(op, a, b) => {
                let (a, b) = (new(a), new(b));
                self.exprs.float(op, a, b)
            }
            Node::FloatCompare(predicate, a, b) => {
                let (a, b) = (new(a), new(b));
                self.exprs.float_compare(predicate, a, b)
            }
            Node::Convert(op, a) => {
                let a = new(a);
                self.exprs.convert(op, a, bits)
            }
        }
    }
}
