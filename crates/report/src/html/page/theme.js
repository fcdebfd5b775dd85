// Light or dark: what the system says, until the reader chooses. The choice is kept where the browser lets us keep
// something for a file, else until the page is closed.

const THEME = 'unravel-theme';

function rememberedTheme() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

function rememberTheme(theme) {
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // A browser may refuse storage to files; the choice then holds until the page is closed.
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function toggleTheme() {
  const theme = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  rememberTheme(theme);
}

function startTheme() {
  const remembered = rememberedTheme();
  if (remembered === 'light' || remembered === 'dark') document.documentElement.dataset.theme = remembered;
  document.getElementById('theme').addEventListener('click', toggleTheme);
}
