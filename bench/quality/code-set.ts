import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Collection, Half } from './collection.ts';

const PACKAGES: Readonly<Record<Half, readonly string[]>> = {
  dev: ['lodash', 'undici', 'jszip', 'kysely', 'commander', 'ws', 'yaml', 'fast-check', 'pako', 'async'],
  test: [
    'es-toolkit',
    'linkedom',
    'hono',
    'lru-cache',
    'winston',
    'turndown',
    'koa',
    'express',
    'css-select',
    'domutils',
  ],
};
/** So that one large package does not decide. */
const MOST_QUERIES = 60;
const LONGEST_FUNCTION = 4000;
const LEAST_WORDS = 5;
const HEAD = /^(?:[\w$.]+ ?=? ?){0,6}(?:function\b.*|[\w$]+\([^)]*\).{0,80})\{$/;

/**
 * Functions of installed packages, and for each the first sentence of its doc comment as the query that should find
 * it. The comment itself is not part of the document. Packages of one half are never in the other.
 */
export function readCode(half: Half): Collection {
  const documents = new Map<string, { id: string; title: string; body: string }>();
  const queries: Collection['queries'][number][] = [];
  const gains = new Map<string, Map<string, number>>();
  for (const name of PACKAGES[half]) {
    const found = functionsOf(join(import.meta.dirname, '../../node_modules', name));
    const asked = new Set(
      evenly(
        found.filter(({ sentence }) => sentence !== null),
        MOST_QUERIES,
      ),
    );
    for (const one of found) {
      const id = `${name}/${one.file}#${hash('sha256', one.code, 'hex').slice(0, 8)}`;
      documents.set(id, { id, title: `${name}/${one.file}`, body: one.code });
      if (!asked.has(one) || one.sentence === null) continue;
      queries.push({ id, text: one.sentence, half });
      gains.set(id, new Map([[id, 1]]));
    }
  }
  return { name: `code, ${half}`, named: true, documents: [...documents.values()], queries, gains };
}

interface Documented {
  readonly file: string;
  readonly code: string;
  /** Null if the comment says too little. */
  readonly sentence: string | null;
}

function functionsOf(directory: string): Documented[] {
  if (!existsSync(directory)) return [];
  const found = new Map<string, Documented>();
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  for (const file of files.sort()) {
    if (!/\.m?js$/.test(file) || /\.min\.|node_modules|(^|\/)(test|umd|dist-cjs|cjs)\//.test(file)) continue;
    const text = readFileSync(join(directory, file), 'utf8');
    if (text.length > 300_000) continue;
    for (let at = text.indexOf('/**'); at >= 0; at = text.indexOf('/**', at + 3)) {
      const end = text.indexOf('*/', at);
      const line = text.indexOf('\n', end) + 1;
      const next = text.indexOf('\n', line);
      if (end < 0 || line === 0 || next < 0 || next - line > 200) continue;
      if (!HEAD.test(text.slice(line, next).trim())) continue;
      const code = bodyFrom(text, line, next);
      if (code === null) continue;
      // A package may have the same function in several builds.
      const sentence = sentenceOf(text.slice(at + 3, end));
      const key = sentence ?? code.replaceAll(/\s+/g, ' ');
      if (!found.has(key)) found.set(key, { file, code, sentence });
    }
  }
  return [...found.values()];
}

/** The text up to the bracket that closes the last one before `from`; null if it is too long. */
function bodyFrom(text: string, start: number, from: number): string | null {
  let depth = 1;
  for (let at = from; at < text.length && at - start < LONGEST_FUNCTION; at += 1) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === '}') depth -= 1;
    if (depth === 0) return text.slice(start, at + 1).trim();
  }
  return null;
}

function sentenceOf(comment: string): string | null {
  const plain = comment
    .replaceAll(/^\s*\* ?/gm, '')
    .split(/^\s*@/m, 1)[0]
    ?.replaceAll(/\{@\w+ ([^}|]+)[^}]*\}/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const [sentence = ''] = plain?.split(/(?<=[.:!?]) /, 1) ?? [];
  const words = sentence.split(' ').length;
  return words >= LEAST_WORDS && words <= 40 ? sentence : null;
}

function evenly<T>(all: readonly T[], most: number): T[] {
  const step = Math.max(1, all.length / most);
  return Array.from({ length: Math.min(most, all.length) }, (_, i) => all[Math.floor(i * step)] as T);
}
