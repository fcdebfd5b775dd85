//! The toy executor conforms; and what only it can do.

use unravel_conformance::{Act, Engine, Sample, Toy, conformance};
use unravel_execute::Laboratory;
use unravel_strategies::RunToBlock;
use unravel_trace::*;

struct Toys;

impl Engine for Toys {
    fn open(&mut self, sample: Sample) -> Box<dyn Executor> {
        Box::new(sample.toy())
    }
}

conformance!(Toys);

#[test]
fn an_act_may_kill_the_engine() {
    let mut toy = Toy::joined(vec![vec![Act::Write(0, 1), Act::Die(11)]], Vec::new());
    let job = Job {
        input: &Input::default(),
        visible: &VisibleSet::default(),
        want: Want::only(Detail::Outcome),
    };
    let died = toy.run(&job, &mut RunToBlock, &mut ());
    assert_eq!(died, Err(EngineError::Died { signal: 11 }));
    let mut lab = Laboratory::new(&mut toy, Input::default(), VisibleSet::default());
    lab.run(&mut RunToBlock, &mut (), Want::only(Detail::Outcome));
    assert_eq!(lab.problem(), Some(&EngineError::Died { signal: 11 }));
    assert!(!lab.may_go_on());
}
