// The schedules of one bug: which step is current, how large rows are, which events are shown, and what the pointer is
// on. All parts are told from here; none of them knows another.

const ZOOMS = [
  { height: 3, labels: 'none' },
  { height: 9, labels: 'none' },
  { height: 22, labels: 'one' },
  { height: 40, labels: 'two' },
];

class Explorer {
  /** `number` says which explorer of the page it is, from 1. */
  constructor(root, number) {
    this.root = root;
    this.number = number;
    this.schedule = new Schedule(root);
    const template = root.querySelector('template.event-row');
    this.panels = ['failing', 'passing']
      .map((side) => [root.querySelector(`.panel.${side}`), side])
      .filter(([section]) => section)
      .map(([section, side]) => new Panel(section, side, this.schedule, template));
    [this.failing, this.passing] = this.panels;
    this.panes = new Panes(root.querySelector('.sources'));
    this.zoom = ZOOMS.length - 1;
    this.event = this.failing.causes[0] ?? this.failing.events.at(-1) ?? null;
    const label = Math.max(...this.panels.map((panel) => panel.longestLabel));
    this.root.style.setProperty('--label', `${label}ch`);
    this.root.dataset.names = label > 6 ? 'long' : 'short';
    const strip = this.find('.strip');
    this.strip = strip && new Strip(strip, this.failing.run.events, (event) => this.goToNearest(event));
    this.listen();
    this.showWhetherAll();
    this.draw();
  }

  find(selector) {
    return this.root.querySelector(selector);
  }

  listen() {
    this.find('.back').addEventListener('click', () => this.step(-1));
    this.find('.forth').addEventListener('click', () => this.step(1));
    this.find('.slider').addEventListener('input', (input) => this.goToStep(Number(input.target.value)));
    this.find('.smaller').addEventListener('click', () => this.changeZoom(-1));
    this.find('.larger').addEventListener('click', () => this.changeZoom(1));
    this.find('.all')?.addEventListener('click', () => this.toggleAll());
    for (const panel of this.panels) this.listenToPanel(panel);
    this.listenToSources();
    addEventListener('resize', () => this.drawSoon());
    addEventListener('beforeprint', () => this.prepareForPaper());
    addEventListener('afterprint', () => this.returnFromPaper());
  }

  listenToPanel(panel) {
    const row = (event) => event.target.closest('.row');
    panel.list.addEventListener('click', (event) => this.choose(panel, row(event)));
    panel.list.addEventListener('mouseover', (event) => this.pointAtRow(panel, row(event)));
    panel.list.addEventListener('mouseleave', () => this.pointAtNothing());
    const onWheel = (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.changeZoom(event.deltaY < 0 ? 1 : -1);
    };
    panel.scroller.addEventListener('wheel', onWheel, { passive: false });
  }

  listenToSources() {
    const line = (event) => event.target.closest('li[data-place]')?.dataset.place;
    this.panes.container.addEventListener('mouseover', (event) => this.pointAtPlace(line(event)));
    this.panes.container.addEventListener('mouseleave', () => this.pointAtNothing());
    this.panes.container.addEventListener('click', (event) => this.goToPlace(line(event)));
  }

  /** Rows wrap anew if the page becomes wider or narrower. */
  drawSoon() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  /** Draws both panels anew, after a change of the rows or their size. */
  draw() {
    const { height, labels } = ZOOMS[this.zoom];
    const hidden = this.panels.some((panel) => panel.opened.size > 0);
    this.lanes = this.schedule.lanes(hidden);
    const names = this.schedule.shown.threads.slice(0, this.lanes);
    this.root.dataset.labels = labels;
    this.root.style.setProperty('--row', `${height}px`);
    const mayWrap = labels === 'two';
    for (const panel of this.panels) panel.draw(names, height, mayWrap);
    this.show();
  }

  /** Shows the current step everywhere. */
  show() {
    const { events } = this.failing;
    const step = events.indexOf(this.event);
    const slider = this.find('.slider');
    slider.max = Math.max(0, events.length - 1);
    slider.value = Math.max(0, step);
    this.find('.back').disabled = step <= 0;
    this.find('.forth').disabled = step >= events.length - 1;
    if (step < 0) return;
    const node = this.failing.nodeOf(this.event);
    this.failing.select(this.failing.positions.get(this.event));
    const twin = node.dataset.twin === undefined ? undefined : this.passing?.rowHolding(Number(node.dataset.twin));
    this.passing?.select(twin);
    this.showState(step, events, node);
    this.panes.select(node.dataset.place);
    this.strip?.show(this.event);
    this.find('.link').href = addressOf(this.number, this.event);
  }

  showState(step, events, node) {
    const { schedule, event } = this;
    const shownStep = [...this.failing.shown.keys()].indexOf(event);
    showValues(this.find('.values'), schedule, event, events[step - 1]);
    showThreads(this.find('.threads'), schedule, event, shownStep, Number(node.dataset.thread), this.lanes);
    const what = node.querySelector('.what').textContent.trim();
    const text = `Step ${step + 1} of ${events.length}, event ${event + 1} of ${this.failing.run.events}`;
    this.find('.where').replaceChildren(element('b', '', text), ` ${what}`);
    this.find('.slider').setAttribute('aria-valuetext', `${text}: ${what}`);
  }

  goTo(event) {
    this.event = event;
    this.show();
    keepAddress(addressOf(this.number, event));
  }

  /** Goes to the shown step nearest to an event; false if there is none. */
  goToNearest(event) {
    if (!Number.isFinite(event)) return false;
    const far = (other) => Math.abs(other - event);
    const { events } = this.failing;
    if (!events.length) return false;
    this.goTo(events.reduce((best, other) => (far(other) < far(best) ? other : best)));
    return true;
  }

  goToStep(step) {
    const { events } = this.failing;
    if (events.length) this.goTo(events[Math.max(0, Math.min(events.length - 1, step))]);
  }

  step(by) {
    this.goToStep(this.failing.events.indexOf(this.event) + by);
  }

  goToLast() {
    this.goToStep(this.failing.events.length - 1);
  }

  /** The next (1) or previous (-1) event of the root cause. */
  goToCause(direction) {
    const { causes } = this.failing;
    const next = direction > 0 ? causes.find((e) => e > this.event) : causes.findLast((e) => e < this.event);
    if (next !== undefined) this.goTo(next);
  }

  /** The next event of the failing run at a source line, from the start again after the last. */
  goToPlace(place) {
    if (!place) return;
    const isThere = (event) => this.placeOf(event) === place;
    const { events } = this.failing;
    const next = events.find((event) => event > this.event && isThere(event)) ?? events.find(isThere);
    if (next !== undefined) this.goTo(next);
  }

  placeOf(event) {
    const node = this.failing.shown.get(event);
    return node ? node.dataset.place : this.schedule.texts('failing', event).key;
  }

  /** A click on a row: opens a gap, or makes the event current, or its twin if it is of the passing run. */
  choose(panel, row) {
    if (!row) return;
    if (row.classList.contains('gap')) return this.openGap(panel, row);
    const { event, twin, place } = row.dataset;
    if (panel === this.failing && event !== undefined) return this.goTo(Number(event));
    if (twin !== undefined && this.failing.positions.has(Number(twin))) return this.goTo(Number(twin));
    this.panes.select(place);
  }

  openGap(panel, gap) {
    if (!this.schedule.isComplete) return;
    panel.open([gap]);
    this.showWhetherAll();
    this.draw();
  }

  get showsAll() {
    return this.panels.every((panel) => panel.gaps.every((gap) => panel.opened.has(gap)));
  }

  toggleAll() {
    if (!this.schedule.isComplete) return;
    const close = this.showsAll;
    for (const panel of this.panels) close ? panel.close() : panel.open(panel.gaps);
    if (close && !this.failing.positions.has(this.event)) {
      this.event = this.failing.events.findLast((event) => event < this.event) ?? this.failing.events[0];
    }
    this.showWhetherAll();
    this.draw();
  }

  showWhetherAll() {
    this.find('.all')?.setAttribute('aria-pressed', this.showsAll);
  }

  changeZoom(by) {
    const zoom = Math.max(0, Math.min(ZOOMS.length - 1, this.zoom + by));
    if (zoom === this.zoom) return;
    this.zoom = zoom;
    this.find('.smaller').disabled = zoom === 0;
    this.find('.larger').disabled = zoom === ZOOMS.length - 1;
    this.draw();
  }

  /** The pointer is on a row: shows its line, the same event in the other run, and the ends of its data flows. */
  pointAtRow(panel, row) {
    if (!row) return;
    const { event, twin, place } = row.dataset;
    this.panes.link(place);
    const own = panel.positions.get(Number(event));
    const partners = panel.flows.filter((flow) => flow.start === own || flow.end === own);
    panel.link([own, ...partners.flatMap((flow) => [flow.start, flow.end])]);
    const other = this.panels.find((candidate) => candidate !== panel);
    other?.link(twin === undefined ? [] : [other.rowHolding(Number(twin))]);
  }

  pointAtPlace(place) {
    this.panes.link(place);
    for (const panel of this.panels) panel.link(place ? panel.rowsAt(place) : []);
  }

  pointAtNothing() {
    this.panes.link(null);
    for (const panel of this.panels) panel.link([]);
  }

  /** Paper gets the events that matter, in full size. */
  prepareForPaper() {
    this.onScreen = { zoom: this.zoom, opened: this.panels.map((panel) => [...panel.opened]), event: this.event };
    for (const panel of this.panels) panel.close();
    this.zoom = ZOOMS.length - 1;
    this.draw();
  }

  returnFromPaper() {
    const { zoom, opened, event } = this.onScreen;
    this.panels.forEach((panel, index) => panel.open(opened[index]));
    Object.assign(this, { zoom, event });
    this.draw();
  }
}
