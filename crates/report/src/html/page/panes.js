// The source lines of a bug, by the key that rows have too (`data-place`).

class Panes {
  constructor(container) {
    this.container = container;
    this.lines = new Map();
    for (const line of container.querySelectorAll('li[data-place]')) this.lines.set(line.dataset.place, line);
    this.current = null;
    this.linked = null;
  }

  /** Highlights the line of the current step and scrolls to it. */
  select(place) {
    this.current?.classList.remove('current');
    this.current = this.lines.get(place) ?? null;
    this.current?.classList.add('current');
    if (this.current) revealWithin(this.container, this.current);
  }

  link(place) {
    this.linked?.classList.remove('linked');
    this.linked = this.lines.get(place) ?? null;
    this.linked?.classList.add('linked');
  }
}

/** Scrolls a container, and nothing around it, until an element of it can be seen. */
function revealWithin(container, target) {
  const outer = container.getBoundingClientRect();
  const inner = target.getBoundingClientRect();
  const margin = Math.min(60, outer.height / 4);
  if (inner.top < outer.top + margin || inner.bottom > outer.bottom - margin) {
    container.scrollTop += inner.top - outer.top - outer.height / 3;
  }
}
