//! Exit codes that differ between schedules.
//!
//! A program that ends with 0 under one schedule and with another code under another, its input being the same, tells its
//! user that something went wrong there: most tests do. A code that is the same in all schedules tells nothing about
//! concurrency. Which runs are compared is settled at the end of an epoch, so that it does not depend on who is faster.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use unravel_execute::judge;
use unravel_trace::{Rules, Run};

use crate::search::Finding;
use crate::worker::Ended;

/// How runs ended, by input and code: the first of each.
#[derive(Debug, Default)]
pub(crate) struct Exits(FxHashMap<u64, BTreeMap<i32, (u64, Option<Run>)>>);

impl Exits {
    pub fn add(&mut self, ended: Vec<Ended>) {
        for Ended { index, input, code, run } in ended {
            let first = self.0.entry(input).or_default().entry(code).or_insert((u64::MAX, None));
            if index < first.0 {
                *first = (index, run);
            }
        }
    }

    /// The runs that ended otherwise than with 0, where others of the same input ended with it.
    pub fn differing(&mut self) -> Vec<Finding> {
        let codes = self.0.values().filter(|codes| codes.contains_key(&0));
        let others = codes.flatten().filter(|(code, _)| **code != 0);
        let others = others.filter_map(|(_, (index, run))| Some((*index, run.clone()?)));
        let mut findings: Vec<Finding> = others
            .map(|(index, mut run)| {
                judge(&Rules { fail_on_exit: true, ..Rules::default() }, &mut run);
                Finding { index, run, replayed: false, is_open: true }
            })
            .collect();
        findings.sort_by_key(|finding| finding.index);
        findings
    }

    /// Runs that ended with 0, the first of some inputs.
    pub fn passing(self) -> Vec<Run> {
        let mut passing: Vec<(u64, Run)> = self
            .0
            .into_values()
            .filter_map(|mut codes| codes.remove(&0))
            .filter_map(|(index, run)| Some((index, run?)))
            .collect();
        passing.sort_by_key(|(index, _)| *index);
        passing.into_iter().map(|(_, run)| run).collect()
    }
}
