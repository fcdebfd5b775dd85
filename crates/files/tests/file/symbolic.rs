//! Arbitrary symbolic parts that fit a trace, and one fixed sample.

use unravel_trace::*;

/// For the trace of [`crate::arbitrary::sample`]: the two increments, and what must hold of them.
pub fn sample() -> Symbolic {
    let mut exprs = Exprs::default();
    let read = exprs.symbol(SymbolId(0), 32);
    let one = exprs.constant(1, 32);
    let more = exprs.binary(BinaryOp::Add, read, one);
    let wide = exprs.sign_extend(more, 72);
    let holds = exprs.compare(CompareOp::Slt, read, one);
    let fails = exprs.not(holds);
    let access = |bytes, value| Access { address: 0x1000, bytes, value };
    let shadow = |first, reads, writes| Shadow { first, reads, writes };
    let step = |thread, first, events| Step { thread: ThreadId(thread), first, events };
    let sync = |state| InitialSync { at: LocationId(0), state };
    Symbolic {
        exprs,
        shadows: vec![
            Shadow::default(),
            shadow(0, 1, 0),
            shadow(1, 0, 1),
            shadow(2, 0, 1),
            shadow(3, 0, 0),
        ],
        accesses: vec![access(4, read), access(4, more), access(9, wide)],
        steps: vec![step(0, 0, 1), step(1, 1, 1), step(0, 2, 1), step(1, 3, 1), step(0, 4, 1)],
        conditions: vec![Condition {
            thread: ThreadId(1),
            after: 1,
            holds,
            site: SiteId(12),
            why: ConditionKind::Branch,
            otherwise: Otherwise::Turns(3),
        }],
        parted_at: Some(SiteId(12)),
        initial: vec![
            Initial { address: 0x1000, bytes: 4, value: Some(7) },
            Initial { address: 0x1004, bytes: 5, value: None },
        ],
        inputs: vec![InputCell {
            address: SYNTHETIC | 1,
            bytes: 4,
            what: InputSource::Nondet { thread: ThreadName::main(), index: 0 },
            value: 5,
        }],
        sync: vec![
            sync(SyncState::Semaphore(3)),
            sync(SyncState::Barrier(2)),
            sync(SyncState::Held { by: ThreadId(1), shared: false }),
            sync(SyncState::Done),
        ],
        bug: Bug::Condition { thread: ThreadId(0), after: 4, fails },
        order: KnownOrder::Observed,
    }
}

/// Every way to be a bug, to be waited for, and to be a condition.
pub fn every_bug() -> (Vec<Bug>, [ConditionKind; 4], KnownOrder) {
    let (at, mutex, thread) = (LocationId(1), LocationId(2), ThreadId(3));
    let wants = [
        Wants::Lock { at, shared: true },
        Wants::Wake { at, mutex },
        Wants::Semaphore { at },
        Wants::Barrier { at },
        Wants::Once { at },
        Wants::Join { child: thread },
        Wants::Other,
    ];
    let requests = wants.map(|wants| Request { thread, site: SiteId(4), wants }).into();
    let bugs = vec![
        Bug::None,
        Bug::Condition { thread, after: 5, fails: ExprId(6) },
        Bug::Deadlock { requests },
        Bug::Reached { thread, after: 7 },
        Bug::Opaque,
    ];
    use ConditionKind::*;
    (bugs, [Branch, Address, Fixed, Alive], KnownOrder::Unknown)
}

/// Something for this trace, decided by the seed.
pub fn symbolic(trace: &Trace, seed: u64) -> Symbolic {
    let mut make = Make { rng: Rng::new(seed), trace, out: Symbolic::default() };
    make.events();
    make.steps();
    make.conditions();
    make.initial();
    make.sync();
    make.bug();
    make.out.parted_at = (make.rng.below(3) == 0).then_some(SiteId(3));
    if make.rng.below(2) == 0 {
        make.out.order = KnownOrder::Unknown;
    }
    make.out
}

struct Make<'a> {
    rng: Rng,
    trace: &'a Trace,
    out: Symbolic,
}

impl Make<'_> {
    /// The accesses of each event, with expressions over what was read before.
    fn events(&mut self) {
        for _ in &self.trace.events {
            let (reads, writes) = (self.rng.below(3), self.rng.below(2));
            let first = self.out.accesses.len() as u32;
            self.out.shadows.push(Shadow { first, reads, writes });
            for nth in 0..reads + writes {
                let bytes = 1 + self.rng.below(16) as u8;
                let value = if nth < reads {
                    let own = SymbolId(self.out.accesses.len() as u32);
                    self.out.exprs.symbol(own, 8 * bytes)
                } else {
                    self.expression(8 * bytes, 3)
                };
                let address = self.rng.word() >> self.rng.below(56).max(1);
                self.out.accesses.push(Access { address, bytes, value });
            }
        }
    }

    fn number(&mut self) -> u128 {
        let word = u128::from(self.rng.word()) << 64 | u128::from(self.rng.word());
        word >> self.rng.below(128)
    }

    fn expression(&mut self, bits: u8, depth: u32) -> ExprId {
        let choice = if depth == 0 { 0 } else { self.rng.below(9) };
        let (a, b) = match choice {
            0..=2 => return self.leaf(bits),
            3 if bits == 1 => {
                let width = 1 + self.rng.below(128) as u8;
                (self.expression(width, depth - 1), self.expression(width, depth - 1))
            }
            _ => (self.expression(bits, depth - 1), self.expression(bits, depth - 1)),
        };
        let all = [CompareOp::Eq, CompareOp::Ult, CompareOp::Ule, CompareOp::Slt, CompareOp::Sle];
        let compare = *self.rng.pick(&all);
        use BinaryOp::*;
        let all = [Add, Sub, Mul, UDiv, SDiv, URem, SRem, And, Or, Xor, Shl, LShr, AShr];
        let binary = *self.rng.pick(&all);
        let float = *self.rng.pick(&[FloatOp::Add, FloatOp::Div, FloatOp::Rem]);
        match choice {
            3 if bits == 1 => self.out.exprs.compare(compare, a, b),
            3 if bits == 32 || bits == 64 => self.out.exprs.float(float, a, b),
            4 => {
                let condition = self.expression(1, depth - 1);
                self.out.exprs.ite(condition, a, b)
            }
            _ => self.out.exprs.binary(binary, a, b),
        }
    }

    /// A constant, or a read that is made to fit.
    fn leaf(&mut self, bits: u8) -> ExprId {
        let reads: Vec<ExprId> = self
            .out
            .accesses
            .iter()
            .map(|access| access.value)
            .filter(|id| matches!(self.out.exprs.node(*id), Node::Symbol(_)))
            .collect();
        if reads.is_empty() || self.rng.below(3) == 0 {
            let value = self.number();
            return self.out.exprs.constant(value, bits);
        }
        let read = *self.rng.pick(&reads);
        let wide = self.out.exprs.bits(read);
        if wide >= bits {
            let low = self.rng.below(u32::from(wide - bits) + 1) as u8;
            return self.out.exprs.extract(read, low, bits);
        }
        match self.rng.below(3) {
            0 => self.out.exprs.zero_extend(read, bits),
            1 => self.out.exprs.sign_extend(read, bits),
            _ => {
                let rest = self.expression(bits - wide, 0);
                self.out.exprs.concat(rest, read)
            }
        }
    }

    /// Runs of events of one thread, cut anywhere, with points that leave no event between them.
    fn steps(&mut self) {
        let events = &self.trace.events;
        let mut first = 0;
        while first < events.len() {
            let thread = events[first].thread;
            if self.rng.below(5) == 0 {
                self.out.steps.push(Step { thread, first: first as u32, events: 0 });
            }
            let run = events[first..].iter().take_while(|e| e.thread == thread).count();
            let length = 1 + self.rng.below(run as u32);
            self.out.steps.push(Step { thread, first: first as u32, events: length });
            first += length as usize;
        }
    }

    /// An event, and whose it is.
    fn event(&mut self) -> Option<(ThreadId, u32)> {
        let events = &self.trace.events;
        let after = self.rng.below(events.len().max(1) as u32);
        events.get(after as usize).map(|event| (event.thread, after))
    }

    fn conditions(&mut self) {
        for _ in 0..self.rng.below(4) {
            let Some((thread, after)) = self.event() else { return };
            let holds = self.expression(1, 3);
            let site = self.trace.events[after as usize].site;
            use ConditionKind::*;
            let why = *self.rng.pick(&[Branch, Address, Fixed, Alive]);
            self.out.conditions.push(Condition {
                thread,
                after,
                holds,
                site,
                why,
                otherwise: Otherwise::Unknown,
            });
        }
    }

    fn initial(&mut self) {
        let mut address = 0;
        for _ in 0..self.rng.below(4) {
            address += u64::from(self.rng.below(1000));
            let bytes = 1 + self.rng.below(16) as u8;
            let value = (self.rng.below(3) > 0).then(|| self.number() & mask(8 * bytes));
            self.out.initial.push(Initial { address, bytes, value });
            address += u64::from(bytes);
        }
    }

    fn sync(&mut self) {
        for _ in 0..self.rng.below(3) {
            let at = LocationId(self.rng.below(self.trace.locations.len() as u32));
            let by = ThreadId(self.rng.below(self.trace.threads.len() as u32));
            let count = self.rng.below(u32::MAX);
            use SyncState::*;
            let all = [Semaphore(count), Barrier(count), Held { by, shared: true }, Done];
            let state = *self.rng.pick(&all);
            self.out.sync.push(InitialSync { at, state });
        }
    }

    fn bug(&mut self) {
        self.out.bug = match (self.rng.below(5), self.event()) {
            (0, _) => Bug::Opaque,
            (1, Some((thread, after))) => Bug::Reached { thread, after },
            (2, Some((thread, after))) => {
                Bug::Condition { thread, after, fails: self.expression(1, 3) }
            }
            (3, _) => Bug::Deadlock { requests: (0..3).map(|_| self.request()).collect() },
            _ => Bug::None,
        };
    }

    fn request(&mut self) -> Request {
        let threads = self.trace.threads.len() as u32;
        let locations = self.trace.locations.len() as u32;
        let [thread, child] = [0; 2].map(|_| ThreadId(self.rng.below(threads)));
        let [at, mutex] = [0; 2].map(|_| LocationId(self.rng.below(locations)));
        let wants = *self.rng.pick(&[
            Wants::Lock { at, shared: false },
            Wants::Wake { at, mutex },
            Wants::Semaphore { at },
            Wants::Barrier { at },
            Wants::Once { at },
            Wants::Join { child },
            Wants::Other,
        ]);
        Request { thread, site: SiteId(0), wants }
    }
}
