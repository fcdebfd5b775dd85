//! The toy: an executor of tiny programs, whose threads are lists of acts over cells, locks, semaphores and condition
//! variables. For tests of what only needs *some* engine, and the smallest engine that owes all that the joint asks for.
//!
//! Its points are those of [`unravel_trace::is_point`], decided when a thread arrives at an act, as the machine does. Not
//! modelled: spurious wakes, timeouts while others could go on, yields, memory that comes and goes, inputs. It keeps no events
//! and no expressions of a run, leads nobody along paths and does not recognise busy waits, and says so.

mod act;
mod run;
mod sharing;
mod state;

use std::fmt;

use unravel_trace::*;

pub use act::Act;

/// A program: its threads, the first being `main`, and what its semaphores begin with.
#[derive(Clone)]
pub struct Toy {
    threads: Vec<Vec<Act>>,
    semaphores: Vec<u32>,
    /// What each thread's function is called.
    functions: Vec<&'static str>,
    sites: SiteTable,
}

impl Toy {
    pub fn new(threads: Vec<Vec<Act>>) -> Toy {
        let functions = vec!["toy"; threads.len()];
        Toy { threads, semaphores: Vec::new(), functions, sites: SiteTable::default() }.located()
    }

    /// A program whose `main` creates threads with these bodies, joins them all, and then does the rest.
    pub fn joined(bodies: Vec<Vec<Act>>, rest: Vec<Act>) -> Toy {
        let number = bodies.len();
        let joins = (1..=number).map(Act::Fork).chain((1..=number).map(Act::Join));
        let main = joins.chain(rest).collect();
        Toy::new(std::iter::once(main).chain(bodies).collect())
    }

    #[must_use]
    pub fn with_semaphores(mut self, semaphores: Vec<u32>) -> Toy {
        self.semaphores = semaphores;
        self
    }

    /// Names the functions of the threads; two of one function have the same name and different sites.
    #[must_use]
    pub fn in_functions(mut self, functions: &[&'static str]) -> Toy {
        self.functions = functions.to_vec();
        self.located()
    }

    /// Numbers the sites: of each thread its start, its acts and its end.
    fn located(mut self) -> Toy {
        let mut rows = Vec::new();
        for (thread, acts) in self.threads.iter().enumerate() {
            for position in 0..acts.len() + 2 {
                let access = position.checked_sub(1).and_then(|act| acts.get(act)?.cell());
                let place = Place {
                    file: format!("thread{thread}.c").into(),
                    function: self.functions[thread].into(),
                    line: position as u32 + 1,
                    column: 1,
                    wrapper: false,
                };
                let key = SiteKey {
                    module: "toy".into(),
                    function: format!("{}#{thread}", self.functions[thread]).into(),
                    position: position as u32,
                };
                rows.push(SiteRow {
                    site: Site { place, inlined_at: Vec::new(), key: Some(key) },
                    accesses: access.is_some(),
                    name: access.map(|cell| cell as u32),
                    global: false,
                });
            }
        }
        self.sites = SiteTable::new(rows, 0);
        self
    }

    /// Where this thread's act of this number is; that after the last is its end.
    fn site(&self, thread: usize, act: usize) -> SiteId {
        let before: usize = self.threads[..thread].iter().map(|acts| acts.len() + 2).sum();
        SiteId((before + 1 + act.min(self.threads[thread].len())) as u32)
    }

    /// Where this thread starts.
    fn start(&self, thread: usize) -> SiteId {
        SiteId(self.site(thread, 0).0 - 1)
    }

    fn place(&self, site: SiteId) -> Place {
        self.sites.get(site).expect("a site of this program").site.place.clone()
    }
}

/// What the program does; the table of sites follows from it.
impl fmt::Debug for Toy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Toy").field(&self.threads).field(&self.semaphores).finish()
    }
}

impl Executor for Toy {
    fn run(
        &mut self,
        job: &Job<'_>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Run, EngineError> {
        self.can().allow(job.want, seen.observes())?;
        run::run(self, job, by, seen)
    }

    fn name(&self) -> &'static str {
        "toy"
    }

    fn sites(&self) -> &SiteTable {
        &self.sites
    }

    fn can(&self) -> Capabilities {
        [Capability::Stacks, Capability::Learn, Capability::Output].into_iter().collect()
    }
}
