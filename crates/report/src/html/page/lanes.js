// Draws what stands left of a row's text: the bracket of what should be atomic, a lane a thread with the segment that
// runs, the context switch into it, and the parts of data-flow arrows that pass this row. A row is drawn by itself,
// so that only rows that can be seen are drawn; every drawing is as high as a row.

const MARGIN = 14; // of the bracket
const WIDEST = 132; // of all lanes, and no more than this part of their panel
const WIDEST_PART = 0.24;
const UPRIGHT = 10; // a lane this wide has room for a name that stands upright
const TRACKS = 56; // of all tracks, and no more than this part
const TRACKS_PART = 0.1;
const COLORS = 8;

/** Sizes that all rows of a panel of this width share. */
function laneGeometry(names, tracks, height, panelWidth) {
  const named = Math.max(...names.map((name) => name.length * 6.5 + 6));
  const widest = Math.min(WIDEST, panelWidth * WIDEST_PART);
  const pitch = named * names.length <= widest ? named : Math.max(5, Math.min(16, widest / names.length));
  const right = MARGIN + pitch * names.length;
  const trackPitch = tracks ? Math.min(8, Math.min(TRACKS, panelWidth * TRACKS_PART) / tracks) : 0;
  return {
    height,
    pitch,
    names: pitch === named ? 'level' : pitch >= UPRIGHT ? 'upright' : 'none',
    namesHeight: pitch === named ? 16 : named + 2,
    right,
    width: right + trackPitch * tracks + 10,
    lane: (index) => MARGIN + pitch * (index + 0.5),
    track: (index) => right + 4 + trackPitch * (index + 0.5),
  };
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function vertical(name, x, from, to) {
  return svg('line', { class: name, x1: x, x2: x, y1: from, y2: to });
}

/** The threads' names above their lanes, where there is room: one beside the other, or upright. */
function drawNames(names, geometry) {
  if (geometry.names === 'none') return svg('svg', { width: geometry.width, height: 0 });
  const height = geometry.namesHeight;
  const texts = names.map((name, lane) => {
    const x = geometry.lane(lane);
    const place =
      geometry.names === 'level'
        ? { x, y: 12 }
        : { x: 0, y: 0, transform: `translate(${x + 3.5} ${height - 3}) rotate(-90)` };
    const text = svg('text', { class: `lane-name ${geometry.names} c${lane % COLORS}`, ...place });
    text.textContent = name;
    return text;
  });
  return svg('svg', { width: geometry.width, height }, ...texts);
}

/**
 * One row. `row` says: kind, lane, event, isCausal, isProjected, starts, ends, before (the lane of the row before, if that
 * row is the event before), alive (lanes that live), bracket, flows ({track, part}).
 */
function drawRow(row, geometry) {
  const { height, width } = geometry;
  const parts = [
    ...row.alive.map((lane) => vertical(row.kind === 'gap' ? 'life hidden' : 'life', geometry.lane(lane), 0, height)),
    ...drawBracket(row.bracket, height),
    ...(row.kind === 'step' ? drawSegment(row, geometry) : []),
    ...drawNode(row, geometry),
    ...row.flows.flatMap((flow) => drawFlow(flow, geometry)),
  ];
  return svg('svg', { width, height, 'aria-hidden': 'true', focusable: 'false' }, ...parts);
}

/** The bar of the running thread, and the curve from the thread that ran before. */
function drawSegment(row, geometry) {
  const { height } = geometry;
  const x = geometry.lane(row.lane);
  const inset = height > 8 ? height * 0.3 : 0;
  const bar = vertical(`bar c${row.lane % COLORS}`, x, row.starts ? inset : 0, row.ends ? height - inset : height);
  const parts = [bar];
  if (row.starts && row.before !== null && row.before !== row.lane) {
    const from = geometry.lane(row.before);
    const end = Math.max(inset, 1);
    parts.push(svg('path', { class: 'switch', d: `M${from} 0C${from} ${end} ${x} 0 ${x} ${end}` }));
  }
  if (row.ends && row.switches) parts.push(vertical('switch', x, height - inset, height));
  return parts;
}

function drawNode(row, geometry) {
  const { height } = geometry;
  if (row.lane === null || row.kind === 'gap') return [];
  const [cx, cy] = [geometry.lane(row.lane), height / 2];
  if (row.kind === 'missing' || row.kind === 'end') {
    const r = Math.min(4, height / 3);
    const cross = `M${cx - r} ${cy - r}L${cx + r} ${cy + r}M${cx + r} ${cy - r}L${cx - r} ${cy + r}`;
    return [svg('path', { class: `cross ${row.kind}`, d: cross })];
  }
  if (height < 8) return row.isCausal ? [vertical('bar causal', cx, 0, height)] : [];
  if (!row.isProjected && height < 20) return [];
  const r = Math.min(row.isCausal ? 6 : row.isProjected ? 4 : 2.5, height / 2.5);
  const kind = row.isCausal ? 'causal' : row.isProjected ? `strong c${row.lane % COLORS}` : 'context';
  return [svg('circle', { class: `node ${kind}`, cx, cy, r })];
}

/** `open`, `inside`, `close` of what should be atomic; `arrow` where an order that should hold ends. */
function drawBracket(part, height) {
  if (!part) return [];
  const middle = height / 2;
  const lines = {
    open: `M9 ${middle}H4V${height}`,
    inside: `M4 0V${height}`,
    close: `M4 0V${middle}H9`,
    arrow: `M4 0V${middle}H10M7 ${middle - 3}L10 ${middle}L7 ${middle + 3}`,
    whole: `M9 ${middle - 3}H4V${middle + 3}H9`,
  };
  return [svg('path', { class: 'bracket', d: lines[part] })];
}

/** The part of an arrow in this row: it `leaves` the write, `passes`, `enters` the read, or is `initial`. */
function drawFlow({ track, part }, geometry) {
  const { height, width } = geometry;
  const x = geometry.track(track);
  const middle = height / 2;
  const head = `M${width - 5} ${middle - 3}L${width} ${middle}L${width - 5} ${middle + 3}`;
  const lines = {
    leaves: `M${width - 2} ${middle}C${x} ${middle} ${x} ${middle} ${x} ${height}`,
    passes: `M${x} 0V${height}`,
    enters: `M${x} 0C${x} ${middle} ${x} ${middle} ${width} ${middle}${head}`,
    initial: `M${x} ${middle}H${width}${head}`,
  };
  const line = svg('path', { class: `flow ${part}`, d: lines[part] });
  return part === 'initial' ? [line, svg('circle', { class: 'flow origin', cx: x, cy: middle, r: 2.5 })] : [line];
}
