import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RunningDaemon, startDaemon } from './daemon.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';

const program = (name: string) => fileURLToPath(new URL(`programs/${name}.sh`, import.meta.url));
const MODE = 'mode = "bwrap"\nmax_memory_mb = 1024\n[daemon]\nmax_attempts = 1\n';
const TIMES = 5;

/**
 * Turns that exceed a limit of the machine: how long they last, from the post to the error, and a turn of another agent
 * right after them, against one before them.
 */
export default async function limits({ scratch, defer }: Bench): Promise<Row[]> {
  const daemon = await startDaemon(join(scratch, 'limits'), {}, MODE);
  defer(() => daemon.stop());
  await daemon.client.createAgent({ name: 'calm', program: program('trivial') });
  await daemon.client.createAgent({ name: 'excessive', program: program('excessive') });
  await ask(daemon, 'calm', 'x', 'reply');
  const rows: Row[] = [];
  for (const what of ['500 processes', '2 GB of allocations']) {
    const lasted: number[] = [];
    const others = await alternate(
      () => several(daemon),
      async () => {
        lasted.push(await ask(daemon, 'excessive', what, 'error'));
        return several(daemon);
      },
    );
    const longest = Math.max(...lasted);
    rows.push(
      {
        name: `${what}: the longest turn`,
        unit: 'ms',
        yardstick: null,
        result: longest,
        goalOf: 'result',
        atMost: 2_000,
      },
      { name: `${what}: then a turn of another agent`, unit: 'ms', ...compared(others), goalOf: 'ratio', atMost: 2 },
    );
  }
  return rows;
}

async function several(daemon: RunningDaemon): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < TIMES; n += 1) took.push(await ask(daemon, 'calm', 'x', 'reply'));
  return Math.max(...took);
}

/** Milliseconds until it ends as expected. */
async function ask({ client }: RunningDaemon, agent: string, text: string, kind: 'reply' | 'error'): Promise<number> {
  const begin = performance.now();
  const { messageId } = await client.sendMessage(agent, { text });
  const reply = await client.awaitReply(messageId, 60);
  if (reply?.kind !== kind) throw new Error(`not ${kind} but ${JSON.stringify(reply)}`);
  return performance.now() - begin;
}
