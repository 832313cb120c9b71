import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { readOperations } from '../helpers/openapi.ts';

const PAGE = join(import.meta.dirname, '../../docs/api.md');
/** A method list with a path; `…` stands for a path that the same row has before it. */
const ROUTE = /`((?:[A-Z]+(?:, )?)*) ?([/…][^`?]*)[^`]*`/g;

test('docs/api.md lists every route of the OpenAPI document, and no other', async () => {
  const world = await startDaemon();
  onTestFinished(() => world.stop());
  const described = readOperations((await ask(world, '/api/openapi.json')).json).map(
    ({ method, path }) => `${method} ${path}`,
  );
  const listed = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => /^\| `[A-Z, ]+ \//.test(line))
    .flatMap((line) => routesOf(line.split(' | ')[0] ?? '', described));
  expect([...new Set(listed)].sort()).toEqual([...described, 'GET /metrics'].sort());
});

function routesOf(cell: string, described: readonly string[]): string[] {
  let methods: string[] = [];
  const paths: string[] = [];
  return [...cell.matchAll(ROUTE)].flatMap(([, given = '', written = '']) => {
    if (given !== '') methods = given.split(', ');
    const isKnown = (path: string) => methods.some((method) => described.includes(`${method} ${path}`));
    const tail = written.replace('…', '');
    const bases = written.startsWith('…') || paths.length > 0 ? paths.flatMap(ancestors) : [];
    const path = written.startsWith('…') || !isKnown(tail) ? bases.map((base) => `${base}${tail}`).find(isKnown) : tail;
    paths.push(path ?? tail);
    return methods.map((method) => `${method} ${path ?? tail}`);
  });
}

/** The path and those above it, the longest first. */
function ancestors(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('/'));
}
