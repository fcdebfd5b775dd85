// Starts a page that is only read: theme, and commands to copy.

// Controls that do something can be seen from here on.
document.documentElement.classList.add('started');
startTheme();
startCopying();
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || event.key !== 't') return;
  toggleTheme();
  event.preventDefault();
});
