//! `unravel causes`: every cause of a program's failures.

use unravel_causes::{Analysis, Budget, Progress as Now, Request};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{CausesFlags, ExtentFlags};
use crate::interrupt::{self, INTERRUPTED};
use crate::output;
use crate::program;
use crate::progress::Progress;

pub fn causes(flags: &CausesFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    let mut loaded = program::load(&flags.program, &config)?;
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let analysis = analyse(&mut loaded, &flags.extent, &mut |now| progress.show(&words(now)))?;
    drop(progress);
    let c = &analysis.causes;
    println!("{:?} {:?} {:.2}s", c.verdict, c.extent, c.elapsed.as_secs_f64());
    println!("{:?} red {:.1}%", c.counts, c.counts.reduction() * 100.0);
    for (i, class) in c.classes.iter().enumerate() {
        println!("class {} x{} {:?} {} | {} same {:?}", i + 1, class.causes.len(), class.pattern, class.sentence, class.advice, class.same_regions_as);
        for o in &class.causes[0].orders {
            println!("   {} {} {} -> {} {} {}   [{}] {:?} {:?}", o.first.key.thread, o.first.place.short(), o.first.verb, o.second.key.thread, o.second.place.short(), o.second.verb, o.object, o.first.event, o.second.event);
        }
    }
    for n in &c.notes { println!("note {n}"); }
    Ok(if c.bugs.is_empty() { Exit::Clean } else { Exit::Finding })
}

pub fn words(now: Now) -> String {
    match now {
        Now::Exploring { passing, failing } => {
            format!("exploring: {passing} classes of schedules pass, {failing} fail")
        }
        Now::Enumerating => "looking for causes".to_owned(),
    }
}

/// All causes of a program.
pub fn analyse(
    loaded: &mut program::Loaded,
    extent: &ExtentFlags,
    progress: &mut dyn FnMut(Now),
) -> Result<Analysis, CliError> {
    let defaults = Budget::default();
    let request = Request {
        program: &loaded.reference.name,
        input: &loaded.input,
        rules: &loaded.rules,
        budget: Budget {
            time: extent.time.unwrap_or(defaults.time),
            classes: extent.classes.unwrap_or(defaults.classes),
            inputs: extent.inputs.unwrap_or(defaults.inputs),
            ..defaults
        },
        command: output::command(),
    };
    Ok(unravel_causes::causes(&mut loaded.vm, &request, &INTERRUPTED, progress)?)
}
