/* global document, navigator, setTimeout */
// A button on each code block of the guides. Browsers offer the clipboard to pages with https or on this machine only.
if (navigator.clipboard) {
  for (const code of document.querySelectorAll('pre > code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Not copied';
      }
      setTimeout(() => (button.textContent = 'Copy'), 2000);
    });
    code.before(button);
  }
}
