// Does age cost time? The same calls of a daemon with a long history and of one with a short one.
// `npm run scale -- [--strict]`; with `--quick` the long one has a tenth.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { table } from '../src/command-line/terminal.ts';
import { type RunningDaemon, startDaemon } from './daemon.ts';
import { beginHistory, fillHistory, type History } from './fill-history.ts';
import { percentile } from './measure.ts';

const { values } = parseArgs({ options: { strict: { type: 'boolean' }, quick: { type: 'boolean' } } });
const SHORT: History = { messages: 10_000, runs: 2_000, agents: 1_000, passages: 1_000 };
const LONG: History = values.quick
  ? { messages: 100_000, runs: 20_000, agents: 10_000, passages: 10_000 }
  : { messages: 1_000_000, runs: 200_000, agents: 100_000, passages: 100_000 };
const GOAL = 2;
/** Below this, the difference is noise. */
const NOISE_MS = 0.5;
const ROUNDS = 60;

const CALLS = [
  '/api/channels',
  '/api/channels/hall',
  '/api/channels/hall/messages',
  '/api/agents/echo/messages',
  '/api/inbox',
  '/api/agents',
  '/api/agents?all=true',
  '/api/agents/echo',
  '/api/agents/guest',
  '/api/participants',
  '/api/runs',
  ...['created', 'running', 'completed', 'failed', 'cancelled'].map((state) => `/api/runs?state=${state}`),
  ...['completed', 'failed', 'cancelled'].map((state) => `/api/runs?agent=echo&state=${state}`),
  '/api/usage?by=agent',
  '/api/usage?by=tree',
  '/api/usage?by=day',
  `/api/usage?by=agent&since=${new Date(Date.now() - 3_600_000).toISOString()}`,
  '/api/agents/echo/passages',
  '/api/agents/echo/passages?tag=rare',
  '/api/agents/echo/passages?q=sea&tag=rare',
  '/api/agents/echo/passages?q=sea',
  '/api/agents/guest/said?q=morning',
  '/api/questions',
  '/api/requests',
  '/api/nodes',
  '/api/agents/guest/prompt',
];

const scratch = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'scale-'));
const daemons: RunningDaemon[] = [];
try {
  for (const [name, history] of [
    ['short', SHORT],
    ['long', LONG],
  ] as const) {
    const home = join(scratch, name);
    console.error(`filling the ${name} history ...`);
    await beginHistory(home);
    await fillHistory(home, history);
    daemons.push(await startDaemon(home));
  }
  const [short, long] = daemons as [RunningDaemon, RunningDaemon];
  const rows = [];
  for (const call of [...CALLS, 'POST /api/channels/hall/messages', 'POST /api/agents/guest/messages']) {
    const took = { short: [] as number[], long: [] as number[] };
    for (let n = 0; n < ROUNDS; n += 1) {
      took.short.push(await timed(short, call));
      took.long.push(await timed(long, call));
    }
    const [a, b] = [percentile(took.short.slice(5), 50), percentile(took.long.slice(5), 50)];
    rows.push({ call, a, b, met: b <= GOAL * a || b - a < NOISE_MS });
  }
  const lines = rows.map(({ call, a, b, met }) => [
    call.replace(/since=.*/, 'since=…'),
    `${a.toFixed(2)} ms`,
    `${b.toFixed(2)} ms`,
    `${(b / a).toFixed(2)}x`,
    met ? 'met' : 'MISSED',
  ]);
  const title = [
    `p50 of ${ROUNDS} calls`,
    `${SHORT.messages} messages`,
    `${LONG.messages} messages`,
    'RATIO',
    `at most ${GOAL}x`,
  ];
  for (const line of table(title, lines)) console.log(line);
  if (values.strict && rows.some(({ met }) => !met)) process.exitCode = 1;
} finally {
  for (const daemon of daemons) await daemon.stop();
  rmSync(scratch, { recursive: true, force: true });
}

function timed({ home }: RunningDaemon, call: string): Promise<number> {
  const [method, path] = call.includes(' ') ? (call.split(' ') as [string, string]) : ['GET', call];
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const asked = request({ socketPath: join(home, 'daemon.sock'), path, method, headers, agent: false }, (answer) => {
      answer.resume().on('end', () => {
        if ((answer.statusCode ?? 500) < 300) resolve(performance.now() - began);
        else reject(new Error(`${call}: ${answer.statusCode}`));
      });
    });
    asked.on('error', reject).end(method === 'POST' ? JSON.stringify({ text: 'Good evening' }) : undefined);
  });
}
