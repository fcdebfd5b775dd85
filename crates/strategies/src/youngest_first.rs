//! Youngest first: whoever was created last runs as far as it can. The opposite of what an idle machine does, so that what
//! threads share is seen early, also in programs that fail before their threads get anywhere.

use unravel_trace::{Choice, Scheduler, View, Why};

#[derive(Debug, Default)]
pub struct YoungestFirst;

impl Scheduler for YoungestFirst {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let yielded = |thread| view.why == Why::Yielded && thread == view.current;
        let youngest = view.enabled.iter().map(|c| c.thread).max_by_key(|t| (!yielded(*t), *t));
        Choice { thread: youngest.unwrap_or(view.current), events: 1 }
    }
}
