// What the page knows of a bug's two runs. The shown events are in a small block of data; every event of both runs
// is in a large one, which is parsed only when somebody asks for it.

class Schedule {
  constructor(explorer) {
    this.shown = JSON.parse(explorer.querySelector('script.shown').textContent);
    this.block = explorer.querySelector('script.every');
    this.every = null;
  }

  /** Whether all events can be shown. */
  get isComplete() {
    return this.block !== null;
  }

  /** Reads every event, the first time. */
  load() {
    this.every ??= JSON.parse(this.block.textContent);
    return this.every;
  }

  /** Lanes from left to right. Hidden events may be of threads that otherwise do not matter. */
  lanes(withHidden) {
    return withHidden ? this.shown.threads.length : this.shown.involved;
  }

  /** The texts of an event that came without a row. */
  texts(side, event) {
    const { strings, places } = this.load();
    const run = this.every[side];
    const place = places[run.place[event]];
    const [key, label, source] = place ? place.map((number) => strings[number]) : ['', '', ''];
    const [verb, name, rest] = [run.verb, run.name, run.rest].map((column) => strings[column[event]]);
    const lane = run.thread[event];
    return { key, label, source, verb, name, rest, lane, thread: this.shown.threads[lane], twin: run.twin[event] };
  }

  /** The values of variables after an event of the failing run, as numbers of `values`, by variable. */
  valuesAfter(event) {
    const { changes } = this.every ?? this.shown;
    const values = new Map();
    for (let at = 0; at < changes.length && changes[at] <= event; at += 3) {
      values.set(changes[at + 1], changes[at + 2]);
    }
    return values;
  }

  variableName(variable) {
    return (this.every ?? this.shown).variables[variable];
  }

  valueText(value) {
    return (this.every ?? this.shown).values[value];
  }

  /** What a thread of the failing run does next after an event; `step` is its number among the shown, or -1. */
  nextAction(lane, event, step) {
    const run = this.shown.failing;
    const life = run.lives[lane];
    if (!life) return '';
    if (event < life[0]) return 'not created yet';
    if (step >= 0 && lane < this.shown.involved) return this.shown.stages[this.shown.stages_at[step][lane]];
    return this.nextEvent(lane, event) ?? (run.ends[lane] ? 'ended' : 'goes no further');
  }

  nextEvent(lane, event) {
    const next = this.load().failing.thread.indexOf(lane, event + 1);
    if (next < 0) return null;
    const { label, verb, name } = this.texts('failing', next);
    return `${label}${label ? ': ' : ''}${verb} ${name}`;
  }
}
