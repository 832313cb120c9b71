// Speed, as ratios to named baselines measured in the same run. `npm run bench -- [name …] [--json FILE] [--strict]`
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMet, type Row } from './measure.ts';
import { reportLines, toJson } from './report.ts';

const BENCHMARKS = [
  'send-message',
  'send-message-32',
  'ask-and-answer',
  'llm',
  'bridge',
  'sandbox',
  'restart',
  'idle-agents',
  'daemon-status',
  'rest',
  'events',
  'fan-out',
  'memory',
  'indexing',
  'second-sync',
  'index-memory',
  'search',
  'personas',
  'hostile',
  'page',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, strict: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are ${BENCHMARKS.join(', ')}.`);
  process.exit(2);
}
const rows: Row[] = [];
for (const name of positionals.length > 0 ? positionals : BENCHMARKS) {
  console.error(`${name} ...`);
  rows.push(...(await run(name)));
}
for (const line of reportLines(rows)) console.log(line);
if (values.json) writeFileSync(values.json, `${JSON.stringify(rows.map(toJson), null, 2)}\n`);
if (values.strict && !rows.every(isMet)) process.exitCode = 1;

async function run(name: string): Promise<Row[]> {
  // A disk, not memory, so that a durable insert has its real cost. Short, because socket paths are limited.
  const scratch = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'bench-'));
  const ends: (() => unknown)[] = [];
  try {
    const { default: benchmark } = await import(`./${name}.ts`);
    return await benchmark({ scratch, defer: (end: () => unknown) => ends.push(end) });
  } finally {
    for (const end of ends.reverse()) await end();
    rmSync(scratch, { recursive: true, force: true });
  }
}
