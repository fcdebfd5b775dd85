//! The handle by which everything reaches the machine's state, and its owner.
//!
//! Why this is sound is said at the head of [`crate::machine`].

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::machine::State;

/// The machine, as the code on one native stack sees it. Each fiber has a handle of its own, all to the same
/// state. A borrow of the state is a borrow of the handle, and whatever may let another fiber run takes
/// `&mut Machine`: so the compiler sees to it that no borrow of the state is alive then.
pub(crate) struct Machine {
    state: NonNull<State>,
}

impl Machine {
    /// # Safety
    /// The state was given away by [`OwnedMachine::of`] and lives as long as the handle is used. Whoever has another
    /// handle holds no borrow of the state while this one is used: it is suspended, or in a native call.
    #[inline]
    pub unsafe fn of(state: NonNull<State>) -> Machine {
        Machine { state }
    }

    /// For other handles, and for the interpreter's loop.
    #[inline(always)]
    pub fn state(&self) -> NonNull<State> {
        self.state
    }
}

impl Deref for Machine {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: the state is alive, and nobody else borrows it, as `of` was promised. This borrow lasts no
        // longer than that of the handle.
        unsafe { self.state.as_ref() }
    }
}

impl DerefMut for Machine {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: as above.
        unsafe { self.state.as_mut() }
    }
}

/// Who made the state, and frees it. It is no `Box`, which would claim to be the only way to what it owns.
pub(crate) struct OwnedMachine(Machine);

impl OwnedMachine {
    pub fn of(state: State) -> OwnedMachine {
        let state = NonNull::from(Box::leak(Box::new(state)));
        // SAFETY: just given away; this is the first handle.
        OwnedMachine(unsafe { Machine::of(state) })
    }
}

impl Deref for OwnedMachine {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.0
    }
}

impl DerefMut for OwnedMachine {
    fn deref_mut(&mut self) -> &mut Machine {
        &mut self.0
    }
}

impl Drop for OwnedMachine {
    fn drop(&mut self) {
        self.0.tear_down();
        // SAFETY: from `of`. The other handles stood on the stacks just abandoned; the guard forgets its own
        // when the state gives its claim back.
        drop(unsafe { Box::from_raw(self.0.state.as_ptr()) });
    }
}
