// The strip above the schedules, which came with the page: the whole failing run from left to right. Here it gets the
// mark of the current step, and a click goes to the shown step that is nearest.

class Strip {
  /** `goTo` is told the number of an event, which need not be shown. */
  constructor(svg, events, goTo) {
    this.svg = svg;
    this.events = events;
    this.now = svg.querySelector('.now');
    svg.addEventListener('click', (event) => {
      const box = svg.getBoundingClientRect();
      goTo(Math.round(((event.clientX - box.left) / box.width) * events));
    });
  }

  show(event) {
    const at = ((event + 0.5) / this.events) * this.svg.viewBox.baseVal.width;
    for (const end of ['x1', 'x2']) this.now.setAttribute(end, at);
  }
}
