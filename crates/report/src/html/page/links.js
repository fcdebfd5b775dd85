// Addresses of steps: `#step-2-17` is event 17 of the page's second explorer. The address follows the reader, so that it
// can be copied at any time.

function addressOf(number, event) {
  return `#step-${number}-${event + 1}`;
}

/** The explorer and the event that an address names, if it names any. */
function stepAt(hash, explorers) {
  const [, number, event] = hash.match(/^#step-(\d+)-(\d+)$/) ?? [];
  const explorer = explorers[Number(number) - 1];
  return explorer ? [explorer, Number(event) - 1] : null;
}

/** Goes to the step of the page's address, now and whenever it changes. */
function followAddress(explorers) {
  const go = () => {
    const step = stepAt(location.hash, explorers);
    if (!step || !step[0].goToNearest(step[1])) return;
    step[0].root.scrollIntoView({ block: 'start' });
  };
  addEventListener('hashchange', go);
  go();
}

/** Writes the step into the address; some browsers refuse that to files. */
function keepAddress(address) {
  try {
    history.replaceState(null, '', address);
  } catch {
    // The link beside the step has the address all the same.
  }
}
