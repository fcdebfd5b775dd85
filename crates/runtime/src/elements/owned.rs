//! Who may write an element's vector now: its *owner* without any lock, or, of an element that threads share just now, whoever has its lock.
//!
//! A thread that comes to an element again and again becomes its owner. It then says in a word of its own (its *hazard*) that it is at the element, looks
//! whether it still owns it, counts its entry up, accesses, and clears the word: plain stores, in line in the program. Who else comes takes the
//! ownership away: it writes that down, has the kernel put a barrier into every running thread (`membarrier`), and waits until the owner's
//! hazard is another. After the barrier either the owner sees that it owns nothing any more, or its hazard is seen here: so the two are
//! never at the element together (the biased locks of virtual machines are made so). How soon an element gets an owner again depends
//! on what the last ownership was good for: an element that threads hand to and fro stays with its lock.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};

use super::{MORE, NOBODY, Slot, element_is_lost, lose, slot, state};
use crate::sys;
use crate::vectors::{self, Element};

/// How long one waits for an element before it is given up, in turns given to others.
const PATIENCE: u32 = 1 << 20;
/// Somebody takes the ownership away.
const REVOKING: *mut Slot = core::ptr::dangling_mut();
/// Accesses of one thread on end that make it the owner: at first, and at most.
pub const FEWEST: u32 = 16;
const MOST: u32 = 1 << 16;
/// Accesses by an owner that are worth the barrier.
const WORTH_IT: u64 = 2000;

fn owner_of(element: *mut Element) -> &'static AtomicPtr<Slot> {
    // SAFETY: elements live as long as the process; the field is only used by atomic operations and by loads of the program.
    unsafe { AtomicPtr::from_ptr((&raw mut (*element).owner).cast::<*mut Slot>()) }
}

fn lock_of(element: *mut Element) -> &'static AtomicU64 {
    // SAFETY: as above.
    unsafe { AtomicU64::from_ptr(&raw mut (*element).lock) }
}

fn hazard_of(slot: *mut Slot) -> &'static AtomicU64 {
    // SAFETY: slots live as long as the process.
    unsafe { AtomicU64::from_ptr(&raw mut (*slot).hazard) }
}

/// One of the other words.
fn more_of(slot: *mut Slot, at: usize) -> &'static AtomicU64 {
    // SAFETY: as above; the position is below the list's length.
    unsafe { AtomicU64::from_ptr((&raw mut (*slot).more).cast::<u64>().add(at & (MORE - 1))) }
}

/// Which of them has this value; [`MORE`] if none.
fn find_more(slot: *mut Slot, value: u64) -> usize {
    let mut at = 0;
    while at < MORE && more_of(slot, at).load(Ordering::Acquire) != value {
        at += 1;
    }
    at
}

/// Whether the thread is at the element as its owner.
fn is_at(slot: *mut Slot, element: *mut Element) -> bool {
    let address = element as u64;
    hazard_of(slot).load(Ordering::Acquire) == address || find_more(slot, address) < MORE
}

/// Begins an access of which the program's own code knows that it is no plain one: the thread is not the owner, or its entry is full. Returns
/// what has to be cleared when the access is done; null if there is nothing to log.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_enter(element: *mut Element) -> *mut u64 {
    let me = slot();
    let hazard = hazard_of(me);
    // SAFETY: the element is one of the table.
    unsafe {
        if (*me).number == NOBODY {
            hazard.store(0, Ordering::Release);
            lose(element);
            return core::ptr::null_mut();
        }
        let mut turns = 0;
        loop {
            let owner = owner_of(element).load(Ordering::Acquire);
            if element_is_lost(element) {
                hazard.store(0, Ordering::Release);
                return core::ptr::null_mut();
            }
            if owner == me {
                hazard.store(element as u64, Ordering::Relaxed);
                compiler_fence(Ordering::SeqCst);
                if owner_of(element).load(Ordering::Acquire) == me {
                    append(element, me);
                    return &raw mut (*me).hazard;
                }
                continue;
            }
            hazard.store(0, Ordering::Release);
            if owner.is_null() {
                if !take(element, me) {
                    return core::ptr::null_mut();
                }
                if !owner_of(element).load(Ordering::Acquire).is_null() {
                    lock_of(element).store(0, Ordering::Release);
                    continue;
                }
                return with_lock(element, me);
            }
            if !take_away(element, owner, &mut turns) {
                return core::ptr::null_mut();
            }
        }
    }
}

/// The thread has the lock, and nobody owns the element: its entry, and perhaps it becomes the owner.
#[inline(always)]
unsafe fn with_lock(element: *mut Element, me: *mut Slot) -> *mut u64 {
    // SAFETY: whoever has the lock has all of the element.
    unsafe {
        let again = append(element, me);
        (*element).streak = if again { (*element).streak + 1 } else { 0 };
        if (*element).streak >= (*element).threshold && (*state()).barriers {
            (*element).streak = 0;
            (*element).owned_from = (*element).at;
            hazard_of(me).store(element as u64, Ordering::Relaxed);
            owner_of(element).store(me, Ordering::Release);
            lock_of(element).store(0, Ordering::Release);
            return &raw mut (*me).hazard;
        }
        &raw mut (*element).lock
    }
}

/// The same while the thread is at another element already, which it was interrupted at: by its lock.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_nested(element: *mut Element) -> *mut u64 {
    let me = slot();
    // SAFETY: as above.
    unsafe {
        if (*me).number == NOBODY || is_at(me, element) {
            lose(element);
        } else if lock(element, me) {
            append(element, me);
            return &raw mut (*element).lock;
        }
    }
    core::ptr::null_mut()
}

/// Begins an access to one of several elements: as its owner if the thread is that, else with its lock. False if it is not logged.
pub unsafe fn hold(element: *mut Element, me: *mut Slot) -> bool {
    // SAFETY: as above.
    unsafe {
        if owner_of(element).load(Ordering::Acquire) == me && !is_at(me, element) {
            let free = find_more(me, 0);
            if free < MORE {
                more_of(me, free).store(element as u64, Ordering::Relaxed);
                compiler_fence(Ordering::SeqCst);
                if owner_of(element).load(Ordering::Acquire) == me {
                    return true;
                }
                more_of(me, free).store(0, Ordering::Release);
            }
        }
        lock(element, me)
    }
}

/// Whether the thread holds it.
pub unsafe fn holds(element: *mut Element, me: *mut Slot) -> bool {
    // SAFETY: as above.
    unsafe { has_lock(element, me) || find_more(me, element as u64) < MORE }
}

/// Ends an access that [`hold`] began, if it did.
pub unsafe fn release(element: *mut Element, me: *mut Slot) {
    let own = find_more(me, element as u64);
    // SAFETY: as above.
    unsafe {
        if own < MORE {
            more_of(me, own).store(0, Ordering::Release);
        } else if has_lock(element, me) {
            lock_of(element).store(0, Ordering::Release);
        }
    }
}

/// Takes the lock of an element that nobody owns then; false if it is not logged.
unsafe fn lock(element: *mut Element, me: *mut Slot) -> bool {
    // SAFETY: as above.
    unsafe {
        if (*me).number == NOBODY {
            lose(element);
            return false;
        }
        let mut turns = 0;
        loop {
            let owner = owner_of(element).load(Ordering::Acquire);
            if element_is_lost(element) {
                return false;
            }
            if owner.is_null() {
                if !take(element, me) {
                    return false;
                }
                if owner_of(element).load(Ordering::Acquire).is_null() {
                    return true;
                }
                lock_of(element).store(0, Ordering::Release);
            } else if owner == me {
                if is_at(me, element) {
                    lose(element);
                    return false;
                }
                let none = core::ptr::null_mut();
                let _ = owner_of(element).compare_exchange(
                    me,
                    none,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
            } else if !take_away(element, owner, &mut turns) {
                return false;
            }
        }
    }
}

unsafe fn has_lock(element: *mut Element, me: *mut Slot) -> bool {
    // SAFETY: as above.
    unsafe { lock_of(element).load(Ordering::Relaxed) == u64::from((*me).number) + 1 }
}

#[inline(always)]
unsafe fn take(element: *mut Element, me: *mut Slot) -> bool {
    // SAFETY: as above.
    let own = unsafe { u64::from((*me).number) + 1 };
    let taken = lock_of(element).compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed);
    // SAFETY: as above.
    taken.is_ok() || unsafe { take_slowly(element, own) }
}

#[cold]
#[inline(never)]
unsafe fn take_slowly(element: *mut Element, own: u64) -> bool {
    let lock = lock_of(element);
    // SAFETY: as above.
    unsafe {
        // A signal handler that meets the access it interrupted.
        if lock.load(Ordering::Relaxed) == own {
            lose(element);
            return false;
        }
        let mut turns = 0;
        loop {
            for _ in 0..64 {
                let free = lock.load(Ordering::Relaxed) == 0;
                let taken =
                    || lock.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_ok();
                if free && taken() {
                    return true;
                }
                core::hint::spin_loop();
            }
            if !wait(element, &mut turns) {
                return false;
            }
        }
    }
}

/// Gives a turn to others; false if the element is not logged any more, or was waited for too long.
unsafe fn wait(element: *mut Element, turns: &mut u32) -> bool {
    // SAFETY: as above.
    unsafe {
        sys::sched_yield();
        *turns += 1;
        if *turns > PATIENCE {
            lose(element);
        }
        !element_is_lost(element)
    }
}

/// Takes the ownership away from another thread, or waits while somebody else does; false if the element is not logged any more.
#[cold]
#[inline(never)]
unsafe fn take_away(element: *mut Element, owner: *mut Slot, turns: &mut u32) -> bool {
    let word = owner_of(element);
    // SAFETY: as above; slots of threads that are gone are there still, and their hazards are clear.
    unsafe {
        let mine = owner != REVOKING
            && word.compare_exchange(owner, REVOKING, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if !mine {
            return wait(element, turns);
        }
        if !sys::barrier_in_all_threads() {
            lose(element);
            return false;
        }
        let mut spins = 0u32;
        while is_at(owner, element) {
            spins += 1;
            if spins & 63 != 0 {
                core::hint::spin_loop();
            } else if !wait(element, turns) {
                return false;
            }
        }
        let entries = ((*element).at as u64).wrapping_sub((*element).owned_from as u64) / 4;
        let counted = u64::from(*(*element).at & vectors::ENTRY_MOST);
        let accesses = entries.wrapping_mul(u64::from(vectors::ENTRY_MOST)).wrapping_add(counted);
        let threshold = (*element).threshold;
        (*element).threshold = match accesses > WORTH_IT {
            true => FEWEST,
            false if threshold < MOST => threshold * 2,
            false => MOST,
        };
        word.store(core::ptr::null_mut(), Ordering::Release);
        true
    }
}

/// Writes one access of this thread, which has the element. True if the one before was its own, too.
#[inline(always)]
pub unsafe fn append(element: *mut Element, me: *mut Slot) -> bool {
    // SAFETY: whoever has the element owns the vector; room ends at `end`.
    unsafe {
        let at = (&raw const (*element).at).read_volatile();
        let now = at.read_volatile();
        let own = ((*me).number + 1) << vectors::ENTRY_SHIFT;
        let again = now & !vectors::ENTRY_MOST == own;
        if again && now & vectors::ENTRY_MOST != vectors::ENTRY_MOST {
            at.write_volatile(now + 1);
            return true;
        }
        if element_is_lost(element) {
            return false;
        }
        let next = if now == 0 { at } else { at.add(1) };
        if next >= (*element).end && !grow(element) {
            lose(element);
            return false;
        }
        next.write_volatile(own | 1);
        (&raw mut (*element).at).write_volatile(next);
        again
    }
}

/// Room for more entries. A page of a file that has no place on the disk would kill the program when it is written.
#[cold]
#[inline(never)]
pub unsafe fn grow(element: *mut Element) -> bool {
    // SAFETY: the vector is mapped whole.
    unsafe {
        let map = (*state()).map as u64;
        let slot = u64::from((*(*element).entry).slot - 1);
        let last = map + vectors::VECTORS + slot * vectors::STRIDE + vectors::VECTOR;
        if (*element).end as u64 >= last {
            return false;
        }
        let offset = (*element).end as u64 - map;
        let step = vectors::STEP as usize;
        if sys::posix_fallocate((*state()).file, offset as i64, step as i64) != 0 {
            return false;
        }
        (*element).end = (*element).end.byte_add(step);
        true
    }
}
