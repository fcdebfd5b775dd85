// Commands to copy.

async function copyCommand(button) {
  const code = button.parentElement.querySelector('code');
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
  } catch {
    // Without the right to copy, the reader gets the text selected.
    getSelection().selectAllChildren(code);
  }
}

function startCopying() {
  for (const button of document.querySelectorAll('button.copy')) {
    button.addEventListener('click', () => copyCommand(button));
  }
}
