import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type RunningDaemon, startDaemon } from './daemon.ts';
import { alternate, type Bench, compared, median, type Row } from './measure.ts';
import { startNode } from './node.ts';

const PROGRAM = fileURLToPath(new URL('programs/trivial.sh', import.meta.url));
const TIMES = 10;
const IN_A_ROW = 100;
const SETTLE_MS = 500;

/**
 * A turn of a minimal program, from the person's post to the reply: without a sandbox, in bwrap, and in bwrap with
 * allowed hosts.
 */
export default async function sandbox({ scratch, defer }: Bench): Promise<Row[]> {
  const start = async (name: string, mode: string): Promise<RunningDaemon> => {
    const temporary = join(scratch, `${name}-tmp`);
    mkdirSync(temporary);
    const daemon = await startDaemon(join(scratch, name), { TMPDIR: temporary }, mode);
    defer(() => daemon.stop());
    await daemon.client.createAgent({ name: 'trivial', program: PROGRAM });
    await turns(daemon);
    return daemon;
  };
  const bare = await start('bare', 'mode = "none"\n');
  const confined = await start('confined', 'mode = "bwrap"\n');
  const listed = await start('listed', 'mode = "bwrap"\nnetwork = ["example.com"]\n');

  const inside = await alternate(
    () => turns(bare),
    () => turns(confined),
  );
  const withHosts = await alternate(
    async () => (await turns(bare)) + median([await startNode(), await startNode(), await startNode()]),
    () => turns(listed),
  );
  const before = await remains(confined, join(scratch, 'confined-tmp'));
  for (let turn = 0; turn < IN_A_ROW; turn += 1) await ask(confined);
  const after = await remains(confined, join(scratch, 'confined-tmp'));
  const left = (what: keyof typeof before): Row => ({
    name: `${IN_A_ROW} turns in bwrap: ${what} left`,
    unit: '',
    yardstick: null,
    result: after[what] - before[what],
    goalOf: 'result',
    atMost: 0,
  });
  const row = (name: string, measured: { yardstick: number[]; ours: number[] }): Row => ({
    name,
    unit: 'ms',
    ...compared(measured),
    goalOf: 'difference',
    atMost: 15,
  });
  return [
    row('a turn in bwrap, against the same bare', inside),
    row('a turn with an allow-list, against bare and `node -e 0`', withHosts),
    left('processes'),
    left('descriptors'),
    left('files'),
  ];
}

async function turns(daemon: RunningDaemon): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < TIMES; n += 1) {
    const begin = performance.now();
    await ask(daemon);
    took.push(performance.now() - begin);
  }
  return median(took);
}

async function ask({ client }: RunningDaemon): Promise<void> {
  const { messageId } = await client.sendMessage('trivial', { text: 'x' });
  const reply = await client.awaitReply(messageId, 60);
  if (reply?.kind !== 'reply') throw new Error(`no reply but ${JSON.stringify(reply)}`);
}

/** What a turn could leave behind: processes with the agent's environment, descriptors of the daemon, files. */
async function remains({ client, pid, home }: RunningDaemon, temporary: string) {
  const { id } = await client.getAgent('trivial');
  // Our own connections that have just ended do not belong to a turn.
  await sleep(SETTLE_MS);
  const isOfAgent = (process: string): boolean => {
    try {
      return readFileSync(`/proc/${process}/environ`, 'utf8').includes(`SUBSTRAT_AGENT_ID=${id}`);
    } catch {
      return false;
    }
  };
  const filesIn = (directory: string) => readdirSync(directory, { recursive: true }).length;
  return {
    processes: readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && isOfAgent(entry)).length,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    files: filesIn(home) + filesIn(temporary),
  };
}
