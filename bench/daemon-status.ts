import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDaemon } from './daemon.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';
import { startNode } from './node.ts';

const LAUNCHER = fileURLToPath(new URL('../bin/substrat', import.meta.url));

/** `substrat daemon status` as a person calls it: the launcher, the command line, one request. */
export default async function daemonStatus({ scratch, defer }: Bench): Promise<Row[]> {
  const home = join(scratch, 'home');
  const { stop } = await startDaemon(home);
  defer(() => stop());
  const status = async () => {
    const begin = performance.now();
    const child = spawn(LAUNCHER, ['daemon', 'status'], {
      env: { ...process.env, SUBSTRAT_HOME: home },
      stdio: 'ignore',
    });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`daemon status ended with ${code}`);
    return performance.now() - begin;
  };
  await status();
  const measured = await alternate(startNode, status);
  return [
    {
      name: 'substrat daemon status',
      unit: 'ms',
      ...compared(measured),
      goalOf: 'ratio',
      atMost: 4,
    },
  ];
}
