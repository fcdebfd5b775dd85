//! `cargo xtask bench coop`: CoopREP's evaluation (thesis §3.5) on our programs.

mod study;

use std::time::{Duration, Instant};

use unravel_coop::{Attempts, Coverage, Heuristic, Metric, Mode};
use xtask::error::Error;
use xtask::workspace;

use crate::scale::Scale;
use study::{Extent, Study, Subject};

pub fn run(filter: Option<&str>, _scale: Scale) -> Result<bool, Error> {
    let cases: [(&str, &[&str]); 13] = [
        ("sync/boundedbuffer", &[]),
        ("atomicity/bubblesort", &[]),
        ("data-race/bufwriter", &["5580"]),
        ("deadlock/deadlock", &[]),
        ("atomicity/manager", &["4", "50"]),
        ("sync/piper", &[]),
        ("data-race/producerconsumer", &[]),
        ("path-dependent/ticketorder", &["4", "205"]),
        ("multi-variable/twostage", &["1500"]),
        ("real/cache4j", &["8"]),
        ("real/derby-2861", &[]),
        ("real/tomcat-37458", &[]),
        ("real/weblech", &[]),
    ];
    for (case, args) in cases {
        if filter.is_some_and(|f| !case.contains(f)) { continue; }
        let folder = workspace::root().join("corpus").join(case);
        for mode in [Mode::Orders, Mode::Blocks] {
        let mut subject = match Subject::load(&folder, args) { Ok(s) => s, Err(e) => { println!("{case}: {e}"); continue } };
        let t = Instant::now();
        let study = match Study::collect(&mut subject, mode, &Extent { failing: 500, passing: 100, time: Duration::from_secs(40) }) { Ok(s) => s, Err(e) => { println!("{case}: {e}"); continue } };
        println!("{case} {mode:?}: {} elements, {} accesses, {} failing ({} distinct) of {} runs {:?} in {:.1}s", study.surveyed.table.len(), study.accesses(), study.failing().len(), study.logs.distinct(&study.failing()), study.runs, study.by, t.elapsed().as_secs_f64());
        if filter.is_some() { for e in &study.surveyed.table { println!("   {} {:?} {}", e.name, e.kind, e.accesses); } }
        for fills in [0, 4] { println!(); print!(" fills {fills}");
        for coverage in [Coverage::Percent(100), Coverage::One, Coverage::Percent(25), Coverage::Percent(50), Coverage::Percent(75)] {
            for heuristic in Heuristic::ALL {
                let logs = study.drawn(coverage, 1);
                let t = Instant::now();
                let r = study.replay(&mut subject, &logs, (heuristic, Metric::Dsim), Attempts { most: 500, fills, seed: 1 }, t + Duration::from_secs(20));
                let (a, tr) = r.unwrap(); print!("  {coverage} {heuristic}: {a:?}/{}c{}p{}o{} {:.1}s;", tr.attempts, tr.contradicted, tr.passed, tr.other_failures, t.elapsed().as_secs_f64());
            }
        }
        }
        }
    }
    Ok(true)
}
