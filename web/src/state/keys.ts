export interface Shortcut {
  /** As `KeyboardEvent.key`; two keys in a row are separated by a space, "mod" is Ctrl or the command key. */
  readonly keys: string;
  readonly what: string;
  readonly run: () => void;
}

const shortcuts = new Set<Shortcut>();
let before = '';

/** Shortcuts that hold until the returned function is called. */
export function addShortcuts(added: readonly Shortcut[]): () => void {
  for (const shortcut of added) shortcuts.add(shortcut);
  return () => {
    for (const shortcut of added) shortcuts.delete(shortcut);
  };
}

/** Does what those keys do. */
export function press(keys: string): void {
  find(keys)?.run();
}

export function listShortcuts(): readonly Shortcut[] {
  return [...shortcuts];
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const mod = event.ctrlKey || event.metaKey;
  // In a dialog, the browser's own keys work: a second Ctrl F finds in the page.
  if (document.querySelector('dialog[open]') || (!mod && isTyping(event.target))) return;
  const key = mod ? `mod+${event.key.toLowerCase()}` : event.key;
  const found = find(`${before} ${key}`) ?? find(key);
  before = mod || found || key === 'Shift' ? '' : key;
  if (!found) return;
  event.preventDefault();
  found.run();
});

/** The one that was added last wins: a page's key over the frame's. */
function find(keys: string): Shortcut | undefined {
  return [...shortcuts].findLast((shortcut) => shortcut.keys === keys);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
