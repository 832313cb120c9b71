// Speed, as ratios to named baselines measured in the same run.
// `npm run bench -- [name …] [--short] [--record] [--compare] [--json FILE] [--strict] [--minutes N]`
// `--minutes` shortens benchmarks that watch something for minutes.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { comparisonLines, readHistory, record } from './history.ts';
import { busyPart, currentCommit, describeLoad, machineClass } from './machine.ts';
import { type Row, verdictOf } from './measure.ts';
import { reportLines, toJson } from './report.ts';

const HISTORY = join(import.meta.dirname, 'history.jsonl');
/** `--short`: under three minutes. */
const SHORT = ['start-up', 'send-message', 'send-message-32', 'runs', 'rest', 'bridge', 'daemon-status', 'second-sync'];
const BENCHMARKS = [
  'start-up',
  'runs',
  'send-message',
  'send-message-32',
  'ask-and-answer',
  'llm',
  'agent-programs',
  'bridge',
  'sandbox',
  'limits',
  'restart',
  'idle-agents',
  'daemon-status',
  'rest',
  'events',
  'fan-out',
  'memory',
  'memory-meaning',
  'indexing',
  'second-sync',
  'index-memory',
  'search',
  'mixed',
  'personas',
  'hostile',
  'page',
  'fleet',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    strict: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
    minutes: { type: 'string' },
  },
});
const unknown = positionals.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are ${BENCHMARKS.join(', ')}.`);
  process.exit(2);
}
const minutes = values.minutes === undefined ? null : Number(values.minutes);
if (minutes !== null && !(minutes > 0)) {
  console.error('--minutes needs a number above 0.');
  process.exit(2);
}
const [machine, commit] = [machineClass(), currentCommit()];
if (values.record && commit === null) {
  console.error('--record needs a commit: files differ from the last one.');
  process.exit(2);
}
console.log(`${machine}; commit ${commit ?? 'with changes'}; load ${describeLoad()}`);
const rows: Row[] = [];
const chosen = values.short ? SHORT : BENCHMARKS;
for (const name of positionals.length > 0 ? positionals : chosen) {
  console.error(`${name} ...`);
  const before = await busyPart();
  const measured = await run(name);
  const busy = Math.max(before, await busyPart());
  rows.push(...measured.map((row) => ({ ...row, busy })));
}
for (const line of reportLines(rows)) console.log(line);
console.log(`load ${describeLoad()}`);
if (values.compare) for (const line of comparisonLines(readHistory(HISTORY), machine, commit, rows)) console.log(line);
if (values.record && commit !== null) {
  record(HISTORY, { commit, machine, date: new Date().toISOString().slice(0, 10) }, rows);
}
if (values.json) writeFileSync(values.json, `${JSON.stringify(rows.map(toJson), null, 2)}\n`);
if (values.strict && rows.some((row) => ['MISSED', 'not decided'].includes(verdictOf(row)))) process.exitCode = 1;

async function run(name: string): Promise<Row[]> {
  // A disk, not memory, so that a durable insert has its real cost. Short, because socket paths are limited.
  const scratch = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'bench-'));
  const ends: (() => unknown)[] = [];
  try {
    const { default: benchmark } = await import(`./${name}.ts`);
    return await benchmark({ scratch, minutes, defer: (end: () => unknown) => ends.push(end) });
  } finally {
    for (const end of ends.reverse()) await end();
    rmSync(scratch, { recursive: true, force: true });
  }
}
