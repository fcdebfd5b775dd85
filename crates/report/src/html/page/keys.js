// What keys do. A key belongs to the reader's field or the browser first: nothing happens with modifiers, or while
// something is typed.

const ACTIONS = {
  ArrowLeft: (explorer) => explorer.step(-1),
  k: (explorer) => explorer.step(-1),
  ArrowRight: (explorer) => explorer.step(1),
  j: (explorer) => explorer.step(1),
  Home: (explorer) => explorer.goToStep(0),
  End: (explorer) => explorer.goToLast(),
  n: (explorer) => explorer.goToCause(1),
  p: (explorer) => explorer.goToCause(-1),
  a: (explorer) => explorer.toggleAll(),
  '+': (explorer) => explorer.changeZoom(1),
  '=': (explorer) => explorer.changeZoom(1),
  '-': (explorer) => explorer.changeZoom(-1),
};

const PAGE_ACTIONS = { t: toggleTheme, '?': showHelp };

function showHelp() {
  const help = document.getElementById('help');
  if (!help.open) help.showModal();
}

/** Whether the element with the focus wants this key for itself. */
function isWanted(event) {
  const { target, key } = event;
  if (target.isContentEditable || target.matches('textarea, select')) return true;
  if (!target.matches('input')) return false;
  return target.type !== 'range' || key.startsWith('Arrow') || key === 'Home' || key === 'End';
}

/** `current` gives the explorer that keys are meant for, if there is one. */
function listenToKeys(current) {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || isWanted(event)) return;
    if (document.getElementById('help').open) return;
    const explorer = current();
    if (PAGE_ACTIONS[event.key]) PAGE_ACTIONS[event.key]();
    else if (ACTIONS[event.key] && explorer) ACTIONS[event.key](explorer);
    else return;
    event.preventDefault();
  });
}
