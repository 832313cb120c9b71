import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs a command several times, each time with another seed in SUBSTRAT_CHAOS_SEED, and stops at the first failure.
 * Everything is kept in `.repeat/NAME`: the output of each run, one line about it in `runs.log`, and the first seed.
 * Run again, it continues after the last successful run; remove the directory to start over.
 */
const [name, times, separator, command, ...args] = process.argv.slice(2);
const count = Number(times);
if (!name || !Number.isInteger(count) || separator !== '--' || !command) {
  console.error('Usage: node build/repeat.ts NAME TIMES -- COMMAND [ARGUMENT…]');
  process.exit(2);
}
const directory = join(import.meta.dirname, '../.repeat', name);
const journal = join(directory, 'runs.log');
mkdirSync(directory, { recursive: true });
const firstSeed = keep(join(directory, 'seed'), () => String(randomInt(2 ** 30)));
const passed = read(journal)
  .split('\n')
  .filter((line) => line.includes(' passed ')).length;
if (passed > 0) console.log(`${passed} of ${count} have passed; continuing with ${passed + 1}. ${journal} lists them.`);

for (let run = passed + 1; run <= count; run += 1) {
  const seed = Number(firstSeed) + run * 1000;
  const output = join(directory, `${run}.log`);
  console.log(`${run} of ${count}: seed ${seed}, output in ${output}`);
  const started = Date.now();
  const code = await execute(output, seed);
  const seconds = Math.round((Date.now() - started) / 1000);
  const line = `${new Date().toISOString()} ${commit()} run ${run} ${code === 0 ? 'passed' : 'failed'} in ${seconds} s, seed ${seed}: ${lastLine(output)}`;
  appendFileSync(journal, `${line}\n`);
  console.log(line);
  if (code !== 0) process.exit(1);
}
console.log(`All ${count} passed.`);

async function execute(output: string, seed: number): Promise<number | null> {
  const env = { ...process.env, SUBSTRAT_CHAOS_SEED: String(seed) };
  const child = spawn(command as string, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const file = createWriteStream(output);
  child.stdout.pipe(file, { end: false });
  child.stderr.pipe(file, { end: false });
  const [code] = (await once(child, 'close')) as [number | null];
  file.end();
  await once(file, 'close');
  return code;
}

function commit(): string {
  return spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).stdout.trim();
}

function lastLine(file: string): string {
  return read(file).trimEnd().split('\n').at(-1) ?? '';
}

function keep(file: string, make: () => string): string {
  if (!existsSync(file)) writeFileSync(file, make());
  return read(file);
}

function read(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
