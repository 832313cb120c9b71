import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDaemon } from './daemon.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';

/** The default of `[daemon] slots`. */
const SLOTS = 4;
const AGENTS = 16;
const ROUNDS = 6;
const PROGRAM = fileURLToPath(new URL('programs/trivial.sh', import.meta.url));

/** Runs of a program that reads its turn and answers, from the message to its reply, against bare spawns of it. */
export default async function runs({ scratch, defer }: Bench): Promise<Row[]> {
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  const { client } = daemon;
  const names = Array.from({ length: AGENTS }, (_, n) => `worker-${n}`);
  for (const name of names) await client.createAgent({ name, program: PROGRAM });
  const perSecond = (work: () => Promise<unknown>) => async () => {
    const begin = performance.now();
    for (let round = 0; round < ROUNDS; round += 1) await work();
    return ((AGENTS * ROUNDS) / (performance.now() - begin)) * 1000;
  };
  const bare = perSecond(async () => {
    const waiting = [...names];
    const slot = async () => {
      while (waiting.pop() !== undefined) {
        const child = spawn(PROGRAM, { stdio: 'pipe' });
        child.stdin.end();
        child.stdout.resume();
        await once(child, 'close');
      }
    };
    await Promise.all(Array.from({ length: SLOTS }, slot));
  });
  const ours = perSecond(() =>
    Promise.all(
      names.map(async (name) => {
        const { messageId } = await client.sendMessage(name, { text: 'Work.' });
        const reply = await client.awaitReply(messageId, 30);
        if (reply?.text !== 'ok') throw new Error(`${name} answered ${reply?.text}`);
      }),
    ),
  );
  await bare();
  await ours();
  const measured = await alternate(bare, ours);
  return [{ name: `runs, ${SLOTS} slots`, unit: 'runs/s', ...compared(measured), goalOf: 'ratio', atLeast: 0.55 }];
}
