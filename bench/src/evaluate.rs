//! `cargo xtask evaluate`: the tables of the six papers beside ours, as a page, and whether what the page claims still holds.
//!
//! A file a paper: its figures, what is measured of ours, and the claims ([`claim`]), each a function of the rows. Programs
//! are run small and at the paper's size ([`lab`]). Nothing on the page was written by hand but the papers' figures and what
//! is said about differences.

mod claim;
mod concbugassist;
mod cooprep;
mod cortex;
mod lab;
mod machine;
mod maxsmt;
mod page;
mod symbiosis;
mod tinertia;
mod words;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use lab::Lab;
use page::Table;
use xtask::error::Error;
use xtask::workspace;

#[derive(Debug, Args)]
pub struct EvaluateFlags {
    /// Only this table, printed; no page is written.
    #[arg(long, value_name = "TABLE", value_parser = clap::builder::PossibleValuesParser::new(names()))]
    table: Option<String>,
    /// One row of each table, once: to see whether it runs. Printed; no page is written.
    #[arg(long)]
    quick: bool,
    /// Where to write the page.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["table", "quick"])]
    output: Option<PathBuf>,
}

/// Measures a table.
type Measure = fn(&Lab) -> Table;

/// The tables, in the order of the page.
const TABLES: [(&str, Measure); 9] = [
    ("symbiosis-1", symbiosis::table_1),
    ("symbiosis-2", symbiosis::table_2),
    ("symbiosis-3", symbiosis::table_3),
    ("maxsmt", maxsmt::table),
    ("cortex", cortex::table),
    ("concbugassist", concbugassist::table),
    ("tinertia-1", tinertia::table_1),
    ("tinertia-3", tinertia::table_3),
    ("cooprep", cooprep::table),
];

fn names() -> Vec<&'static str> {
    TABLES.iter().map(|(name, _)| *name).collect()
}

/// False if a claim does not hold.
pub fn run(flags: &EvaluateFlags) -> Result<bool, Error> {
    let lab = Lab::new(flags.quick)?;
    let machine = machine::describe();
    let mut tables = Vec::new();
    for (name, measure) in TABLES {
        if flags.table.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        workspace::announce(name);
        let started = Instant::now();
        let table = measure(&lab);
        tables.push(Table { seconds: started.elapsed().as_secs_f64(), ..table });
        if flags.table.is_none() && !flags.quick {
            // What was measured is kept, whatever becomes of the rest.
            let page = page::page(&machine, &tables);
            let default = workspace::root().join("docs/evaluation.md");
            let path = flags.output.clone().unwrap_or(default);
            std::fs::write(&path, page).map_err(|source| Error::File { path, source })?;
        }
    }
    if flags.table.is_some() || flags.quick {
        tables.iter().for_each(|table| println!("{}", table.markdown()));
    }
    for table in &tables {
        for claim in table.claims.iter().filter(|claim| !claim.seen.holds) {
            println!("DOES NOT HOLD {}: {} ({})", table.id, claim.says, claim.seen.figure);
        }
    }
    let claims = || tables.iter().flat_map(|table| &table.claims);
    println!(
        "evaluate: {} of {} claims hold in {} tables, {:.0} s",
        claims().filter(|claim| claim.seen.holds).count(),
        claims().count(),
        tables.len(),
        tables.iter().map(|table| table.seconds).sum::<f64>()
    );
    Ok(tables.iter().all(Table::holds))
}
