//! `pthread_barrier_*`: arrive, and leave once all have arrived.

use unravel_trace::{EventKind, Meeting, Op, Operand, SiteId};

use super::{Args, Family, Flow, OK, error};
use crate::machine::Machine;
use crate::sync::{DESTROYED, MAGIC, barrier};
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("pthread_barrier_init", init),
    ("pthread_barrier_destroy", destroy),
    ("pthread_barrier_wait", wait),
];

const BYTES: u64 = barrier::BYTES;
const USED: u64 = barrier::USED;

impl Machine {
    /// The meeting that a thread arrives for, if it does not look who is the last.
    pub(crate) fn meeting(&self, site: SiteId, address: u64) -> Operand {
        let access = self.program.accesses.get(site.index());
        if access.is_none_or(|access| !access.is_ignored) {
            return Operand::None;
        }
        let number = barrier::generation(address);
        let is_full = barrier::arrived(address) + 1 >= barrier::count(address);
        Operand::Meeting(Meeting { number, is_full })
    }

    /// All have arrived: whoever waits may leave from now on, whatever becomes of the barrier. Natively its end waits for them.
    fn let_all_leave(&mut self, address: u64, generation: u32) {
        for index in 0..self.thread_count {
            let thread = &mut self.threads[index];
            if !thread.ended && thread.need == Need::Barrier(address, generation) {
                thread.need = Need::Nothing;
            }
        }
    }

    fn check_barrier(&mut self, address: u64, site: SiteId) {
        self.check_sync(address, USED, true);
        match barrier::state(address) {
            MAGIC => {}
            DESTROYED => self.fail_destroyed(address, BYTES, site, "use of a destroyed barrier"),
            _ => {
                self.fail_sync(address, BYTES, site, "use of a barrier before pthread_barrier_init")
            }
        }
    }
}

fn init(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    let count = a.word(2) as u32;
    if count == 0 {
        return error(libc::EINVAL);
    }
    m.check_sync(address, USED, true);
    m.barrier_point(address, BYTES as u32, count, a.site());
    barrier::set_arrived(address, 0);
    barrier::set_generation(address, 0);
    barrier::set_count(address, count);
    barrier::set_state(address, MAGIC);
    m.made_progress();
    m.record_sync(a.site(), (address, BYTES), |at| EventKind::SyncInit { at, value: count });
    OK
}

fn destroy(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_barrier(address, a.site());
    m.point(Op::Release, address, BYTES as u32, a.site(), Need::Nothing);
    m.check_barrier(address, a.site());
    if barrier::arrived(address) != 0 {
        m.fail_sync(address, BYTES, a.site(), "destruction of a barrier that a thread waits at");
    }
    barrier::set_state(address, DESTROYED);
    m.made_progress();
    m.record_destroyed(a.site(), (address, BYTES));
    OK
}

fn wait(m: &mut Machine, a: Args) -> Flow {
    let address = a.word(0);
    m.check_barrier(address, a.site());
    m.point(Op::Wait, address, BYTES as u32, a.site(), Need::Nothing);
    m.check_barrier(address, a.site());
    let generation = barrier::generation(address);
    let arrived = barrier::arrived(address) + 1;
    let last = arrived >= barrier::count(address);
    if last {
        barrier::set_arrived(address, 0);
        barrier::set_generation(address, generation.wrapping_add(1));
        m.let_all_leave(address, generation);
    } else {
        barrier::set_arrived(address, arrived);
    }
    m.made_progress();
    m.record_sync(a.site(), (address, BYTES), |at| EventKind::BarrierArrive { at });
    m.leave_point(address, BYTES as u32, generation, a.site());
    m.record_sync(a.site(), (address, BYTES), |at| EventKind::BarrierLeave { at });
    // One thread is told that it is the last.
    if last { error(libc::PTHREAD_BARRIER_SERIAL_THREAD) } else { OK }
}
