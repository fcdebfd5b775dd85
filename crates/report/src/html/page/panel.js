// The rows of one run. They came with the page: shown events, gaps, what was not reached, the end. A gap that is opened
// is replaced by rows of its events; of long lists only the rows that can be seen are in the document. Rows are as high
// as their texts need, but for long lists and small rows, where all are equally high.
//
// A row is a number: the index of its event, or -1 - k for the k-th row of the page that is no event.

const MOST_ROWS = 500; // in the document
const MARGIN_ROWS = 12; // kept above and below what can be seen

class Panel {
  constructor(section, side, schedule, template) {
    this.section = section;
    this.side = side;
    this.schedule = schedule;
    this.template = template;
    this.run = schedule.shown[side];
    this.list = section.querySelector('.rows');
    this.scroller = section.querySelector('.scroller');
    this.given = [...this.list.children];
    this.shown = new Map(this.given.filter(isEvent).map((row) => [Number(row.dataset.event), row]));
    this.opened = new Set();
    this.drawn = new Map();
    this.current = null;
    this.linked = new Set();
    this.collect();
    this.scroller.addEventListener('scroll', () => this.renderSoon());
  }

  /** The events of the root cause, in order. */
  get causes() {
    return [...this.shown].filter(([, row]) => row.classList.contains('causal')).map(([event]) => event);
  }

  /** Letters of the longest name of a place, within reason. */
  get longestLabel() {
    const lengths = this.given.map((row) => row.querySelector('.line')?.textContent.length ?? 0);
    return Math.min(16, Math.max(3, ...lengths));
  }

  get gaps() {
    return this.given.filter((row) => row.classList.contains('gap'));
  }

  open(gaps) {
    for (const gap of gaps) this.opened.add(gap);
    this.collect();
  }

  close() {
    this.opened.clear();
    this.collect();
  }

  /** Lists the rows and where each event is. */
  collect() {
    this.rows = [];
    this.given.forEach((row, number) => {
      if (isEvent(row)) {
        this.rows.push(Number(row.dataset.event));
      } else if (this.opened.has(row)) {
        for (let event = Number(row.dataset.from); event < Number(row.dataset.to); event++) this.rows.push(event);
      } else {
        this.rows.push(-1 - number);
      }
    });
    this.events = this.rows.filter((row) => row >= 0);
    this.positions = new Map(this.rows.map((row, index) => [row, index]));
    this.flows = placeFlows(this.run.flows, (event) => this.positions.get(event));
  }

  get tracks() {
    return tracksOf(this.flows);
  }

  /** The row of an event, or of the gap that hides it. */
  rowHolding(event) {
    const row = this.positions.get(event);
    if (row !== undefined) return row;
    const hides = (gap) => Number(gap.dataset.from) <= event && event < Number(gap.dataset.to);
    const gap = this.given.findIndex((node) => node.classList.contains('gap') && hides(node));
    return this.positions.get(-1 - gap);
  }

  /** Draws everything anew. `mayWrap` says whether texts may take more than a line. */
  draw(names, height, mayWrap) {
    this.geometry = laneGeometry(names, this.tracks, height, this.section.clientWidth);
    this.wraps = mayWrap && this.rows.length <= MOST_ROWS;
    this.section.dataset.rows = this.wraps ? 'wrapped' : 'even';
    this.drawn.clear();
    this.section.querySelector('.lane-names').replaceChildren(drawNames(names, this.geometry));
    this.lanes = names.length;
    this.render();
  }

  renderSoon() {
    if (this.isWaiting || this.rows.length <= MOST_ROWS) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.render();
    });
  }

  /** Puts the rows that can be seen into the document. */
  render() {
    const [first, last] = this.visibleRange();
    const drawn = new Map();
    for (let index = first; index < last; index++) drawn.set(index, this.drawn.get(index) ?? this.makeRow(index));
    this.drawn = drawn;
    this.list.style.paddingTop = `${first * this.geometry.height}px`;
    this.list.style.paddingBottom = `${(this.rows.length - last) * this.geometry.height}px`;
    this.list.replaceChildren(...drawn.values());
    if (this.wraps) this.stretchLanes();
    this.mark();
  }

  /** Draws the lanes of rows that became higher than a plain one as high as they are. */
  stretchLanes() {
    const heights = [...this.drawn].map(([index, node]) => [index, node, node.offsetHeight]);
    for (const [index, node, height] of heights) {
      if (height > this.geometry.height) this.drawLanes(index, node, { ...this.geometry, height });
    }
  }

  drawLanes(index, node, geometry) {
    node.querySelector('.lanes').replaceChildren(drawRow(this.describe(index, node), geometry));
  }

  visibleRange() {
    const count = this.rows.length;
    if (count <= MOST_ROWS) return [0, count];
    const { height } = this.geometry;
    const first = Math.floor(this.scroller.scrollTop / height) - MARGIN_ROWS;
    const seen = Math.ceil(this.scroller.clientHeight / height) + 2 * MARGIN_ROWS;
    const start = Math.max(0, Math.min(first, count - seen));
    return [start, Math.min(count, start + Math.min(seen, MOST_ROWS))];
  }

  makeRow(index) {
    const row = this.rows[index];
    const node = row < 0 ? this.given[-1 - row] : this.shown.get(row) ?? this.fillTemplate(row);
    this.drawLanes(index, node, this.geometry);
    node.title = node.querySelector('.what')?.textContent ?? '';
    return node;
  }

  fillTemplate(event) {
    const node = this.template.content.firstElementChild.cloneNode(true);
    const texts = this.schedule.texts(this.side, event);
    node.dataset.event = event;
    node.dataset.thread = texts.lane;
    if (texts.key) node.dataset.place = texts.key;
    if (texts.twin >= 0) node.dataset.twin = texts.twin;
    node.querySelector('.line bdi').textContent = texts.label;
    node.querySelector('.source').textContent = texts.source;
    node.querySelector('.thread').textContent = texts.thread;
    const name = element('b', '', element('bdi', '', texts.name));
    node.querySelector('.phrase').replaceChildren(`${texts.verb} `, name, element('span', '', texts.rest));
    return node;
  }

  /** What `drawRow` needs to know. */
  describe(index, node) {
    const row = this.rows[index];
    const kind = ['gap', 'missing', 'end'].find((name) => node.classList.contains(name)) ?? 'step';
    const lane = node.dataset.thread === undefined ? null : Number(node.dataset.thread);
    const isNext = (other) => row >= 0 && this.rows[index + other] === row + other;
    return {
      kind,
      lane,
      isCausal: node.classList.contains('causal'),
      isProjected: node.classList.contains('projected'),
      starts: this.changesThread(row, -1),
      ends: this.changesThread(row, 1),
      before: isNext(-1) ? this.laneOf(row - 1) : null,
      switches: isNext(1),
      alive: this.aliveAt(row >= 0 ? row : this.eventBefore(index)),
      bracket: this.bracketAt(row, index),
      flows: this.flowsAt(index),
    };
  }

  laneOf(event) {
    const node = this.shown.get(event);
    return node ? Number(node.dataset.thread) : this.schedule.load()[this.side].thread[event];
  }

  /** Whether the event before (-1) or after (1) is another thread's. */
  changesThread(event, other) {
    const node = this.shown.get(event);
    if (node) return node.classList.contains(other < 0 ? 'starts' : 'ends');
    if (event < 0) return false;
    const { thread } = this.schedule.load()[this.side];
    return thread[event] !== thread[event + other];
  }

  eventBefore(index) {
    while (index >= 0 && this.rows[index] < 0) index--;
    return index < 0 ? 0 : this.rows[index];
  }

  aliveAt(event) {
    const lives = (life) => life && life[0] <= event && event <= life[1];
    return [...Array(this.lanes).keys()].filter((lane) => lives(this.run.lives[lane]));
  }

  bracketAt(row, index) {
    const { region } = this.run;
    if (!region) return null;
    const start = this.positions.get(region.start);
    const end = region.end === null ? this.rows.length - 1 : this.positions.get(region.end);
    if (start === undefined || end === undefined || index < start || index > end) return null;
    if (start === end) return 'whole';
    if (index === start) return 'open';
    if (index < end || region.end === null) return 'inside';
    return region.kind === 'order' ? 'arrow' : 'close';
  }

  flowsAt(index) {
    const part = (flow) => {
      if (flow.isInitial) return 'initial';
      if (index === flow.start) return 'leaves';
      return index === flow.end ? 'enters' : 'passes';
    };
    const here = this.flows.filter((flow) => flow.start <= index && index <= flow.end);
    return here.map((flow) => ({ track: flow.track, part: part(flow) }));
  }

  /** Marks the current row and those that belong together with what the pointer is on. */
  mark() {
    for (const [index, node] of this.drawn) {
      node.classList.toggle('current', index === this.current);
      node.classList.toggle('linked', this.linked.has(index));
      if (index === this.current) node.setAttribute('aria-current', 'step');
      else node.removeAttribute('aria-current');
    }
  }

  /** Makes a row current and scrolls to it. */
  select(row) {
    this.current = row ?? null;
    if (row !== undefined) this.reveal(row);
    this.mark();
  }

  link(rows) {
    this.linked = new Set(rows);
    this.mark();
  }

  reveal(row) {
    const node = this.wraps ? this.drawn.get(row) : undefined;
    const height = node ? node.offsetHeight : this.geometry.height;
    const top = node ? node.offsetTop - this.list.offsetTop : row * height;
    const { scrollTop, clientHeight } = this.scroller;
    const margin = Math.min(3 * this.geometry.height, clientHeight / 3);
    if (top < scrollTop + margin || top + height > scrollTop + clientHeight - margin) {
      this.scroller.scrollTop = top - clientHeight / 2;
      this.render();
    }
  }

  /** The rows at a source line. */
  rowsAt(place) {
    return [...this.drawn].filter(([, node]) => node.dataset.place === place).map(([index]) => index);
  }

  nodeOf(event) {
    return this.drawn.get(this.positions.get(event)) ?? this.makeRow(this.positions.get(event));
  }
}

function isEvent(row) {
  return row.dataset.event !== undefined;
}
