import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';

// Records which functions of src a test file executed, in its own process and in those that it started.

interface Coverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

const root = join(import.meta.dirname, '../..');
const session = new Session();
const children = mkdtempSync(join(tmpdir(), 'mutants-coverage-'));

session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const { NODE_V8_COVERAGE: before } = process.env;
process.env.NODE_V8_COVERAGE = children;

const executed = new Set<string>();
beforeAll(() => {});
afterAll(async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  collect(result);
  for (const name of readdirSync(children)) {
    try {
      collect((JSON.parse(readFileSync(join(children, name), 'utf8')) as { result: Coverage[] }).result);
    } catch {
      // Its process was killed while writing it.
    }
  }
  rmSync(children, { recursive: true, force: true });
  if (before === undefined) delete process.env.NODE_V8_COVERAGE;
  const test = relative(root, expect.getState().testPath ?? '');
  const directory = process.env.MUTANTS_COVERAGE ?? '';
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${test.replaceAll('/', '+')}.json`), JSON.stringify([...executed].sort()));
});

function collect(scripts: readonly Coverage[]): void {
  for (const { url, functions } of scripts) {
    const path = relative(root, url.startsWith('file:') ? fileURLToPath(url) : url);
    if (!path.startsWith('src/')) continue;
    for (const { functionName, ranges } of functions)
      if ((ranges[0]?.count ?? 0) > 0) executed.add(`${path}#${functionName}`);
  }
}
