//! The trace file: events in their list, accesses with their expressions, conditions, the bug.

use std::collections::{BTreeMap, HashMap};
use std::mem::{Discriminant, discriminant};

use unravel_trace::{
    Access, Bug, Condition, ConditionKind, Event, EventKind, ExprId, Failure, FailureKind, Initial,
    KnownOrder, Location, Object, ObjectId, Otherwise, Place, Shadow, Shape, Site, SiteId, Step,
    SymbolId, Symbolic, ThreadId, ThreadName, Trace, Value,
};

use super::items::{Data, Item, Target, Targets};
use super::lines::{Assertion, Form, Text, ThreadFile};
use super::terms::{Scope, Strings, Term};
use super::threads::Cast;
use super::{ImportError, infix, kquery};

/// Variables get addresses of our own: this one and every 16 bytes from there.
const FIRST_ADDRESS: u64 = 0x1000;
const DISTANCE: u64 = 16;
const BYTES: u8 = 8;

/// What all executions of a folder share, so that their parts can be put together.
#[derive(Debug, Default)]
pub(super) struct Tables {
    threads: Vec<ThreadName>,
    objects: Vec<Object>,
    locations: Vec<Location>,
    /// One for each variable.
    initial: Vec<Initial>,
    /// A site for each place, kind and name.
    numbers: HashMap<(Place, Discriminant<EventKind>, String), SiteId>,
    sites: Vec<Site>,
    pub strings: Strings,
}

impl Tables {
    /// An object for each variable, lock and condition. A variable is called as in the program if that is clear.
    pub fn new(threads: Vec<ThreadName>, targets: &Targets<'_>) -> Tables {
        let mut tables = Tables { threads, ..Tables::default() };
        let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
        for target in &targets.all {
            if let Target::Variable(variable) = target {
                *uses.entry(plain(variable)).or_default() += 1;
            }
        }
        for (target, nth) in targets.all.iter().zip(0..) {
            let name = match target {
                Target::Variable(variable) if uses[plain(variable)] > 1 => (*variable).to_owned(),
                Target::Variable(variable) => plain(variable).to_owned(),
                Target::Lock(object) => format!("mutex {object}"),
                Target::Condition(object) => format!("condition {object}"),
            };
            let address = FIRST_ADDRESS + DISTANCE * u64::from(nth);
            if let Target::Variable(_) = target {
                tables.initial.push(Initial { address, bytes: BYTES, value: None });
            }
            let (object, bytes) = (ObjectId(nth), BYTES.into());
            tables.locations.push(Location {
                object,
                offset: 0,
                bytes,
                name: name.clone(),
                shape: Shape::Signed,
            });
            tables.objects.push(Object { name, address, bytes: BYTES.into(), site: None });
        }
        tables
    }

    fn site(&mut self, place: &Place, kind: &EventKind, name: String) -> SiteId {
        let next = SiteId(self.sites.len() as u32);
        let site = *self.numbers.entry((place.clone(), discriminant(kind), name)).or_insert(next);
        if site == next {
            self.sites.push(Site { place: place.clone(), inlined_at: Vec::new(), key: None });
        }
        site
    }
}

/// `x` of `x_51`.
fn plain(variable: &str) -> &str {
    variable.rsplit_once('_').map_or(variable, |(name, _)| name)
}

/// How many threads and locations a trace knows: the first ones of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub threads: usize,
    pub locations: usize,
}

/// A trace of unknown order. How it ended is known if one of its threads has an assertion.
#[derive(Debug)]
pub(super) struct Assembled {
    pub trace: Trace,
    pub symbolic: Symbolic,
    pub failure: Option<Failure>,
}

pub(super) fn assemble(
    cast: &Cast<'_>,
    items: &[Vec<Item<'_>>],
    order: &[(ThreadId, usize)],
    tables: &mut Tables,
    extent: Extent,
) -> Result<Assembled, ImportError> {
    let locations = extent.locations;
    let last = FIRST_ADDRESS + DISTANCE * locations as u64;
    let initial = tables.initial.iter().filter(|i| i.address < last).copied().collect();
    let mut assembly = Assembly {
        cast,
        items,
        trace: Trace {
            threads: tables.threads[..extent.threads].to_vec(),
            objects: tables.objects[..locations].to_vec(),
            locations: tables.locations[..locations].to_vec(),
            ..Trace::default()
        },
        symbolic: Symbolic { order: KnownOrder::Unknown, initial, ..Symbolic::default() },
        tables,
        used: BTreeMap::new(),
        symbols: HashMap::new(),
        reads: HashMap::new(),
        events_of: items.iter().map(|own| Vec::with_capacity(own.len())).collect(),
    };
    for (thread, item) in order {
        assembly.event(*thread, *item)?;
    }
    for (event, (thread, item)) in order.iter().enumerate() {
        assembly.write(event, *thread, *item)?;
    }
    let mut failure = None;
    for (thread, file) in cast.files() {
        assembly.conditions(thread, file)?;
        if let Some(assertion) = file.assertion {
            failure = Some(assembly.bug(thread, file, assertion)?);
        }
    }
    let Assembly { mut trace, symbolic, used, .. } = assembly;
    trace.sites = used.into_iter().collect();
    Ok(Assembled { trace, symbolic, failure })
}

struct Assembly<'a, 'f> {
    cast: &'a Cast<'f>,
    items: &'a [Vec<Item<'f>>],
    tables: &'a mut Tables,
    trace: Trace,
    symbolic: Symbolic,
    /// The sites of this trace.
    used: BTreeMap<SiteId, Site>,
    /// The expression of each read, by its name.
    symbols: HashMap<String, ExprId>,
    /// Whose read a symbol is, and which event.
    reads: HashMap<SymbolId, (ThreadId, u32)>,
    /// By thread: where its items are among the events.
    events_of: Vec<Vec<u32>>,
}

impl<'a, 'f> Assembly<'a, 'f> {
    fn item(&self, thread: ThreadId, item: usize) -> &'a Item<'f> {
        &self.items[thread.index()][item]
    }

    fn file(&self, thread: ThreadId) -> &'f ThreadFile {
        self.cast.file(thread).expect("what has a text has a file")
    }

    /// The event with its site, its step and its accesses; what writes store comes later.
    fn event(&mut self, thread: ThreadId, item: usize) -> Result<(), ImportError> {
        let Item { place, kind, data, line } = self.item(thread, item);
        let (kind, place, line) = (kind.clone(), place.clone(), *line);
        let name = kind.location().map(|at| self.trace.location(at).name.clone());
        let site = self.tables.site(&place, &kind, name.unwrap_or_default());
        let event = self.trace.events.len() as u32;
        let first = self.symbolic.accesses.len() as u32;
        let mut shadow = Shadow { first, reads: 0, writes: 0 };
        let symbol = match data {
            Data::None => None,
            Data::Read(symbol) => {
                shadow.reads = 1;
                Some(*symbol)
            }
            Data::Write(_) => {
                shadow.writes = 1;
                None
            }
        };
        if let (Some(at), true) = (kind.location(), shadow.reads + shadow.writes > 0) {
            let own = SymbolId(first);
            let value = match symbol {
                Some(_) => self.symbolic.exprs.symbol(own, 8 * BYTES),
                None => self.symbolic.exprs.constant(0, 8 * BYTES),
            };
            if let Some(symbol) = symbol {
                if self.symbols.insert(symbol.to_owned(), value).is_some() {
                    let file = self.file(thread);
                    let number = line.map_or(0, |line| file.events[line].number);
                    return Err(
                        file.error(number, format!("R-{symbol} is read for the second time"))
                    );
                }
                self.reads.insert(own, (thread, event));
            }
            let address = self.trace.address(at);
            self.symbolic.accesses.push(Access { address, bytes: BYTES, value });
        }
        self.used.entry(site).or_insert_with(|| self.tables.sites[site.0 as usize].clone());
        self.symbolic.shadows.push(shadow);
        self.symbolic.steps.push(Step { thread, first: event, events: 1 });
        self.events_of[thread.index()].push(event);
        self.trace.events.push(Event { thread, site, caller: None, kind });
        Ok(())
    }

    /// What a write stores, now that all reads have their symbols.
    fn write(&mut self, event: usize, thread: ThreadId, item: usize) -> Result<(), ImportError> {
        let Data::Write(text) = self.item(thread, item).data else { return Ok(()) };
        let file = self.file(thread);
        let term = self.expression(file, text)?;
        let value = self.scope().number(term, None);
        for symbol in self.symbolic.exprs.symbols(value) {
            if !self.is_before(symbol, thread, event as u32) {
                let name = self.name(symbol);
                let what = format!("the value depends on R-{name}, which need not be read by then");
                return Err(file.error(text.line, what));
            }
        }
        let access = self.symbolic.shadows[event].first as usize;
        self.symbolic.accesses[access].value = value;
        if let Some(known) = self.symbolic.exprs.as_const(value)
            && let EventKind::Write { value, .. } = &mut self.trace.events[event].kind
        {
            *value = Value::Word(known as u64);
        }
        Ok(())
    }

    /// Whether a read comes before this event in every order: by the same thread, or by one that forked it later.
    fn is_before(&self, symbol: SymbolId, mut thread: ThreadId, mut event: u32) -> bool {
        let (reader, read) = self.reads[&symbol];
        while thread != reader {
            let member = self.cast.get(thread);
            let Some(parent) = member.and_then(|m| m.parent.as_ref()) else { return false };
            let items = &self.items[parent.thread.index()];
            let Some(fork) = items.iter().position(|item| item.line == Some(parent.line)) else {
                return false;
            };
            event = self.events_of[parent.thread.index()][fork];
            thread = parent.thread;
        }
        read < event
    }

    fn name(&self, symbol: SymbolId) -> &str {
        let id = self.symbolic.accesses[symbol.0 as usize].value;
        self.symbols.iter().find(|(_, other)| **other == id).map_or("?", |(name, _)| name)
    }

    fn scope(&mut self) -> Scope<'_> {
        let (exprs, strings) = (&mut self.symbolic.exprs, &mut self.tables.strings);
        Scope { exprs, strings, symbols: &self.symbols }
    }

    fn expression(&mut self, file: &ThreadFile, text: &Text) -> Result<Term, ImportError> {
        let is_kquery = match text.form {
            Form::KQuery => true,
            Form::Infix => false,
            Form::Either => kquery::looks_like(&text.text),
        };
        if text.form == Form::Either && !is_kquery {
            let mut scope = self.scope();
            if let Some(string) = infix::whole_string(&scope, &text.text) {
                return Ok(scope.text(string));
            }
        }
        let parse = if is_kquery { kquery::parse } else { infix::parse };
        parse(&mut self.scope(), &text.text).map_err(|what| file.error(text.line, what))
    }

    /// The path of one thread. The last condition of the asserting thread is no condition but the bug.
    fn conditions(&mut self, thread: ThreadId, file: &ThreadFile) -> Result<(), ImportError> {
        let path = match (file.assertion, file.conditions.split_last()) {
            (Some(_), Some((_, path))) => path,
            _ => &file.conditions[..],
        };
        // A thread has at least its start.
        let mut after = self.events_of[thread.index()][0];
        for (nth, text) in path.iter().enumerate() {
            let term = self.expression(file, text)?;
            let holds = self.scope().truth(term);
            after = after.max(self.last_read(thread, holds)).max(self.branch(thread, file, nth));
            match self.symbolic.exprs.as_const(holds) {
                // Says nothing.
                Some(1) => continue,
                Some(_) => return Err(file.error(text.line, "this condition can never hold")),
                None => {}
            }
            let site = self.trace.events[after as usize].site;
            let why = ConditionKind::Branch;
            self.symbolic.conditions.push(Condition {
                thread,
                after,
                holds,
                site,
                why,
                otherwise: Otherwise::Unknown,
            });
        }
        Ok(())
    }

    /// The last event at which this thread reads something that the expression depends on; 0 if none.
    fn last_read(&self, thread: ThreadId, of: ExprId) -> u32 {
        let reads = self.symbolic.exprs.symbols(of).into_iter().map(|symbol| self.reads[&symbol]);
        reads.filter(|(reader, _)| *reader == thread).map(|(_, event)| event).max().unwrap_or(0)
    }

    /// The last event before the branch that decides a condition, if the file says where that is; 0 if not.
    fn branch(&self, thread: ThreadId, file: &ThreadFile, condition: usize) -> u32 {
        // Where there is not a branch for each condition, nobody knows which is whose.
        if file.branches.len() != file.conditions.len() {
            return 0;
        }
        let events = file.branches[condition];
        let (own, mut items) = (&self.events_of[thread.index()], &self.items[thread.index()][..]);
        // An exit that the file left out comes after all branches.
        while let Some((Item { line: None, kind: EventKind::Exit, .. }, rest)) = items.split_last()
        {
            items = rest;
        }
        let before = items.partition_point(|item| item.line.is_none_or(|line| line < events));
        before.checked_sub(1).map_or(0, |last| own[last])
    }

    fn bug(
        &mut self,
        thread: ThreadId,
        file: &ThreadFile,
        assertion: Assertion,
    ) -> Result<Failure, ImportError> {
        let Some(text) = file.conditions.last() else {
            let last = file.events.last().map_or(1, |line| line.number);
            return Err(file.error(last, "the thread with the assertion has no path condition"));
        };
        let term = self.expression(file, text)?;
        let fails = match assertion {
            Assertion::Fails => self.scope().truth(term),
            Assertion::Holds => {
                let holds = self.scope().truth(term);
                self.symbolic.exprs.not(holds)
            }
        };
        let own = &self.events_of[thread.index()];
        // A thread that failed got as far as its file; one that did not went on after its assertion.
        let last =
            own.iter().rev().find(|e| self.trace.events[**e as usize].kind != EventKind::Exit);
        let last = *last.unwrap_or(&own[0]);
        let read = self.last_read(thread, fails);
        let branch = self.branch(thread, file, file.conditions.len() - 1);
        let after = match (assertion, read.max(branch)) {
            (_, decided) if branch > 0 => decided,
            (Assertion::Holds, read) if read > 0 => read,
            _ => last,
        };
        self.symbolic.bug = Bug::Condition { thread, after, fails };
        let site = self.trace.events[after as usize].site;
        let place = self.used.get(&site).map(|site| site.place.clone());
        let message = match assertion {
            Assertion::Fails => "the recorded assertion fails",
            Assertion::Holds => "the recorded assertion, which held, can fail",
        };
        Ok(Failure {
            kind: FailureKind::Assertion,
            message: message.to_owned(),
            thread: self.trace.thread_name(thread).clone(),
            stack: place.into_iter().collect(),
            related: Vec::new(),
        })
    }
}
