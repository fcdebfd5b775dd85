//! What threads share, found by executing the program: which fields of globals, and which sites touch the same memory where it has no
//! name. That is the logging profile generator's first half in CoopREP.
//!
//! Memory without a name is told apart by field of what one place allocates, four bytes a field until an access joins several; sites
//! that touch the same field are one element, and so are fields that one site touches. That is unification (Steensgaard's way) over what
//! runs showed instead of over all pointers: it errs on the side of too few elements, whose vectors are then longer, and it knows
//! nothing of sites that no run executed.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::Program;
use unravel_execute::{Laboratory, Lesson};
use unravel_strategies::{Production, Random};
use unravel_trace::{
    Detail, EventKind, Executed, Observer, Observes, Op, Pending, Run, Scheduler, SiteId, ThreadId,
    VisibleSet, Want,
};

use crate::blocks;
use crate::budgets::{GRANULE, MOST_GRANULES, SURVEY_RUNS, SURVEY_TRACES, WIDEST_ACCESS};
use crate::elements::{Accessed, Element, ElementId, ElementKind, Globals, Holders, Mode};
use crate::parallel::Parallel;

/// How much is executed.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub runs: u64,
    /// Of those, how many are looked at event by event.
    pub traces: u64,
    pub seed: u64,
    pub sharing: Sharing,
}

/// What counts as shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sharing {
    /// What threads access in an order that creating and joining them does not give.
    #[default]
    Open,
    /// Whatever several threads access, one of them writing, as an escape analysis sees it: the elements of the paper.
    Touched,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { runs: SURVEY_RUNS, traces: SURVEY_TRACES, seed: 1, sharing: Sharing::default() }
    }
}

/// What a survey found.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// Every element that was accessed while several threads were alive, by id; not only those that are shared.
    pub seen: Vec<Element>,
    /// Those that are logged: shared ones, by id.
    pub table: Vec<Element>,
    /// Sites, and which elements of the table they touch: positions in it.
    pub sites: Vec<(SiteId, Vec<u32>)>,
    /// Every site that touched an element of the table, and which: named memory too.
    pub touching: Vec<(SiteId, Vec<u32>)>,
    /// The sites whose accesses are events.
    pub visible: VisibleSet,
    /// Executed.
    pub runs: u64,
}

/// Surveys a program. The laboratory sees what is shared afterwards.
pub fn survey(
    lab: &mut Laboratory<'_>,
    program: &Program,
    mode: Mode,
    extent: &Extent,
) -> Surveyed {
    let before = lab.runs();
    let learnt = lab.learn(&Lesson::default(), |input, _| input.clone(), |_, _| {});
    let visible = lab.executor().sites().kin(&learnt);
    lab.see(visible.clone());
    let globals = Globals::new(program);
    let mut fields = Fields::default();
    let mut heat = Heat::default();
    for number in 0..extent.runs {
        if !lab.may_go_on() {
            break;
        }
        let seed = extent.seed.wrapping_add(number);
        let mut by: Box<dyn Scheduler> = match number % 2 {
            0 => Box::new(Production::new(seed)),
            _ => Box::new(Random::new(seed)),
        };
        let detail = if number < extent.traces { Detail::Events } else { Detail::Outcome };
        let mut watch = Watch::new(&globals);
        let run = lab.run(&mut *by, &mut watch, Want::only(detail));
        if detail == Detail::Events {
            fields.learn(&run, &globals);
        }
        heat.add(watch);
    }
    let runs = lab.runs() - before;
    let all = heat.elements(&mut fields, extent.sharing);
    match mode {
        Mode::Orders => {
            let seen: Vec<Element> = all.iter().map(|one| one.element.clone()).collect();
            let table: Vec<Element> = seen.iter().filter(|one| one.shared).cloned().collect();
            let sites = fields.sites(&table);
            let touching = touching(&all, &table);
            Surveyed { seen, table, sites, touching, visible, runs }
        }
        Mode::Blocks => {
            let shared: FxHashSet<SiteId> = all
                .iter()
                .filter(|one| one.element.shared)
                .flat_map(|one| one.sites.iter().copied())
                .collect();
            let entered = blocks::entries(program, &shared);
            let (table, sites) = blocks::table(program, &entered, &heat.by_site);
            let touching = Vec::new();
            Surveyed { seen: table.clone(), table, sites, touching, visible, runs }
        }
    }
}

/// By site: the elements of the table that it touched.
fn touching(all: &[Found], table: &[Element]) -> Vec<(SiteId, Vec<u32>)> {
    let mut by_site: std::collections::BTreeMap<SiteId, Vec<u32>> = Default::default();
    for (at, element) in table.iter().enumerate() {
        let found = all.binary_search_by_key(&element.id, |found| found.element.id);
        for site in found.map(|found| &all[found].sites).into_iter().flatten() {
            by_site.entry(*site).or_default().push(at as u32);
        }
    }
    by_site.into_iter().collect()
}

/// A field of memory without a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Field {
    /// Of what this site allocates, so many granules in.
    Heap(SiteId, u64),
    /// A local of somebody, or memory of a library: by address, which is the same in every run of the machine.
    Fixed(u64),
}

/// Sites and fields, those that belong together joined.
#[derive(Debug, Default)]
struct Fields {
    numbers: FxHashMap<Field, usize>,
    of_site: FxHashMap<SiteId, usize>,
    parents: Vec<usize>,
    /// By root, at last: a name.
    names: FxHashMap<usize, String>,
    /// Sites that free what these allocate.
    frees: FxHashMap<SiteId, FxHashSet<SiteId>>,
}

impl Fields {
    fn node(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }

    /// The smaller number stays the root, so that what was seen first gives the name.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }

    fn learn(&mut self, run: &Run, globals: &Globals) {
        let trace = &run.trace;
        for event in &trace.events {
            let Some(at) = event.kind.location() else { continue };
            let address = trace.address(at);
            if globals.holds(address) {
                continue;
            }
            let location = trace.location(at);
            let object = &trace.objects[location.object.0 as usize];
            if matches!(event.kind, EventKind::Free { .. }) {
                if let Some(allocated) = object.site {
                    self.frees.entry(event.site).or_default().insert(allocated);
                }
                continue;
            }
            if matches!(event.kind, EventKind::Alloc { .. }) {
                continue;
            }
            let sync = !matches!(
                event.kind,
                EventKind::Read { .. }
                    | EventKind::Write { .. }
                    | EventKind::ReadModifyWrite { .. }
            );
            let bytes = if sync { 1 } else { u64::from(location.bytes.max(1)) };
            let fields = fields_of(address, object.site, location.offset, object.bytes, bytes);
            let site = match self.of_site.get(&event.site) {
                Some(node) => *node,
                None => {
                    let node = self.node();
                    self.of_site.insert(event.site, node);
                    self.names.insert(node, crate::elements::without_indices(&location.name));
                    node
                }
            };
            for field in fields {
                let node = match self.numbers.get(&field) {
                    Some(node) => *node,
                    None => {
                        let node = self.node();
                        self.numbers.insert(field, node);
                        node
                    }
                };
                self.join(site, node);
            }
        }
    }

    /// The element of a site that touches memory without a name.
    fn element(&mut self, site: SiteId) -> Option<(ElementId, String)> {
        let node = *self.of_site.get(&site)?;
        let root = self.root(node);
        let name = self.names.get(&root).cloned().unwrap_or_default();
        let id = ElementId::named(&format!("{root}\0{name}"));
        Some((id, name))
    }

    /// What each site touches: its own element, or of a site that frees, all of what is freed.
    fn sites(&mut self, table: &[Element]) -> Vec<(SiteId, Vec<u32>)> {
        let position = |id: ElementId| table.binary_search_by_key(&id, |one| one.id).ok();
        let mut sites: Vec<(SiteId, Vec<u32>)> = Vec::new();
        let known: Vec<SiteId> = self.of_site.keys().copied().collect();
        for site in known {
            let Some((id, _)) = self.element(site) else { continue };
            if let Some(at) = position(id) {
                sites.push((site, vec![at as u32]));
            }
        }
        let frees = std::mem::take(&mut self.frees);
        for (site, allocated) in &frees {
            let nodes: Vec<usize> = self
                .numbers
                .iter()
                .filter(|(field, _)| matches!(field, Field::Heap(at, _) if allocated.contains(at)))
                .map(|(_, node)| *node)
                .collect();
            let roots: FxHashSet<usize> = nodes.into_iter().map(|node| self.root(node)).collect();
            let mut touched: Vec<u32> = Vec::new();
            let of: Vec<(SiteId, usize)> = self.of_site.iter().map(|(a, b)| (*a, *b)).collect();
            for (other, node) in of {
                if roots.contains(&self.root(node))
                    && let Some((id, _)) = self.element(other)
                {
                    touched.extend(position(id).map(|at| at as u32));
                }
            }
            touched.sort_unstable();
            touched.dedup();
            if !touched.is_empty() {
                sites.retain(|(other, _)| other != site);
                sites.push((*site, touched));
            }
        }
        sites.sort();
        sites
    }
}

fn fields_of(
    address: u64,
    allocated: Option<SiteId>,
    offset: u64,
    size: u64,
    bytes: u64,
) -> Vec<Field> {
    let granules = |from: u64| from / GRANULE..=(from + bytes - 1) / GRANULE;
    match allocated {
        Some(site) if size > MOST_GRANULES * GRANULE => vec![Field::Heap(site, 0)],
        Some(site) => granules(offset).map(|granule| Field::Heap(site, granule)).collect(),
        None => granules(address).take(MOST_GRANULES as usize).map(Field::Fixed).collect(),
    }
}

/// Looks at one run: who touched what.
struct Watch<'a> {
    globals: &'a Globals,
    holders: Holders,
    parallel: Parallel,
    touched: FxHashMap<Place, Touched>,
    known: FxHashMap<(u64, u32, bool), Vec<String>>,
}

/// A field of a global by name, or any memory by the site that touches it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Place {
    Global(String),
    Site(SiteId),
}

#[derive(Debug, Default)]
struct Touched {
    threads: FxHashSet<ThreadId>,
    wrote: bool,
    /// Some place was accessed by two threads in an order that is not given by creating and joining them, one writing. (Of an access that
    /// is too long to look at each of its places that is assumed.)
    open: bool,
    sync: bool,
    times: u64,
    sites: FxHashSet<SiteId>,
}

impl<'a> Watch<'a> {
    fn new(globals: &'a Globals) -> Watch<'a> {
        Watch {
            globals,
            holders: Holders::default(),
            parallel: Parallel::default(),
            touched: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    fn places(&mut self, what: &Pending, sync: bool) -> Vec<Place> {
        if !self.globals.holds(what.address) {
            return vec![Place::Site(what.site)];
        }
        let globals = self.globals;
        let of = || globals.fields(what.address, what.bytes, sync);
        let names = self.known.entry((what.address, what.bytes, sync)).or_insert_with(of);
        names.iter().cloned().map(Place::Global).collect()
    }
}

impl Observer for Watch<'_> {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<unravel_trace::Alarm> {
        let what = &executed.what;
        let is_unlock = self.holders.is_unlock(executed.thread, what);
        self.holders.executed(executed.thread, what);
        let Some(access) = Accessed::of(what).filter(|_| !is_unlock) else {
            self.parallel.executed(executed);
            return None;
        };
        let sync = access == Accessed::Sync;
        let (writes, bytes) = (what.op != Op::Read, if sync { 1 } else { what.bytes });
        let open = self.parallel.access(executed.thread, what.address, bytes, writes)
            || u64::from(bytes) > WIDEST_ACCESS;
        for place in self.places(what, sync) {
            let touched = self.touched.entry(place).or_default();
            touched.threads.insert(executed.thread);
            touched.wrote |= writes;
            touched.open |= open;
            touched.sync |= sync;
            touched.times += 1;
            touched.sites.insert(what.site);
        }
        None
    }
}

/// What all runs touched.
#[derive(Debug, Default)]
struct Heat {
    /// By run.
    runs: Vec<FxHashMap<Place, Touched>>,
    by_site: FxHashMap<SiteId, u64>,
}

/// An element, and the sites that touch it.
struct Found {
    element: Element,
    sites: FxHashSet<SiteId>,
}

impl Heat {
    fn add(&mut self, watch: Watch<'_>) {
        self.runs.push(watch.touched);
    }

    /// By id.
    fn elements(&mut self, fields: &mut Fields, sharing: Sharing) -> Vec<Found> {
        let mut all: FxHashMap<ElementId, Found> = FxHashMap::default();
        for run in std::mem::take(&mut self.runs) {
            // Sites of one element may be different threads'.
            let mut together: FxHashMap<ElementId, (String, Touched)> = FxHashMap::default();
            for (place, touched) in run {
                let named = match &place {
                    Place::Global(name) => Some((ElementId::named(name), name.clone())),
                    Place::Site(site) => fields.element(*site),
                };
                for site in &touched.sites {
                    *self.by_site.entry(*site).or_default() += touched.times;
                }
                let Some((id, name)) = named else { continue };
                let (_, sum) = together.entry(id).or_insert_with(|| (name, Touched::default()));
                sum.threads.extend(touched.threads);
                sum.sites.extend(touched.sites);
                sum.wrote |= touched.wrote;
                sum.open |= touched.open;
                sum.sync |= touched.sync;
                sum.times += touched.times;
            }
            for (id, (name, touched)) in together {
                let kind = if touched.sync { ElementKind::Sync } else { ElementKind::Data };
                let found = all.entry(id).or_insert_with(|| Found {
                    element: Element { id, name, kind, accesses: 0, shared: false },
                    sites: FxHashSet::default(),
                });
                found.element.accesses += touched.times;
                let is_open = touched.open || sharing == Sharing::Touched;
                found.element.shared |= touched.threads.len() > 1 && touched.wrote && is_open;
                found.sites.extend(touched.sites);
            }
        }
        let mut all: Vec<Found> = all.into_values().collect();
        all.sort_by_key(|found| found.element.id);
        all
    }
}
