import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const VOCABULARY = 20_000;
let state = 1;

/** Markdown files, the same in every run: some words are common and most are rare, as in natural text. */
export function writeCorpus(directory: string, count: number, words: number): void {
  state = 1;
  for (let n = 0; n < count; n += 1) {
    const folder = join(directory, `part-${n % 100}`);
    if (n < 100) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `document-${n}.md`), markdown(n, words));
  }
}

export function markdown(n: number, words: number): string {
  const lines = [`# Document ${n}`, ''];
  for (let left = words; left > 0; left -= 60) {
    if (left % 300 < 60) lines.push(`## ${word()} ${word()}`, '');
    const paragraph = Array.from({ length: Math.min(60, left) }, word);
    for (let at = 0; at < paragraph.length; at += 12) lines.push(`${paragraph.slice(at, at + 12).join(' ')}.`);
    lines.push('');
  }
  return lines.join('\n');
}

function word(): string {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  const rank = Math.floor(VOCABULARY * (state / 2_147_483_648) ** 3);
  return `${SYLLABLES[rank % 16]}${SYLLABLES[(rank >> 4) % 16]}${rank < 256 ? '' : SYLLABLES[(rank >> 8) % 16]}${rank < 4096 ? '' : SYLLABLES[rank >> 12]}`;
}

const SYLLABLES = 'an be co di el fu ga hi in jo ka le mo nu or pa'.split(' ');
