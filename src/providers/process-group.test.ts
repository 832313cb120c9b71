import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { processesOf } from '../../test/helpers/run-processes.ts';
import { endRun, Unrelated } from './process-group.ts';

describe.runIf(process.platform === 'linux')('endRun()', () => {
  const reads = () => Number(/^syscr: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);

  /** How many reads a look took. Others in this process may read, too, so the fewest of some looks count. */
  async function readsOf(runId: string, unrelated: () => Unrelated): Promise<number> {
    const counts: number[] = [];
    for (let look = 0; look < 5; look += 1) {
      const before = reads();
      await endRun(runId, unrelated());
      counts.push(reads() - before);
    }
    return Math.min(...counts);
  }

  test('does not read the environment of processes that it knows', async () => {
    const known = new Unrelated();
    const fresh = await readsOf('none', () => new Unrelated());
    await endRun('none', known);
    await endRun('none', known);
    expect(await readsOf('none', () => known)).toBeLessThan(fresh / 2);
  });

  test('finds processes that started after it looked, and those of other runs when these end', async () => {
    const unrelated = new Unrelated();
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    await endRun(first, unrelated);
    await endRun(first, unrelated);
    for (const runId of [first, second]) {
      const child = spawn('sh', ['-c', 'setsid sleep 1000 & echo started'], {
        env: { PATH: process.env.PATH ?? '', SUBSTRAT_RUN_ID: runId },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      await once(child.stdout, 'data');
      child.stdout.destroy();
    }
    for (let look = 0; look < 3; look += 1) await endRun('none', unrelated);
    expect(await endRun(first, unrelated)).toBe(true);
    expect(processesOf(first)).toEqual([]);
    expect(processesOf(second).length).toBeGreaterThan(0);
    expect(await endRun(second, unrelated)).toBe(true);
    expect(processesOf(second)).toEqual([]);
  });
});
