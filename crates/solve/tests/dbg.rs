use unravel_solve::generate::*;
use unravel_solve::*;
#[test] fn dbg() {
  let seed: u64 = std::env::var("SEED").unwrap().parse().unwrap();
  let list_sync = std::env::var("LIST").is_ok();
  let like = Tiny { threads: 3, events: 8, list_sync: true }; let like = if seed.is_multiple_of(4) { Tiny { threads: 4, events: 10, ..like } } else { like }; let g = if std::env::var("SMALL").is_ok() {tiny(seed, like)} else {tiny(seed, Tiny{list_sync, ..Tiny::default()})};
  for (i,e) in g.trace.events.iter().enumerate() { println!("{i} {:?} {:?}", e.thread, e.kind); }
  println!("{:?} {:?}", g.symbolic.bug, g.symbolic.sync);
  let m = Model::new(&g.trace,&g.symbolic).unwrap();
  for s in m.steps() { println!("{s:?} {:?} {:?}", m.owner(s), m.program(s)); }
  for o in m.syncs() { println!("{:?} {:?} {}", o.family, o.initial, o.regular); }
  let mut e = Evaluator::new(&m);
  println!("{:?} {:?}", e.evaluate(&m.observed().unwrap()), e.performed());
}
