import { appendFileSync, existsSync, statSync, truncateSync } from 'node:fs';

/** Adds a text to a configuration. Reverts the change if `check` throws. */
export function appendText(file: string, text: string, check: () => unknown): void {
  const before = existsSync(file) ? statSync(file).size : 0;
  appendFileSync(file, text, { mode: 0o600 });
  try {
    check();
  } catch (error) {
    truncateSync(file, before);
    throw error;
  }
}
