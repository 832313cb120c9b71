/** The folder that the page was opened from, without a slash at the end; with a path prefix it is part of it. */
export const BASE = new URL('.', location.href.replace(/#.*/, '')).href.replace(/\/$/, '');

/**
 * One text in this browser. Two daemons behind one origin have different prefixes, and so different names. A browser
 * that refuses storage forgets it with the page.
 */
export function remembered(name: string) {
  const key = `substrat:${BASE}:${name}`;
  let fallback: string | null = null;
  return {
    get: (): string | null => {
      try {
        return localStorage.getItem(key) ?? fallback;
      } catch {
        return fallback;
      }
    },
    set: (value: string | null): void => {
      fallback = value;
      try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
      } catch {
        // Full or forbidden: it lives as long as the page.
      }
    },
  };
}
