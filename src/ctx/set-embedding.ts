import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tomlString } from '../config/toml-text.ts';

/**
 * Sets `[embedding]` of a configuration to a local model, or to the default one, and leaves everything else as it is
 * written. Reverts the change if `check` throws.
 */
export function setEmbedding(file: string, model: string | null, check: () => unknown): void {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null;
  writeFileSync(file, changed(before ?? '', model), { mode: 0o600 });
  try {
    check();
  } catch (error) {
    if (before === null) rmSync(file);
    else writeFileSync(file, before);
    throw error;
  }
}

function changed(text: string, model: string | null): string {
  const wanted = ['provider = "local"', ...(model === null ? [] : [`model = ${tomlString(model)}`])];
  const lines = text.split('\n');
  const header = lines.findIndex((line) => /^\s*\[\s*embedding\s*\]/.test(line));
  if (header < 0)
    return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}\n[embedding]\n${wanted.join('\n')}\n`;
  const next = lines.findIndex((line, i) => i > header && /^\s*\[/.test(line));
  const end = next < 0 ? lines.length : next;
  // A path would win over the name, and what a service needs means nothing to a local model.
  const others = lines.slice(header + 1, end).filter((line) => !/^\s*(provider|model|path|dimension)\s*=/.test(line));
  return [...lines.slice(0, header + 1), ...wanted, ...others, ...lines.slice(end)].join('\n');
}
