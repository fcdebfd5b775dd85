//! Which inputs are looked at: the one that was given, and where the program asks for values that nobody gave, others that a
//! short hunt finds ([`unravel_hunt::inputs`]).

use std::sync::atomic::AtomicBool;

use unravel_execute::Laboratory;
use unravel_hunt::{Few, HereError, KnownInput, Options, inputs};
use unravel_strategies::Random;
use unravel_trace::{
    Capability, Detail, EngineError, Executor, Input, Nondet, Rng, VisibleSet, Want,
};

use crate::budgets::{INPUT_RUNS, INPUT_SHARE, INPUT_TIME, LEAST_INPUTS};
use crate::causes::Task;

/// The inputs to try, one after the other. No values are known of one that is not to be chosen.
pub fn to_try(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
) -> Result<Vec<KnownInput>, EngineError> {
    let most = request.budget.inputs.max(1);
    let given = |input| KnownInput { input, values: Vec::new() };
    if !asks_for_values(executor, request.input) {
        return Ok(vec![given(request.input.clone())]);
    }
    if !executor.can().has(Capability::Separable) {
        let drawn = 0..most.min(LEAST_INPUTS);
        return Ok(drawn.map(|number| given(drawn_input(request.input, number))).collect());
    }
    let options = Options {
        runs: INPUT_RUNS,
        time: (request.budget.time / INPUT_SHARE).min(INPUT_TIME),
        all: true,
        diagnose: false,
        ..Options::default()
    };
    let task = unravel_hunt::Task {
        program: request.program,
        input: request.input,
        rules: request.rules,
        database: None,
        recorded: &[],
        options,
        command: String::new(),
    };
    let few = Few { most: most as usize, least: most.min(LEAST_INPUTS) as usize };
    match inputs(executor, &task, few, interrupted) {
        Ok(found) => Ok(found),
        Err(HereError::Engine(error)) => Err(error),
        Err(HereError::Database(error)) => {
            unreachable!("a database in memory is neither read nor written: {error}")
        }
    }
}

/// Whether the program asks for values that we may choose.
fn asks_for_values(executor: &mut dyn Executor, input: &Input) -> bool {
    if !matches!(input.nondet, Nondet::Seed(_)) {
        return false;
    }
    let mut lab = Laboratory::new(executor, input.clone(), VisibleSet::default());
    let run = lab.run(&mut Random::new(0), &mut (), Want::only(Detail::Outcome));
    !run.nondet.is_empty()
}

/// Input number `number`: as given, then with other nondeterministic values.
fn drawn_input(input: &Input, number: u32) -> Input {
    let mut input = input.clone();
    if let Nondet::Seed(seed) = input.nondet
        && number > 0
    {
        input.nondet = Nondet::Seed(Rng::derive(seed, u64::from(number)));
    }
    input
}
