import { appendFileSync, existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiling, ofDifferentFiles } from './compiling.ts';
import { Copy } from './copy.ts';
import { draw } from './draw.ts';
import { apply, type Mutation, mutationsOf } from './mutations.ts';
import { type Covered, stagesOf } from './stages.ts';

/**
 * Draws mutants of the committed sources and reports those that no test detects. Works in a clone in
 * `.repeat/mutants`; run again, it continues with the same draw. Remove that directory to start over with the newest
 * commit.
 */
const ROOMS = 'core,runs,messaging,tools,store,sandbox,http';
const [count, seed] = [process.argv[2] ?? '300', process.argv[3] ?? '1'].map(Number) as [number, number];
const origin = join(import.meta.dirname, '../..');
const directory = join(origin, '.repeat/mutants');
const copy = new Copy(join(directory, 'copy'), origin);
const journal = join(directory, `mutants-${seed}.log`);
const BATCH = 8;
/** The number of mutants compiled together. */
const TOGETHER = 30;
const INVALID = { state: 'invalid', by: 'tsc' } as const;

type State = 'dead' | 'survived' | 'invalid' | 'unclear';
interface Verdict {
  /** Identifies the mutation. */
  readonly key: string;
  readonly state: State;
  readonly by: string;
}

const covered = await measure();
const drawn = draw(
  globSync(`src/{${ROOMS}}/**/*.ts`, { cwd: copy.root })
    .filter((path) => !/\.test[a-z]*\.ts$/.test(path))
    .sort()
    .flatMap((path) => mutationsOf(path, copy.read(path))),
  seed,
);
console.log(`${drawn.length} mutants are possible; ${count} that compile are tried with seed ${seed}.`);
const verdicts = new Map(readLines<Verdict>(journal).map((verdict) => [verdict.key, verdict]));
const compile = new Map<Mutation, boolean>();
const tried: { readonly mutation: Mutation; readonly verdict: Verdict }[] = [];
for (const [at, mutation] of drawn.entries()) {
  if (tried.length === count) break;
  const verdict = verdicts.get(keyOf(mutation)) ?? (await judge(at, mutation));
  if (verdict.state !== 'invalid') tried.push({ mutation, verdict });
}
report();

async function judge(at: number, mutation: Mutation): Promise<Verdict> {
  const started = Date.now();
  if (!compile.has(mutation)) await compileNext(at);
  const original = copy.read(mutation.path);
  copy.write(mutation.path, apply(original, mutation));
  const judged = compile.get(mutation) ? await tryTests(mutation, original) : INVALID;
  copy.write(mutation.path, original);
  const verdict = { key: keyOf(mutation), ...judged };
  appendFileSync(journal, `${JSON.stringify({ ...verdict, ...brief(mutation) })}\n`);
  const seconds = Math.round((Date.now() - started) / 1000);
  console.log(`${tried.length + 1} of ${count}: ${verdict.state} (${verdict.by}, ${seconds} s) ${describe(mutation)}`);
  return verdict;
}

/** Finds out which of the next mutants compile, several at once. */
async function compileNext(at: number): Promise<void> {
  const next = drawn.slice(at).filter((one) => !compile.has(one));
  const batch = ofDifferentFiles(next, Math.min(TOGETHER, count - tried.length));
  const right = await compiling(batch, async (applied) => {
    const originals = applied.map(({ path }) => copy.read(path));
    for (const [i, one] of applied.entries()) copy.write(one.path, apply(originals[i] ?? '', one));
    const faulty = await copy.faultyFiles();
    for (const [i, { path }] of applied.entries()) copy.write(path, originals[i] ?? '');
    return faulty;
  });
  for (const one of batch) compile.set(one, right.includes(one));
}

async function tryTests(mutation: Mutation, original: string): Promise<Omit<Verdict, 'key'>> {
  const own = mutation.path.replace(/\.ts$/, '.test.ts');
  for (const stage of stagesOf(mutation, covered)) {
    const files = stage.map(({ test }) => test);
    const limitMs = 60_000 + 4 * stage.reduce((sum, { ms }) => sum + ms, 0);
    const { code, output } = await copy.test(files, limitMs);
    if (code === 0) continue;
    if (code === null) {
      // A timeout only counts if the original source is faster.
      copy.write(mutation.path, original);
      const unchanged = await copy.test(files, limitMs);
      return { state: unchanged.code === 0 ? 'dead' : 'unclear', by: 'time' };
    }
    const failed = /FAIL\s+(\S+\.test\.ts)/.exec(output)?.[1];
    if (failed === undefined) return { state: 'unclear', by: output.trim().split('\n').at(-1) ?? '' };
    // Other tests than the file's own may be flaky, but hardly twice in a row.
    if (failed === own || (await copy.test([failed], limitMs)).code !== 0) return { state: 'dead', by: failed };
    if ((await copy.test(files, limitMs)).code !== 0) return { state: 'unclear', by: failed };
  }
  return { state: 'survived', by: 'no test' };
}

/** What each test file executes, measured once. A test that fails without a mutant cannot detect one. */
async function measure(): Promise<Covered[]> {
  const file = join(directory, 'covered.log');
  const known = new Set(readLines<Covered>(file).map(({ test }) => test));
  // Tests that kill daemons come last.
  const folders = ['src/**', 'test/*/**', 'test'];
  const all = folders.flatMap((folder) => globSync(`${folder}/*.test.ts`, { cwd: copy.root }).sort());
  const missing = all.filter((test) => !known.has(test));
  for (let i = 0; i < missing.length; i += BATCH) {
    const batch = missing.slice(i, i + BATCH);
    const found = new Map((await copy.cover(batch)).map((one) => [one.test, one]));
    for (const test of batch) {
      const one = await alone(found.get(test) ?? { test, passed: false, ms: 0, executed: [] });
      appendFileSync(file, `${JSON.stringify(one)}\n`);
      if (!one.passed) console.log(`${test} fails without a mutant and is left out.`);
    }
    console.log(`What ${known.size + i + batch.length} of ${all.length} test files execute is known.`);
  }
  return readLines<Covered>(file);
}

/** Measuring coverage makes some tests fail. */
async function alone(one: Covered): Promise<Covered> {
  if (one.passed) return one;
  const started = Date.now();
  const { code } = await copy.test([one.test], 600_000);
  return { ...one, passed: code === 0, ms: Date.now() - started };
}

function report(): void {
  const of = (state: State) => tried.filter(({ verdict }) => verdict.state === state);
  for (const state of ['unclear', 'survived'] as const)
    for (const { mutation, verdict } of of(state)) console.log(`${state} (${verdict.by}): ${describe(mutation)}`);
  const dead = of('dead').length;
  const share = ((100 * dead) / tried.length).toFixed(1);
  console.log(
    `${dead} of ${tried.length} mutants are dead (${share} %), ${of('survived').length} survived, ${of('unclear').length} unclear.`,
  );
}

function describe(mutation: Mutation): string {
  const { path, line, kind, before, after } = brief(mutation);
  return `${path}:${line} ${kind}: ${before} → ${after || '(nothing)'}`;
}

function keyOf({ path, start, end, after }: Mutation): string {
  return `${path}:${start}-${end} ${after}`;
}

function brief({ path, line, kind, before, after }: Mutation) {
  const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 160);
  return { path, line, kind, before: short(before), after: short(after) };
}

function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}
