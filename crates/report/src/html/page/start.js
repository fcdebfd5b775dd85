// Starts the page: theme, help, commands to copy, and an explorer a bug.

/** The explorer that the reader used last, else the one that came into view last. */
function followReader(explorers) {
  let current = explorers[0];
  const byRoot = new Map(explorers.map((explorer) => [explorer.root, explorer]));
  const seen = new IntersectionObserver((entries) => {
    const entry = entries.findLast((candidate) => candidate.isIntersecting);
    if (entry) current = byRoot.get(entry.target);
  });
  for (const explorer of explorers) {
    seen.observe(explorer.root);
    for (const kind of ['pointerdown', 'focusin']) explorer.root.addEventListener(kind, () => (current = explorer));
  }
  return () => current;
}

// Controls that do something can be seen from here on, and what is scrolled to has its size.
document.documentElement.classList.add('started');
startTheme();
document.getElementById('keys').addEventListener('click', showHelp);
startCopying();
const explorers = [...document.querySelectorAll('.explorer')].map((root, index) => new Explorer(root, index + 1));
listenToKeys(followReader(explorers));
followAddress(explorers);
