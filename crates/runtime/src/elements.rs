//! Access vectors of the elements that this process was told to log: which thread accessed each, in order (CoopREP, thesis §3.1).
//!
//! An element has a lock of its own and a vector of its own in a file that the kernel shares. Who accesses it takes the lock, writes its entry, accesses,
//! and gives the lock back: access and entry are one step, for reads as for writes. Nothing is shared between elements. A
//! call that may block is no step: its entry is written when it has got the object, which nobody else has then.
//!
//! *Not modelled*: a condition wait's entry comes before the wait itself; a signal that is sent in between, without the mutex, is logged after it.
//! What cannot be logged any more (no room, a signal handler that meets the access it interrupted, an access that was left by a jump) makes
//! its element *lost*, and says so in the file: readers leave it out.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;
use crate::thread::Stream;
use crate::vectors::{self, ElementEntry, Header, Range, SiteEntry, Table};
use crate::{file, process};

/// How many elements an access can touch; more are lost.
const MOST_TOUCHED: usize = 16;
/// How long one waits for an element's lock before it is given up, in turns given to others.
const PATIENCE: u32 = 1 << 20;
const NOBODY: u32 = u32::MAX;

/// The numbers of `crates/instrument/src/elements/calls.rs`.
const AROUND: u32 = 1;
const AFTER: u32 = 2;
const WAIT: u32 = 3;
const BARRIER: u32 = 4;
const GIVES: u32 = 5;
const TAKES: u32 = 6;
const TRIES: u32 = 7;
const MUTEX_BYTES: u32 = 40;

/// One a cache line: threads that access different elements do not meet here.
#[repr(C, align(64))]
struct Element {
    /// Who accesses it: a thread's number plus one.
    lock: AtomicU32,
    /// Accesses by a handler that interrupted the one that has the lock.
    nested: u32,
    /// The entry that was written last; null if the element is not logged.
    at: *mut u32,
    /// Where the room that was got so far ends, and all room.
    end: *mut u32,
    last: *mut u32,
    entry: *mut ElementEntry,
}

struct State {
    elements: [Element; vectors::MOST_ELEMENTS],
    file: c_int,
    map: *mut u8,
    sites: *const SiteEntry,
    lists: *const u32,
    ranges: *mut Range,
    range_count: usize,
    /// Where the globals of the program are.
    low: u64,
    high: u64,
    table: *const Table,
    /// A second thread was created: what came before nobody shares, and only sync operations are logged of it, as the machine does.
    shared: bool,
}

static mut STATE: State = State {
    elements: [const {
        Element {
            lock: AtomicU32::new(0),
            nested: 0,
            at: core::ptr::null_mut(),
            end: core::ptr::null_mut(),
            last: core::ptr::null_mut(),
            entry: core::ptr::null_mut(),
        }
    }; vectors::MOST_ELEMENTS],
    file: -1,
    map: core::ptr::null_mut(),
    sites: core::ptr::null(),
    lists: core::ptr::null(),
    ranges: core::ptr::null_mut(),
    range_count: 0,
    low: 0,
    high: 0,
    table: core::ptr::null(),
    shared: false,
};

fn state() -> *mut State {
    &raw mut STATE
}

fn element(number: u32) -> *mut Element {
    // SAFETY: the number is masked to the table's size.
    unsafe {
        (&raw mut (*state()).elements)
            .cast::<Element>()
            .add(number as usize & (vectors::MOST_ELEMENTS - 1))
    }
}

/// The number of the calling thread.
#[inline(always)]
fn me() -> u32 {
    let stream = Stream::current();
    // SAFETY: a stream lives as long as its thread.
    unsafe {
        match stream.is_null() || !(*stream).kept || (*stream).number > vectors::MOST_THREADS {
            true => NOBODY,
            false => (*stream).number,
        }
    }
}

/// From here on the element is not logged, and its vector does not count.
#[cold]
unsafe fn lose(element: *mut Element) {
    // SAFETY: the entry is mapped if the element was ever logged.
    unsafe {
        if !(*element).entry.is_null() {
            (&raw mut (*(*element).entry).lost).write_volatile(1);
        }
        (&raw mut (*element).at).write_volatile(core::ptr::null_mut());
    }
}

/// Takes the lock; false if there is nothing to log.
#[inline(always)]
unsafe fn lock(element: *mut Element, me: u32) -> bool {
    // SAFETY: elements live as long as the process.
    unsafe {
        if (&raw const (*element).at).read_volatile().is_null() {
            return false;
        }
        let lock = &(*element).lock;
        let taken = lock.compare_exchange(0, me + 1, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok() || lock_slowly(element, me)
    }
}

#[cold]
#[inline(never)]
unsafe fn lock_slowly(element: *mut Element, me: u32) -> bool {
    // SAFETY: as above.
    unsafe {
        if me == NOBODY {
            lose(element);
            return false;
        }
        let lock = &(*element).lock;
        if lock.load(Ordering::Relaxed) == me + 1 {
            (*element).nested += 1;
            lose(element);
            return false;
        }
        let mut turns = 0;
        loop {
            for _ in 0..64 {
                let free = lock.load(Ordering::Relaxed) == 0;
                let taken = || {
                    lock.compare_exchange(0, me + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
                };
                if free && taken() {
                    return true;
                }
                core::hint::spin_loop();
            }
            sys::sched_yield();
            turns += 1;
            if turns > PATIENCE {
                lose(element);
                return false;
            }
        }
    }
}

#[inline(always)]
unsafe fn unlock(element: *mut Element, me: u32) {
    // SAFETY: as above.
    unsafe {
        if (*element).lock.load(Ordering::Relaxed) != me.wrapping_add(1) || me == NOBODY {
            return;
        }
        if (*element).nested > 0 {
            (*element).nested -= 1;
            return;
        }
        (*element).lock.store(0, Ordering::Release);
    }
}

/// Writes one access of this thread, which has the lock.
#[inline(always)]
unsafe fn append(element: *mut Element, me: u32) {
    // SAFETY: whoever has the lock owns the vector; room ends at `end`.
    unsafe {
        let at = (&raw const (*element).at).read_volatile();
        if at.is_null() {
            return;
        }
        let now = *at;
        let own = (me + 1) << vectors::ENTRY_SHIFT;
        if now & !vectors::ENTRY_MOST == own && now & vectors::ENTRY_MOST != vectors::ENTRY_MOST {
            at.write_volatile(now + 1);
            return;
        }
        let next = if now == 0 { at } else { at.add(1) };
        if next >= (*element).end && !grow(element) {
            return lose(element);
        }
        next.write_volatile(own | 1);
        (*element).at = next;
    }
}

/// Room for more entries. A page of a file that has no place on the disk would kill the program when it is written.
#[cold]
#[inline(never)]
unsafe fn grow(element: *mut Element) -> bool {
    // SAFETY: the vector is mapped whole.
    unsafe {
        if (*element).end >= (*element).last {
            return false;
        }
        let offset = (*element).end as usize - (*state()).map as usize;
        let step = vectors::STEP as usize;
        if sys::posix_fallocate((*state()).file, offset as i64, step as i64) != 0 {
            return false;
        }
        (*element).end = (*element).end.byte_add(step);
        true
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_enter(number: u32) {
    let (element, me) = (element(number), me());
    // SAFETY: the element is one of the table.
    unsafe {
        if me == NOBODY {
            lose(element);
        } else if lock(element, me) {
            append(element, me);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_leave(number: u32) {
    // SAFETY: as above.
    unsafe { unlock(element(number), me()) };
}

/// Elements that an access touches, ascending, each once.
struct Touched {
    list: [u32; MOST_TOUCHED],
    count: usize,
}

impl Touched {
    const fn none() -> Touched {
        Touched { list: [0; MOST_TOUCHED], count: 0 }
    }

    fn add(&mut self, number: u32) {
        let list = (&raw mut self.list).cast::<u32>();
        // SAFETY: positions below the count, which is below the list's length.
        unsafe {
            let mut place = self.count;
            while place > 0 && *list.add(place - 1) > number {
                place -= 1;
            }
            if place > 0 && *list.add(place - 1) == number {
                return;
            }
            if self.count == MOST_TOUCHED {
                return lose(element(number));
            }
            let mut from = self.count;
            while from > place {
                *list.add(from) = *list.add(from - 1);
                from -= 1;
            }
            *list.add(place) = number;
            self.count += 1;
        }
    }

    #[inline(always)]
    fn each(&self, mut act: impl FnMut(*mut Element)) {
        let mut at = 0;
        while at < self.count {
            // SAFETY: below the count.
            act(element(unsafe { *(&raw const self.list).cast::<u32>().add(at) }));
            at += 1;
        }
    }
}

/// The first range of a class that ends behind an address; ranges are sorted by class and start.
unsafe fn first_behind(class: u32, address: u64) -> usize {
    // SAFETY: positions are below the count.
    unsafe {
        let (mut low, mut high) = (0, (*state()).range_count);
        while low < high {
            let middle = (low + high) / 2;
            let range = &*(*state()).ranges.add(middle);
            match (range.class, range.end) < (class, address + 1) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// What is touched at an address, by a site.
#[inline(always)]
unsafe fn resolve(touched: &mut Touched, address: u64, bytes: u64, class: u32, site: u32) {
    // SAFETY: the tables are the program's own, and the site one of it.
    unsafe {
        let state = state();
        if address >= (*state).low
            && address < (*state).high
            && by_global(touched, address, bytes, class)
        {
            return;
        }
        let site = &*(*state).sites.add(site as usize);
        let mut at = 0;
        while at < site.count {
            touched.add(*(*state).lists.add((site.first + at) as usize));
            at += 1;
        }
    }
}

/// Whether it is in a global, and what it touches there.
#[inline(never)]
unsafe fn by_global(touched: &mut Touched, address: u64, bytes: u64, class: u32) -> bool {
    // SAFETY: positions are below the count.
    unsafe {
        let (ranges, count) = ((*state()).ranges, (*state()).range_count);
        let whole = first_behind(vectors::CLASS_GLOBAL, address);
        let inside = whole < count && {
            let range = &*ranges.add(whole);
            range.class == vectors::CLASS_GLOBAL && range.start <= address
        };
        if !inside {
            return false;
        }
        let end = address + if class == 0 { bytes } else { 1 };
        let mut at = first_behind(class, address);
        while at < count {
            let range = &*ranges.add(at);
            if range.class != class || range.start >= end {
                break;
            }
            touched.add(range.element);
            at += 1;
        }
        true
    }
}

unsafe fn enter_all(touched: &Touched, me: u32) {
    // SAFETY: ascending, so that no two threads wait for each other.
    touched.each(|element| unsafe {
        if me == NOBODY {
            lose(element);
        } else if lock(element, me) {
            append(element, me);
        }
    });
}

unsafe fn leave_all(touched: &Touched, me: u32) {
    // SAFETY: elements of the table.
    touched.each(|element| unsafe { unlock(element, me) });
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_enter_at(address: u64, bytes: u64, site: u32) {
    let mut touched = Touched::none();
    // SAFETY: the program passes a site of its table. What is not there is not accessed: `free` of nothing.
    unsafe {
        if address != 0 {
            resolve(&mut touched, address, bytes, 0, site);
        }
        enter_all(&touched, me());
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_leave_at(address: u64, bytes: u64, site: u32) {
    let mut touched = Touched::none();
    // SAFETY: as above.
    unsafe {
        if address != 0 {
            resolve(&mut touched, address, bytes, 0, site);
        }
        leave_all(&touched, me());
    }
}

/// A copy reads there and writes here, in one step with the entries of both.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_enter_copy(from: u64, to: u64, bytes: u64, site: u32) {
    let (mut both, mut read, mut written) = (Touched::none(), Touched::none(), Touched::none());
    let me = me();
    // SAFETY: as above.
    unsafe {
        if bytes == 0 || !(*state()).shared {
            return;
        }
        resolve(&mut read, from, bytes, 0, site);
        resolve(&mut written, to, bytes, 0, site);
        resolve(&mut both, from, bytes, 0, site);
        resolve(&mut both, to, bytes, 0, site);
        if me == NOBODY {
            return both.each(|element| lose(element));
        }
        both.each(|element| {
            lock(element, me);
        });
        let write = |element: *mut Element| {
            if (*element).lock.load(Ordering::Relaxed) == me + 1 {
                append(element, me);
            }
        };
        read.each(write);
        written.each(write);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_leave_copy(from: u64, to: u64, bytes: u64, site: u32) {
    let mut both = Touched::none();
    // SAFETY: as above.
    unsafe {
        if bytes == 0 || !(*state()).shared {
            return;
        }
        resolve(&mut both, from, bytes, 0, site);
        resolve(&mut both, to, bytes, 0, site);
        leave_all(&both, me());
    }
}

/// Where a thread waits, for who looks at a run that hangs; 0 if it does not.
unsafe fn waits_at(me: u32, place: u32) {
    // SAFETY: the table has room for all threads.
    unsafe {
        if me != NOBODY {
            let blocked = (*state()).map.add(vectors::BLOCKED as usize).cast::<u32>();
            blocked.add(me as usize).write_volatile(place);
        }
    }
}

/// What the thread has of semaphores and barriers: giving it back is implied by the next one who takes it.
fn takes(object: u64, element_of: &Touched) {
    let stream = Stream::current();
    if stream.is_null() {
        return;
    }
    // SAFETY: the stream is this thread's; positions are below the list's length.
    unsafe {
        let list = (&raw mut (*stream).holds).cast::<u64>();
        let mut free = usize::MAX;
        for at in 0..crate::thread::HOLDS {
            match *list.add(at) {
                known if known == object => return,
                0 => free = at,
                _ => {}
            }
        }
        match free {
            usize::MAX => element_of.each(|element| lose(element)),
            free => *list.add(free) = object,
        }
    }
}

/// Whether the thread had it.
fn gives(object: u64) -> bool {
    let stream = Stream::current();
    if stream.is_null() {
        return false;
    }
    // SAFETY: as above.
    unsafe {
        let list = (&raw mut (*stream).holds).cast::<u64>();
        for at in 0..crate::thread::HOLDS {
            if *list.add(at) == object {
                *list.add(at) = 0;
                return true;
            }
        }
    }
    false
}

unsafe fn enter_and_leave(touched: &Touched, me: u32) {
    // SAFETY: as above.
    unsafe {
        enter_all(touched, me);
        leave_all(touched, me);
    }
}

/// Before a sync operation on an object; `what` is its kind, and the size of the object above.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_before(what: u32, object: u64, _other: u64, site: u32) {
    let (kind, class) = (what & 0xff, what >> 8);
    // SAFETY: the program passes a site of its table.
    unsafe {
        if (*state()).map.is_null() {
            return;
        }
        let me = me();
        if !matches!(kind, AROUND | GIVES | TRIES) {
            waits_at(me, (*(*state()).sites.add(site as usize)).place + 1);
        }
        let mut touched = Touched::none();
        if object != 0 {
            resolve(&mut touched, object, 1, class, site);
        }
        match kind {
            AROUND | TRIES => enter_all(&touched, me),
            GIVES if !gives(object) => enter_all(&touched, me),
            WAIT => enter_and_leave(&touched, me),
            BARRIER => {
                gives(object);
                enter_and_leave(&touched, me);
            }
            _ => {}
        }
    }
}

/// After it.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_after(what: u32, object: u64, other: u64, site: u32, result: c_int) {
    let (kind, class) = (what & 0xff, what >> 8);
    // SAFETY: as above.
    unsafe {
        if (*state()).map.is_null() {
            return;
        }
        let me = me();
        if !matches!(kind, AROUND | GIVES | TRIES) {
            waits_at(me, 0);
        }
        let mut touched = Touched::none();
        if object != 0 {
            resolve(&mut touched, object, 1, class, site);
        }
        match kind {
            AROUND | GIVES => leave_all(&touched, me),
            TRIES => {
                leave_all(&touched, me);
                takes(object, &touched);
            }
            AFTER if result != 0 && result != sys::EOWNERDEAD => {}
            AFTER if class == MUTEX_BYTES && taken_again(object) => {}
            AFTER => enter_and_leave(&touched, me),
            TAKES if result == 0 => {
                enter_and_leave(&touched, me);
                takes(object, &touched);
            }
            WAIT => {
                // Who wakes has the mutex again.
                if other >= (*state()).low && other < (*state()).high {
                    by_global(&mut touched, other, 1, MUTEX_BYTES);
                }
                enter_and_leave(&touched, me);
            }
            BARRIER => {
                enter_and_leave(&touched, me);
                takes(object, &touched);
            }
            _ => {}
        }
    }
}

/// A recursive mutex that this thread had already: as glibc has it, the count is the second word and the kind the fifth.
unsafe fn taken_again(mutex: u64) -> bool {
    const RECURSIVE: u32 = 1;
    let words = mutex as *const u32;
    // SAFETY: the thread has just locked it.
    unsafe { *words.add(4) & 3 == RECURSIVE && *words.add(1) > 1 }
}

/// A program that was built for a profile tells what it has. Runs before its constructors.
///
/// # Safety
/// The table and all that it refers to are the program's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __unravel_av_register(table: *const Table) {
    let chosen = process::variable(c"UNRAVEL_ELEMENTS");
    // SAFETY: by contract. Nobody else runs yet.
    unsafe {
        let state = state();
        let table = &*table;
        if !file::recording() || chosen.is_null() || !(*state).map.is_null() {
            return;
        }
        let count = table.elements as usize;
        if count > vectors::MOST_ELEMENTS || !take_ranges(table) {
            return sys::say(c"unravel: too many elements; none is logged\n".as_ptr());
        }
        (*state).sites = table.site_table;
        (*state).lists = table.lists;
        let slots = each_chosen(chosen, table, |_, _| {});
        let Some((file, map)) = file::beside(vectors::VECTORS + u64::from(slots) * vectors::VECTOR)
        else {
            return sys::say(c"unravel: there is no room for access vectors\n".as_ptr());
        };
        (*state).file = file;
        (*state).map = map;
        let header = map.cast::<Header>();
        let entries = map.add(vectors::ELEMENT_TABLE as usize).cast::<ElementEntry>();
        each_chosen(chosen, table, |number, slot| {
            let start = map.add((vectors::VECTORS + u64::from(slot) * vectors::VECTOR) as usize);
            let own = element(number as u32);
            (*own).entry = entries.add(number);
            (*own).end = start.cast();
            (*own).last = start.add(vectors::VECTOR as usize).cast();
            (*(*own).entry).slot = slot + 1;
            match grow(own) {
                true => (*own).at = start.cast(),
                false => lose(own),
            }
        });
        (*state).table = table;
        (*header).version = vectors::VERSION;
        (*header).elements = count as u32;
        (*header).build = table.build;
        (&raw mut (*header).magic).write_volatile(vectors::MAGIC);
    }
}

/// The first thread that is created: from here on, data is logged.
pub fn threads_begin() {
    // SAFETY: only one thread lives; the tables are the program's own.
    unsafe {
        let state = state();
        if (*state).shared || (*state).map.is_null() {
            return;
        }
        (*state).shared = true;
        let table = &*(*state).table;
        let mut site = 0;
        while site < table.sites as usize {
            table.flags.add(site).write(u8::from(logs(table, site)));
            site += 1;
        }
    }
}

/// Whether any element that a site may touch is logged.
unsafe fn logs(table: &Table, site: usize) -> bool {
    // SAFETY: the table is the program's own.
    unsafe {
        let entry = &*table.site_table.add(site);
        let mut at = 0;
        while at < entry.count {
            if !(*element(*table.lists.add((entry.first + at) as usize))).at.is_null() {
                return true;
            }
            at += 1;
        }
        if entry.kind != vectors::SITE_BY_ADDRESS {
            return false;
        }
        let mut at = 0;
        while at < (*state()).range_count {
            let range = &*(*state()).ranges.add(at);
            let named = range.class == 0;
            if named && !(*element(range.element)).at.is_null() {
                return true;
            }
            at += 1;
        }
        false
    }
}

/// Calls with each element that is asked for and can be logged, and with how many there were before it. Returns how many there are.
/// `all`, or numbers with commas between them.
unsafe fn each_chosen(
    text: *const core::ffi::c_char,
    table: &Table,
    mut act: impl FnMut(usize, u32),
) -> u32 {
    // SAFETY: the text ends with a zero; `logged` has an entry for each element.
    unsafe {
        let all = sys::strncmp(text, c"all".as_ptr(), 4) == 0;
        let mut slots = 0;
        let mut number = 0;
        while number < table.elements as usize {
            if *table.logged.add(number) != 0 && (all || is_listed(text, number as u64)) {
                act(number, slots);
                slots += 1;
            }
            number += 1;
        }
        slots
    }
}

unsafe fn is_listed(text: *const core::ffi::c_char, wanted: u64) -> bool {
    let mut at = text;
    // SAFETY: the text ends with a zero.
    unsafe {
        loop {
            let mut end = core::ptr::null_mut();
            let number = sys::strtoul(at, &mut end, 10);
            if !core::ptr::eq(end, at) && number == wanted {
                return true;
            }
            if *end as u8 != b',' {
                return false;
            }
            at = end.add(1);
        }
    }
}

/// Sorts the ranges, by class and start.
unsafe fn take_ranges(table: &Table) -> bool {
    let count = table.ranges as usize;
    let ranges = sys::pages(count * size_of::<Range>() + 1).cast::<Range>();
    if ranges.is_null() {
        return false;
    }
    // SAFETY: both have that many.
    unsafe {
        sys::memcpy(ranges.cast(), table.range_table.cast(), count * size_of::<Range>());
        let key = |at: usize| ((*ranges.add(at)).class, (*ranges.add(at)).start);
        // Shell's sort: no recursion, no memory.
        let mut gap = count / 2;
        while gap > 0 {
            for from in gap..count {
                let mut at = from;
                while at >= gap && key(at - gap) > key(at) {
                    core::ptr::swap(ranges.add(at - gap), ranges.add(at));
                    at -= gap;
                }
            }
            gap /= 2;
        }
        let state = state();
        (*state).ranges = ranges;
        (*state).range_count = count;
        (*state).low = u64::MAX;
        for at in 0..count {
            let range = &*ranges.add(at);
            if range.start < (*state).low {
                (*state).low = range.start;
            }
            if range.end > (*state).high {
                (*state).high = range.end;
            }
        }
    }
    true
}

/// The child of a fork logs nothing: the vectors are its parent's.
pub fn forget() {
    // SAFETY: the child has one thread.
    unsafe {
        for number in 0..vectors::MOST_ELEMENTS as u32 {
            (*element(number)).at = core::ptr::null_mut();
            (*element(number)).entry = core::ptr::null_mut();
        }
        (*state()).map = core::ptr::null_mut();
        (*state()).shared = false;
    }
}
