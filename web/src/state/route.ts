import { signal } from '@preact/signals';

/** The parts of the address after `#/`: the page, and what is opened in it. */
export const route = signal<readonly string[]>(readRoute());

addEventListener('hashchange', () => {
  route.value = readRoute();
});

export function go(...parts: readonly string[]): void {
  location.hash = href(...parts).slice(1);
}

export function href(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

function readRoute(): readonly string[] {
  const path = location.hash.replace(/^#\/?/, '');
  if (path === '' || path.startsWith('code=')) return ['talk'];
  return path.split('/').map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}
