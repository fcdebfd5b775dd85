//! The trace file: events in their list, accesses with their expressions, conditions, the bug.

use std::collections::{BTreeMap, HashMap};
use std::mem::{Discriminant, discriminant};
use std::path::Path;

use unravel_trace::{
    Access, Bug, Condition, ConditionKind, Event, EventKind, ExprId, Failure, FailureKind, Initial,
    Input, KnownOrder, Location, Note, Object, ObjectId, Otherwise, Outcome, Place, Rules, Run,
    Schedule, Shadow, Shape, Site, SiteId, Step, SymbolId, Symbolic, ThreadId, Trace, Value,
};

use super::items::{Data, Item, Items, Target};
use super::lines::{Assertion, Form, Text, ThreadFile};
use super::terms::{Scope, Term};
use super::threads::Threads;
use super::{ImportError, infix, kquery};
use crate::{ProgramRef, TraceFile};

/// Variables get addresses of our own: this one and every 16 bytes from there.
const FIRST_ADDRESS: u64 = 0x1000;
const DISTANCE: u64 = 16;
const BYTES: u8 = 8;

pub(super) fn assemble(
    directory: &Path,
    files: &[ThreadFile],
    threads: &Threads,
    items: &Items<'_>,
    order: &[(ThreadId, usize)],
    mut notes: Vec<String>,
) -> Result<TraceFile, ImportError> {
    let mut assembly = Assembly {
        files,
        threads,
        items,
        trace: Trace::default(),
        symbolic: Symbolic { order: KnownOrder::Unknown, ..Symbolic::default() },
        sites: HashMap::new(),
        symbols: HashMap::new(),
        reads: HashMap::new(),
        events_of: items.threads.iter().map(|own| Vec::with_capacity(own.len())).collect(),
    };
    assembly.trace.threads = threads.all.iter().map(|thread| thread.name.clone()).collect();
    assembly.locations();
    for (thread, item) in order {
        assembly.event(*thread, *item)?;
    }
    for (event, (thread, item)) in order.iter().enumerate() {
        assembly.write(event, *thread, *item)?;
    }
    let asserting = asserting(directory, files)?;
    for file in files {
        assembly.conditions(file)?;
    }
    let (bug, outcome) = assembly.bug(asserting)?;
    assembly.symbolic.bug = bug;
    if asserting.1 == Assertion::Holds {
        notes
            .push("recorded in a run that passed; the bug is the negation of its assertion".into());
    }
    let full = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let run = Run {
        schedule: Schedule { threads: assembly.trace.threads.clone(), ..Schedule::default() },
        outcome,
        steps: order.len() as u64,
        notes: notes.into_iter().map(Note::Other).collect(),
        symbolic: Some(Box::new(assembly.symbolic)),
        trace: assembly.trace,
        ..Run::default()
    };
    let cwd = full.display().to_string();
    Ok(TraceFile {
        program: ProgramRef { name, cwd, ..ProgramRef::default() },
        input: Input::default(),
        rules: Rules::default(),
        strategy: "import:symbiosis".to_owned(),
        seed: None,
        engine: String::new(),
        run,
    })
}

/// The one file with the assertion.
fn asserting<'f>(
    directory: &Path,
    files: &'f [ThreadFile],
) -> Result<(&'f ThreadFile, Assertion), ImportError> {
    let folder = |what| ImportError::Folder { path: directory.to_owned(), what };
    let mut marked = files.iter().filter_map(|file| Some((file, file.assertion?)));
    match (marked.next(), marked.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(folder(
            "no thread is marked with <assertThread_fail> or <assertThread_ok>: what is the bug?"
                .to_owned(),
        )),
        (Some((a, _)), Some((b, _))) => {
            Err(folder(format!("T{} and T{} are both marked with an assertion", a.id, b.id)))
        }
    }
}

struct Assembly<'a, 'f> {
    files: &'f [ThreadFile],
    threads: &'a Threads,
    items: &'a Items<'f>,
    trace: Trace,
    symbolic: Symbolic,
    /// A site for each place, kind and name.
    sites: HashMap<(Place, Discriminant<EventKind>, String), SiteId>,
    /// The expression of each read, by its name.
    symbols: HashMap<String, ExprId>,
    /// Whose read a symbol is, and which event.
    reads: HashMap<SymbolId, (ThreadId, u32)>,
    /// By thread: where its items are among the events.
    events_of: Vec<Vec<u32>>,
}

impl<'a, 'f> Assembly<'a, 'f> {
    /// An object for each variable, lock and condition. A variable is called as in the program if that is clear.
    fn locations(&mut self) {
        let plain =
            |variable: &'f str| variable.rsplit_once('_').map_or(variable, |(name, _)| name);
        let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
        for target in &self.items.targets {
            if let Target::Variable(variable) = target {
                *uses.entry(plain(variable)).or_default() += 1;
            }
        }
        for (target, nth) in self.items.targets.iter().zip(0..) {
            let name = match target {
                Target::Variable(variable) if uses[plain(variable)] > 1 => (*variable).to_owned(),
                Target::Variable(variable) => plain(variable).to_owned(),
                Target::Lock(object) => format!("mutex {object}"),
                Target::Condition(object) => format!("condition {object}"),
            };
            let address = FIRST_ADDRESS + DISTANCE * u64::from(nth);
            if let Target::Variable(_) = target {
                self.symbolic.initial.push(Initial { address, bytes: BYTES, value: None });
            }
            let (object, bytes) = (ObjectId(nth), BYTES.into());
            self.trace.locations.push(Location {
                object,
                offset: 0,
                bytes,
                name: name.clone(),
                shape: Shape::Signed,
            });
            self.trace.objects.push(Object { name, address, bytes: BYTES.into(), site: None });
        }
    }

    fn item(&self, thread: ThreadId, item: usize) -> &'a Item<'f> {
        &self.items.threads[thread.index()][item]
    }

    fn file(&self, thread: ThreadId) -> &'f ThreadFile {
        let file = self.threads.get(thread).file;
        &self.files[file.expect("what has a text has a file")]
    }

    /// The event with its site, its step and its accesses; what writes store comes later.
    fn event(&mut self, thread: ThreadId, item: usize) -> Result<(), ImportError> {
        let Item { place, kind, data, line } = self.item(thread, item);
        let (kind, place, line) = (kind.clone(), place.clone(), *line);
        let name = kind.location().map(|at| self.trace.location(at).name.clone());
        let next = SiteId(self.sites.len() as u32);
        let key = (place.clone(), discriminant(&kind), name.unwrap_or_default());
        let site = *self.sites.entry(key).or_insert(next);
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
        if site == next {
            self.trace.sites.push((site, Site { place, inlined_at: Vec::new(), key: None }));
        }
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
            let Some(parent) = &self.threads.get(thread).parent else { return false };
            let items = &self.items.threads[parent.thread.index()];
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
        Scope { exprs: &mut self.symbolic.exprs, symbols: &self.symbols }
    }

    fn expression(&mut self, file: &ThreadFile, text: &Text) -> Result<Term, ImportError> {
        let is_kquery = match text.form {
            Form::KQuery => true,
            Form::Infix => false,
            Form::Either => kquery::looks_like(&text.text),
        };
        let parse = if is_kquery { kquery::parse } else { infix::parse };
        parse(&mut self.scope(), &text.text).map_err(|what| file.error(text.line, what))
    }

    /// The path of one thread. The last condition of the asserting thread is no condition but the bug.
    fn conditions(&mut self, file: &'f ThreadFile) -> Result<(), ImportError> {
        let thread = self.threads.find(file.id).expect("every file's thread has a name");
        let path = match (file.assertion, file.conditions.split_last()) {
            (Some(_), Some((_, path))) => path,
            _ => &file.conditions[..],
        };
        // A thread has at least its start.
        let mut after = self.events_of[thread.index()][0];
        for text in path {
            let term = self.expression(file, text)?;
            let holds = self.scope().truth(term);
            after = after.max(self.last_read(thread, holds));
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

    fn bug(
        &mut self,
        (file, assertion): (&'f ThreadFile, Assertion),
    ) -> Result<(Bug, Outcome), ImportError> {
        let Some(text) = file.conditions.last() else {
            let last = file.events.last().map_or(1, |line| line.number);
            return Err(file.error(last, "the thread with the assertion has no path condition"));
        };
        let thread = self.threads.find(file.id).expect("every file's thread has a name");
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
        let after = match (assertion, self.last_read(thread, fails)) {
            (Assertion::Holds, read) if read > 0 => read,
            _ => last,
        };
        let site = self.trace.events[after as usize].site;
        let place = self.trace.site(site).map(|site| site.place.clone());
        let message = match assertion {
            Assertion::Fails => "the recorded assertion fails",
            Assertion::Holds => "the recorded assertion, which held, can fail",
        };
        let failure = Failure {
            kind: FailureKind::Assertion,
            message: message.to_owned(),
            thread: self.trace.thread_name(thread).clone(),
            stack: place.into_iter().collect(),
            related: Vec::new(),
        };
        Ok((Bug::Condition { thread, after, fails }, Outcome::Failed(Box::new(failure))))
    }
}
