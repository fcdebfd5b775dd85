//! Sync records: kinds by their numbers in the log, and names for objects, whose addresses are nobody's business.

use std::collections::HashMap;

use crate::layout;
use crate::log::{Object, SyncKind};

pub fn sync_kind(number: u8) -> Option<SyncKind> {
    Some(match number {
        layout::SYNC_CREATE => SyncKind::Create,
        layout::SYNC_JOIN => SyncKind::Join,
        layout::SYNC_BEGIN => SyncKind::Begin,
        layout::SYNC_EXIT => SyncKind::Exit,
        layout::SYNC_LOCK => SyncKind::Lock,
        layout::SYNC_LOCK_SHARED => SyncKind::LockShared,
        layout::SYNC_TRY_LOCK => SyncKind::TryLock { acquired: true },
        layout::SYNC_TRY_LOCK_FAILED => SyncKind::TryLock { acquired: false },
        layout::SYNC_TRY_LOCK_SHARED => SyncKind::TryLockShared { acquired: true },
        layout::SYNC_TRY_LOCK_SHARED_FAILED => SyncKind::TryLockShared { acquired: false },
        layout::SYNC_UNLOCK => SyncKind::Unlock,
        layout::SYNC_WAIT => SyncKind::Wait,
        layout::SYNC_WAKE => SyncKind::Wake { timed_out: false },
        layout::SYNC_WAKE_TIMED_OUT => SyncKind::Wake { timed_out: true },
        layout::SYNC_SIGNAL => SyncKind::Signal,
        layout::SYNC_BROADCAST => SyncKind::Broadcast,
        layout::SYNC_SEM_WAIT => SyncKind::SemWait,
        layout::SYNC_SEM_TRY_WAIT => SyncKind::SemTryWait { acquired: true },
        layout::SYNC_SEM_TRY_WAIT_FAILED => SyncKind::SemTryWait { acquired: false },
        layout::SYNC_SEM_POST => SyncKind::SemPost,
        layout::SYNC_BARRIER_ARRIVE => SyncKind::BarrierArrive,
        layout::SYNC_BARRIER_LEAVE => SyncKind::BarrierLeave,
        layout::SYNC_ONCE => SyncKind::Once,
        layout::SYNC_ONCE_DONE => SyncKind::OnceDone,
        _ => return None,
    })
}

/// Numbers for objects, in the order in which they first appear. Threads are their own numbers.
#[derive(Debug, Default)]
pub struct Objects(HashMap<u64, u64>);

impl Objects {
    pub fn name(&mut self, kind: SyncKind, address: u64) -> Object {
        if matches!(kind, SyncKind::Create | SyncKind::Join | SyncKind::Begin | SyncKind::Exit) {
            return Object(address);
        }
        let next = self.0.len() as u64;
        Object(*self.0.entry(address).or_insert(next))
    }
}
