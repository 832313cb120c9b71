import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from './daemon.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';

/** The default of `[daemon] slots`. */
const SLOTS = 4;
const AGENTS = 16;
const ROUNDS = 6;

/** Runs of a program that ends at once, from the message to the end of the last run, against bare spawns of it. */
export default async function runs({ scratch, defer }: Bench): Promise<Row[]> {
  const program = join(scratch, 'program');
  writeFileSync(program, '#!/bin/sh\nexit 0\n', { mode: 0o700 });
  const daemon = await startDaemon(join(scratch, 'home'));
  defer(() => daemon.stop());
  const { client } = daemon;
  const names = Array.from({ length: AGENTS }, (_, n) => `worker-${n}`);
  for (const name of names) await client.createAgent({ name, program });
  const perSecond = (work: () => Promise<unknown>) => async () => {
    const begin = performance.now();
    for (let round = 0; round < ROUNDS; round += 1) await work();
    return ((AGENTS * ROUNDS) / (performance.now() - begin)) * 1000;
  };
  const bare = perSecond(async () => {
    const waiting = [...names];
    const slot = async () => {
      while (waiting.pop() !== undefined) await once(spawn(program, { stdio: 'pipe' }), 'close');
    };
    await Promise.all(Array.from({ length: SLOTS }, slot));
  });
  const ours = perSecond(() =>
    Promise.all(
      names.map(async (name) => {
        const { messageId } = await client.sendMessage(name, { text: 'Work.' });
        await client.awaitReply(messageId, 30).catch(() => null);
      }),
    ),
  );
  await bare();
  await ours();
  const measured = await alternate(bare, ours);
  return [{ name: `runs, ${SLOTS} slots`, unit: 'runs/s', ...compared(measured), goalOf: 'ratio', atLeast: 0.55 }];
}
