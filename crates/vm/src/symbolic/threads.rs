//! What a thread is started with and what it returns. The argument passes with the fork; the result passes
//! through a cell of its own, which `exit` writes and `join` reads.

use unravel_trace::{ExprId, ThreadId, result_cell};

use super::Recorded;
use crate::machine::Machine;

const RESULT_BYTES: u8 = 8;

impl Machine {
    /// A thread was created with an argument.
    pub fn shadow_start(&mut self, child: ThreadId, argument: Option<ExprId>) {
        if self.concolic.is_on() {
            self.concolic.thread(child.index()).argument = argument;
        }
    }

    /// The thread's function has returned.
    pub fn shadow_thread_returned(&mut self) {
        let returned = self.concolic.returned[0];
        self.shadow_thread_result(returned);
    }

    pub fn shadow_thread_result(&mut self, result: Option<ExprId>) {
        if self.concolic.is_on() {
            let current = self.current;
            self.concolic.thread(current).exit = result;
        }
    }

    /// The thread is about to exit.
    pub fn shadow_exit(&mut self) {
        let thread = self.current;
        if !self.concolic.is_on() {
            return;
        }
        let Some(result) = self.concolic.thread(thread).exit else { return };
        let event = self.recorder.events() as u32;
        let address = result_cell(ThreadId(thread as u32));
        let concolic = &mut self.concolic;
        (0..u64::from(RESULT_BYTES)).for_each(|i| {
            concolic.initial.insert(address + i, 0);
        });
        let value = concolic.graph.resize(result, 8 * RESULT_BYTES);
        let bytes = RESULT_BYTES;
        let write = Recorded { event, thread, write: true, address, bytes, value, memory: value };
        concolic.accesses.push(write);
    }

    /// The thread was joined, and its result stored.
    pub fn shadow_join(&mut self, child: usize, result_at: u64) {
        if !self.concolic.is_on() {
            return;
        }
        let Some(result) = self.concolic.thread(child).exit else { return };
        let (event, thread) = (self.recorder.events() as u32, self.current);
        let address = result_cell(ThreadId(child as u32));
        let concolic = &mut self.concolic;
        let memory = concolic.graph.resize(result, 8 * RESULT_BYTES);
        let value = concolic.graph.value(memory);
        let symbol = concolic.accesses.len() as u32;
        let value = concolic.graph.symbol(symbol, 8 * RESULT_BYTES, value, thread);
        let bytes = RESULT_BYTES;
        concolic.accesses.push(Recorded {
            event,
            thread,
            write: false,
            address,
            bytes,
            value,
            memory,
        });
        let stored = concolic.graph.bytes(value, usize::from(bytes));
        concolic.memory.store(result_at, &stored);
    }

    /// The same where joining stores only a part of the result.
    pub fn shadow_pass_result(&mut self, child: usize, at: u64, bytes: usize) {
        if self.concolic.is_on()
            && let Some(result) = self.concolic.thread(child).exit
        {
            let result = self.concolic.graph.resize(result, 8 * RESULT_BYTES);
            let stored = self.concolic.graph.bytes(result, bytes);
            self.concolic.memory.store(at, &stored);
        }
    }
}
