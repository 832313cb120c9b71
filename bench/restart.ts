import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { spawnDaemon, startDaemon, stop, untilUp } from './daemon.ts';
import { fillMessages } from './fill.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';
import { startNode } from './node.ts';

const MESSAGES = 100_000;
/** The number of commits in the store's log that are not checkpointed when the daemon is killed. */
const UNSETTLED = 40;

/**
 * A daemon is killed during a turn and restarted as a person does it, with the clone's launcher, whose compile cache
 * is warm. It has started the first run when that run's program prints, so the program's own start counts, too: a
 * shell, because it is fast.
 */
export default async function restart({ scratch, defer }: Bench): Promise<Row[]> {
  const home = join(scratch, 'home');
  const pipe = join(scratch, 'started');
  execFileSync('mkfifo', [pipe]);
  // Opened for reading and writing, so that it never ends; the last line ends the pending read.
  const stream = createReadStream(pipe, { flags: 'r+' });
  const said = createInterface(stream);
  defer(() => {
    stream.destroy();
    writeFileSync(pipe, '\n');
  });
  const program = join(scratch, 'program');
  writeFileSync(program, `#!/bin/sh\necho started >'${pipe}'\nexec sleep 300\n`, { mode: 0o700 });

  const first = await startDaemon(home);
  const { client } = first;
  await client.createAgent({ name: 'worker', program });
  await client.createAgent({ name: 'box', provider: 'external' });
  await first.stop();
  await fillMessages(home, MESSAGES);

  let daemon: ChildProcess = spawnDaemon(home);
  defer(() => stop(daemon));
  await untilUp(client, daemon);
  const running = once(said, 'line');
  await client.sendMessage('worker', { text: 'Work.' });
  await running;

  const kill = async () => {
    for (let n = 0; n < UNSETTLED; n += 1) await client.sendMessage('box', { text: `Message ${n}.` });
    await stop(daemon, 'SIGKILL');
  };
  const start = async () => {
    const started = once(said, 'line');
    const begin = performance.now();
    daemon = spawnDaemon(home);
    await started;
    const took = performance.now() - begin;
    await untilUp(client, daemon);
    return took;
  };
  const measured = await alternate(startNode, async () => {
    await kill();
    return start();
  });
  return [
    {
      name: `restart after SIGKILL, ${MESSAGES} messages, to the first run`,
      unit: 'ms',
      ...compared(measured),
      goalOf: 'ratio',
      atMost: 10,
    },
  ];
}
