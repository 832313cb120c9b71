import { parse } from 'smol-toml';

export type Path = readonly PropertyKey[];

export interface Located {
  readonly line: number;
  /** The value as written; for tables and lists only their kind. */
  readonly text: string;
  /** Whether the key itself exists, not only a table around it. */
  readonly exact: boolean;
}

/** Deeper keys are reported at the line of an enclosing table. */
const maxDepth = 32;

/**
 * Finds the lines of keys in a TOML document. smol-toml has positions only for syntax errors, so this scans the
 * source a second time and relies on it being valid. A missing key maps to the nearest enclosing table, or to line 1.
 * toml-eslint-parser 1.0 has positions too, but a string of 130,000 characters overflows its stack, it refuses a byte
 * order mark, and it takes up to 20 times as long for a file of the maximum size.
 */
export function locate(source: string): (path: Path) => Located {
  const entries = indexKeys(source);
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const entry = entries.get(keyOf(path.slice(0, length)));
      if (entry === undefined) continue;
      const line = source.slice(0, entry.offset).split('\n').length;
      return { line, text: entry.text, exact: length === path.length };
    }
    return { line: 1, text: 'a table', exact: path.length === 0 };
  };
}

interface Entry {
  readonly offset: number;
  readonly text: string;
}

function indexKeys(source: string): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const listLengths = new Map<string, number>();
  let at = 0;

  let table: Path = [];
  for (skipBlank(); at < source.length; skipBlank()) {
    const before = at;
    if (source[at] === '[') table = readHeader();
    else readPair(table);
    if (at === before) break;
  }
  return entries;

  function readHeader(): Path {
    const offset = at;
    const isList = take(/\[\[?/y) === '[[';
    const path = throughLists(readKey());
    take(/\]\]?/y);
    noteAround(path, 1, offset);
    if (!isList) {
      note(path, offset, 'a table');
      return path;
    }
    const list = typeof path.at(-1) === 'number' ? path.slice(0, -1) : path;
    const item = listLengths.get(keyOf(list)) ?? 0;
    listLengths.set(keyOf(list), item + 1);
    if (item === 0) note(list, offset, 'a list');
    note([...list, item], offset, 'a table');
    return [...list, item];
  }

  /** A header refers to the last item of every `[[list]]` in its path. */
  function throughLists(key: readonly string[]): Path {
    const path: PropertyKey[] = [];
    for (const part of key.slice(0, maxDepth + 1)) {
      path.push(part);
      const length = listLengths.get(keyOf(path));
      if (length !== undefined) path.push(length - 1);
    }
    return path;
  }

  function readPair(around: Path) {
    const offset = at;
    const path = [...around, ...readKey().slice(0, maxDepth + 1)];
    take(/=[ \t]*/y);
    noteAround(path, around.length + 1, offset);
    readValue(path, offset);
  }

  function readValue(path: Path, offset: number) {
    const open = take(/[[{]/y);
    if (open === '') {
      note(path, offset, takeString() || take(/[^,\]}#\n]*/y).trim());
      return;
    }
    note(path, offset, open === '[' ? 'a list' : 'a table');
    skipBlank();
    for (let item = 0; at < source.length && !take(/[\]}]/y); item++) {
      if (open === '[') readValue([...path, item], at);
      else readPair(path);
      skipBlank();
      take(/,/y);
      skipBlank();
    }
  }

  function readKey(): string[] {
    const parts: string[] = [];
    do {
      take(/[ \t]+/y);
      parts.push(take(/[\w-]+/y) || unquote(takeString()));
      take(/[ \t]+/y);
    } while (take(/\./y));
    return parts;
  }

  function takeString(): string {
    const start = at;
    at = endOfString(source, at);
    return source.slice(start, at);
  }

  function skipBlank() {
    while (take(/\s+/y) || take(/#[^\n]*/y));
  }

  function take(pattern: RegExp): string {
    pattern.lastIndex = at;
    const text = pattern.exec(source)?.[0] ?? '';
    at += text.length;
    return text;
  }

  function note(path: Path, offset: number, text: string) {
    if (path.length <= maxDepth) entries.set(keyOf(path), { offset, text });
  }

  function noteAround(path: Path, from: number, offset: number) {
    for (let length = from; length < path.length; length++) {
      const around = path.slice(0, length);
      if (!entries.has(keyOf(around))) note(around, offset, 'a table');
    }
  }
}

function endOfString(source: string, start: number): number {
  const quote = source[start];
  if (quote !== '"' && quote !== "'") return start;
  const close = source.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  let at = start + close.length;
  while (at < source.length && !source.startsWith(close, at)) at += quote === '"' && source[at] === '\\' ? 2 : 1;
  at += close.length;
  if (close.length === 1) return at;
  // Up to two quotes before the closing three belong to the text.
  for (let extra = 0; extra < 2 && source[at] === quote; extra++) at++;
  return at;
}

function unquote(key: string): string {
  return key === '' ? '' : String(parse(`key = ${key}`).key);
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}
