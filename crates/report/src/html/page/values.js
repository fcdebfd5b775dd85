// The values of variables, the states of locks and what each thread does next, after the current step.

function element(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

const MOST_OTHERS = 20; // variables besides those that matter

/** `previous` is the event of the step before; at the first step nothing counts as changed. */
function showValues(container, schedule, event, previous) {
  const after = schedule.valuesAfter(event);
  const before = previous === undefined ? after : schedule.valuesAfter(previous);
  const watched = schedule.shown.variables.map((_, variable) => variable);
  const isNew = (variable) => variable >= watched.length && before.get(variable) !== after.get(variable);
  const others = [...after.keys()].filter(isNew).slice(0, MOST_OTHERS);
  const rows = [...watched, ...others].map((variable) => valueRow(schedule, variable, before, after));
  const table = element('table', '', element('tbody', '', ...rows));
  container.replaceChildren(rows.length ? table : element('p', 'dim', 'No variable is known.'));
}

function valueRow(schedule, variable, before, after) {
  const name = element('th', '', schedule.variableName(variable));
  name.scope = 'row';
  const isChanged = before.get(variable) !== after.get(variable);
  const value = element('td', '');
  if (isChanged && before.has(variable)) {
    value.append(element('del', '', schedule.valueText(before.get(variable))), ' ');
  }
  const text = after.has(variable) ? schedule.valueText(after.get(variable)) : '–';
  value.append(isChanged ? element('ins', '', text) : text);
  const row = element('tr', isChanged ? 'changed' : after.has(variable) ? '' : 'unknown', name, value);
  row.dataset.variable = schedule.variableName(variable);
  return row;
}

/** `step` is the number of the event among the shown ones, or -1. */
function showThreads(container, schedule, event, step, current, lanes) {
  const rows = [];
  for (let lane = 0; lane < lanes; lane++) {
    const next = schedule.nextAction(lane, event, step);
    if (!next) continue;
    const name = element('th', `c${lane % COLORS}`, schedule.shown.threads[lane]);
    name.scope = 'row';
    rows.push(element('tr', lane === current ? 'running' : '', name, element('td', '', next)));
  }
  container.replaceChildren(element('table', '', element('tbody', '', ...rows)));
}
