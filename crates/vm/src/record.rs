//! Keeping events: addresses become objects and locations with names.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_code::names::{self, TypeId};
use unravel_code::{CallId, Program};
use unravel_trace::*;

use crate::budgets::MOST_EVENTS;
use crate::machine::Machine;
use crate::memory::stack_slot;
use crate::site_tables::RECORD;

#[derive(Debug, Default)]
pub(crate) struct Recorder {
    on: bool,
    trace: Trace,
    /// By address, size and the object's identity.
    locations: FxHashMap<(u64, u32, ObjectId), LocationId>,
    objects: FxHashMap<(u64, u64), ObjectId>,
    /// Locations that nobody had a name for yet: who accesses them later may have.
    unnamed: FxHashSet<LocationId>,
}

impl Recorder {
    pub fn begin(&mut self, on: bool) {
        self.on = on;
        if on {
            *self = Recorder { on, ..Recorder::default() };
        }
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    pub fn take(&mut self) -> Trace {
        std::mem::take(&mut self.trace)
    }

    /// The number of events so far.
    pub fn events(&self) -> usize {
        self.trace.events.len()
    }

    /// Adds the sites that the trace and its symbolic side refer to.
    pub fn collect_sites(&self, program: &Program, trace: &mut Trace, symbolic: Option<&Symbolic>) {
        let conditions = symbolic.into_iter().flat_map(|s| s.conditions.iter().map(|c| c.site));
        let requests = symbolic.into_iter().flat_map(|s| match &s.bug {
            Bug::Deadlock { requests } => requests.as_slice(),
            _ => &[],
        });
        let mut ids: Vec<SiteId> = trace
            .events
            .iter()
            .flat_map(|e| [Some(e.site), e.caller])
            .flatten()
            .chain(trace.objects.iter().filter_map(|o| o.site))
            .chain(conditions)
            .chain(requests.map(|r| r.site))
            .chain(symbolic.and_then(|s| s.parted_at))
            .collect();
        ids.sort();
        ids.dedup();
        trace.sites = ids
            .into_iter()
            .filter_map(|id| Some((id, program.sites.get(id.index())?.clone())))
            .collect();
    }
}

impl Machine {
    pub fn record(&mut self, site: SiteId, kind: EventKind) {
        if self.recorder.on {
            let thread = ThreadId(self.current as u32);
            if self.concolic.is_on() {
                let state = &mut **self;
                state.concolic.recorded(state.current, state.recorder.events());
            }
            if self.recorder.events() >= MOST_EVENTS {
                self.finish_inconclusive(format!(
                    "the run has more than {MOST_EVENTS} events, and no more are kept"
                ));
            }
            let caller = self.caller_of(site, self.current);
            self.recorder.trace.events.push(Event { thread, site, caller, kind });
        }
    }

    /// The site that a user would name for this one: the call from their own code, if it is in a header of the system or in a
    /// wrapper.
    pub fn own_site(&self, site: SiteId) -> SiteId {
        self.caller_of(site, self.current).unwrap_or(site)
    }

    /// Who called a header of the system or a wrapper, if the site is in one: the innermost site outside on the thread's stack.
    fn caller_of(&self, site: SiteId, thread: usize) -> Option<SiteId> {
        let is_own = |id: SiteId| self.program.sites[id.index()].place.is_own();
        if is_own(site) {
            return None;
        }
        self.callers_of(thread).find(|id| is_own(*id))
    }

    /// The same for telling events apart: what was inlined into the user's code is there, whoever called that.
    pub fn telling_caller_of(&self, site: SiteId, thread: usize) -> Option<SiteId> {
        match self.program.sites.get(site.index()).is_some_and(Site::is_inlined_in_own_code) {
            true => None,
            false => self.caller_of(site, thread),
        }
    }

    /// Whether accesses of library functions are events now, as those at visible sites are. A thread that was always
    /// alone needs none, unless others are to see what inputs it stored.
    pub fn records_accesses(&self) -> bool {
        self.recorder.on && (self.thread_count > 1 || self.concolic.leaves_inputs_open())
    }

    /// Records an event about a sync object of `bytes` bytes at `address`.
    pub fn record_sync(
        &mut self,
        site: SiteId,
        (address, bytes): (u64, u64),
        kind: impl FnOnce(LocationId) -> EventKind,
    ) {
        if self.recorder.on {
            let at = self.location(address, bytes, site);
            self.rename_pointed(at, site);
            self.record(site, kind(at));
        }
    }

    /// A sync object on the heap that is called by a pointer to it, such as the parameter of a function that sets it up, is a member for
    /// who uses it: `box->mutex` rather than `mtx`.
    fn rename_pointed(&mut self, id: LocationId, site: SiteId) {
        let is_pointer = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let location = self.recorder.trace.location(id);
        let (address, bytes) = (self.recorder.trace.address(id), u64::from(location.bytes));
        if !is_pointer(&location.name) || self.memory.heap_object(address).is_none() {
            return;
        }
        if let Some((name, shape)) = self.name_of(address, bytes, site, self.current)
            && !is_pointer(&name)
        {
            let location = &mut self.recorder.trace.locations[id.0 as usize];
            (location.name, location.shape) = (name, shape);
        }
    }

    pub fn record_read(&mut self, address: u64, bytes: u64, site: SiteId) {
        if self.recorder.on {
            if self.concolic.is_on() {
                self.observe(address, bytes);
            }
            let at = self.location(address, bytes, site);
            let value = value_at(address, bytes);
            self.record(site, EventKind::Read { at, value });
        }
    }

    pub fn record_write(&mut self, flags: u8, address: u64, bytes: u64, site: SiteId) {
        if self.recorder.on && flags & RECORD != 0 {
            if self.concolic.is_on() {
                self.wrote_symbolically(address, bytes);
            }
            let at = self.location(address, bytes, site);
            let value = value_at(address, bytes);
            self.record(site, EventKind::Write { at, value });
        }
    }

    pub fn record_update(&mut self, address: u64, bytes: u64, old: u64, new: u64, site: SiteId) {
        if self.recorder.on {
            let at = self.location(address, bytes, site);
            let (old, new) = (Value::Word(old), Value::Word(new));
            self.record(site, EventKind::ReadModifyWrite { at, old, new });
        }
    }

    pub fn location(&mut self, address: u64, bytes: u64, site: SiteId) -> LocationId {
        let object = self.object(address);
        let key = (address, bytes as u32, object);
        if let Some(id) = self.recorder.locations.get(&key).copied() {
            if !self.recorder.unnamed.is_empty() && self.recorder.unnamed.contains(&id) {
                self.name_at_last(id, site);
            }
            return id;
        }
        let named = self.name_of(address, bytes, site, self.current);
        let is_unnamed = named.is_none();
        let (name, shape) = named.unwrap_or_else(|| self.unnamed(address, bytes));
        let offset = address - self.recorder.trace.objects[object.0 as usize].address;
        let id = LocationId(self.recorder.trace.locations.len() as u32);
        let bytes = bytes as u32;
        self.recorder.trace.locations.push(Location { object, offset, bytes, name, shape });
        self.recorder.locations.insert(key, id);
        if is_unnamed {
            self.recorder.unnamed.insert(id);
        }
        id
    }

    /// A location without a name is accessed again: the source may have one here.
    fn name_at_last(&mut self, id: LocationId, site: SiteId) {
        let own = self.program.sites.get(site.index()).is_some_and(|site| site.place.is_own());
        let access = self.program.accesses.get(site.index()).filter(|_| own);
        let Some((Some(name), shape)) = access.map(|access| (access.path.clone(), access.shape))
        else {
            return;
        };
        let location = &mut self.recorder.trace.locations[id.0 as usize];
        (location.name, location.shape) = (name, shape);
        self.recorder.unnamed.remove(&id);
    }

    fn object(&mut self, address: u64) -> ObjectId {
        let object = self.find_object(address);
        let key = (object.address, object.bytes);
        if let Some(id) = self.recorder.objects.get(&key) {
            return *id;
        }
        let id = ObjectId(self.recorder.trace.objects.len() as u32);
        self.recorder.trace.objects.push(object);
        self.recorder.objects.insert(key, id);
        id
    }

    fn find_object(&self, address: u64) -> Object {
        if let Some(global) = self.program.global_at(address) {
            return Object {
                name: global.name.clone(),
                address: global.address,
                bytes: global.bytes,
                site: None,
            };
        }
        if let Some((slot, index, object)) = self.memory.heap_object(address)
            && address < object.address + object.bytes.max(1)
        {
            return Object {
                name: format!("heap object {} of {}", index + 1, self.slot_owner(slot)),
                address: object.address,
                bytes: object.bytes,
                site: Some(object.allocated_at),
            };
        }
        let name = match stack_slot(address) {
            Some(slot) => format!("a local of {}", self.slot_owner(slot)),
            None => format!("foreign memory at {address:#x}"),
        };
        Object { name, address, bytes: 1, site: None }
    }

    /// The name of a location as the programmer wrote it, as well as we know, and how its value is meant.
    fn named(&self, address: u64, bytes: u64, site: SiteId, thread: usize) -> (String, Shape) {
        let name = self.name_of(address, bytes, site, thread);
        name.unwrap_or_else(|| self.unnamed(address, bytes))
    }

    /// What a location is called that the source has no name for where it was accessed.
    fn unnamed(&self, address: u64, bytes: u64) -> (String, Shape) {
        let typed = self.typed_name(address, bytes);
        typed.unwrap_or_else(|| (self.describe(address), Shape::Unknown))
    }

    /// The name that the source has for a location where it is accessed.
    fn name_of(
        &self,
        address: u64,
        bytes: u64,
        site: SiteId,
        thread: usize,
    ) -> Option<(String, Shape)> {
        let types = &self.program.types;
        if let Some(global) = self.program.global_at(address)
            && let Some(ty) = global.ty
        {
            let offset = address - global.address;
            let member = types.member(ty, offset, bytes);
            return Some((format!("{}{member}", global.name), types.shape_at(ty, offset, bytes)));
        }
        let path = |site: SiteId| {
            let access = self.program.accesses.get(site.index())?;
            Some((access.path.clone()?, access.shape, access.bytes))
        };
        let Some(caller) = self.caller_of(site, thread) else {
            let own = path(site).map(|(name, shape, _)| (name, shape));
            return own.or_else(|| self.local_name(address, bytes));
        };
        // The names inside a header of the system or a wrapper are not the caller's. What the call was made on may be it, if
        // it has the right size.
        let called = || path(caller).filter(|(.., size)| *size == bytes);
        self.local_name(address, bytes)
            .or_else(|| self.handed_name(address, bytes, caller, thread))
            .or_else(|| called().map(|(name, shape, _)| (name, shape)))
    }

    /// The name of a location by what the call that is at `caller` was handed, and around it.
    fn handed_name(
        &self,
        address: u64,
        bytes: u64,
        caller: SiteId,
        thread: usize,
    ) -> Option<(String, Shape)> {
        let types = &self.program.types;
        let is_it = |(site, ..): &(SiteId, CallId, *const u64)| *site == caller;
        let (_, call, fp) = self.calls_of(thread).find(is_it)?;
        let args = &self.program.call(call).args;
        self.program.handed.get(&call)?.iter().find_map(|handed| {
            let reg = args.get(handed.position as usize)?.reg;
            // SAFETY: a slot of the caller's frame, which is there while what it calls is.
            let object = unsafe { *fp.add(reg as usize) };
            let offset = address.checked_sub(object)?;
            if offset + bytes > types.bytes(handed.ty) {
                return None;
            }
            let member = types.member_object(handed.ty, offset, bytes);
            // Who hands over a pointer calls what it points to by it.
            let name = match member.is_empty() {
                true => handed.text.clone(),
                false => names::join(&handed.text, handed.pointer, &member),
            };
            Some((name, types.shape_at(handed.ty, offset, bytes)))
        })
    }

    /// What an object is that a call at this site allocates for the current thread: what the call that gets its address makes
    /// of it, inside of a header or a wrapper or outside.
    pub fn made_at(&self, site: SiteId) -> Option<TypeId> {
        let made = &self.program.made;
        if made.is_empty() {
            return None;
        }
        let mut sites = std::iter::once(site).chain(self.callers_of(self.current));
        let mut outside = false;
        sites.find_map(|site| {
            let found = made.get(&site).copied().filter(|_| !outside);
            outside |= self.program.sites[site.index()].place.is_own();
            found
        })
    }

    /// The name of a heap object's part by its type: `Account::owner`, of the second one `Account #2::owner`.
    pub fn typed_name(&self, address: u64, bytes: u64) -> Option<(String, Shape)> {
        let (slot, index, object) = self.memory.heap_object(address)?;
        let (ty, types) = (object.ty?, &self.program.types);
        let (class, size) = (types.class(ty)?, types.bytes(ty).max(1));
        let offset = address.checked_sub(object.address)?;
        if offset + bytes > object.bytes || size > object.bytes {
            return None;
        }
        let mut name = class.to_owned();
        let (rank, owner) = (self.memory.rank(slot, index, ty), self.slot_owner(slot));
        if rank > 1 || owner != ThreadName::main() {
            name += &format!(" #{rank}");
        }
        if owner != ThreadName::main() {
            name += &format!(" of {owner}");
        }
        if object.bytes >= 2 * size {
            name += &format!("[{}]", offset / size);
        }
        let member = types.member_object(ty, offset % size, bytes);
        name += &match member.strip_prefix('.') {
            Some(member) => format!("::{member}"),
            None => member,
        };
        Some((name, types.shape_at(ty, offset % size, bytes)))
    }

    /// The name of a sync object that a thread uses at a site, for messages.
    pub fn sync_name(&self, address: u64, bytes: u64, site: SiteId, thread: usize) -> String {
        format!("'{}'", self.named(address, bytes, site, thread).0)
    }

    /// The local variable of some active function that contains an address.
    fn local_name(&self, address: u64, bytes: u64) -> Option<(String, Shape)> {
        let slot = stack_slot(address)?;
        let thread = self.threads_of_run().find(|t| t.slot == slot && !t.ended)?;
        let mut base = thread.at.base;
        for frame in thread.frames.iter().rev() {
            if address >= base {
                let function = self.program.function(frame.function);
                let body = function.body.as_ref()?;
                let offset = address - base;
                let local = body.locals.iter().find(|l| {
                    u64::from(l.offset) <= offset
                        && offset < u64::from(l.offset) + u64::from(l.bytes)
                })?;
                let inside = offset - u64::from(local.offset);
                let types = &self.program.types;
                let (member, shape) = local.ty.map_or((String::new(), Shape::Unknown), |ty| {
                    (types.member(ty, inside, bytes), types.shape_at(ty, inside, bytes))
                });
                return Some((format!("{}{member}", local.name), shape));
            }
            base = frame.caller.base;
        }
        None
    }
}

pub(crate) fn value_at(address: u64, bytes: u64) -> Value {
    // SAFETY: the access was checked and has just happened.
    unsafe {
        if bytes <= 8 {
            Value::Word(crate::interpret::load_word(address, bytes))
        } else {
            Value::Bytes(std::slice::from_raw_parts(address as *const u8, bytes as usize).into())
        }
    }
}
