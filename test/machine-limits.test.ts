import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { noBwrap } from './helpers/bwrap.ts';
import { hostile, startHostile } from './helpers/hostile.ts';

describe.skipIf(noBwrap !== null)('a turn that exceeds a limit of the machine', () => {
  test('ends alone, as a failed attempt with the reason, and leaves no process', async () => {
    const machine = 'max_processes = 100\nmax_disk_mb = 20';
    await using daemon = await startHostile({ config: '[daemon]\nmax_attempts = 2', machine });
    const { client } = daemon.running;
    const calm = await client.createAgent({ name: 'calm', program: hostile });
    const wait = `fs.writeFileSync('begun', ''); while (!fs.existsSync('go')) await new Promise((r) => setTimeout(r, 5)); return 1`;
    const { messageId } = await client.sendMessage('calm', { text: wait });
    const bomb = `children.execFileSync('perl', ['-e', 'for (1..500) { fork or last } sleep 600'])`;
    const { failed } = (await daemon.attempt(bomb)) as { failed: string };
    expect(failed).toMatch(/it had \d+ processes; the limit is 100 \(`\[sandbox\] max_processes`\)/);
    const [run] = (await client.listRuns({ agent: 'hostile' })).items;
    expect(run).toMatchObject({ state: 'failed', attempt: 2, error: expect.stringContaining('limit of the machine') });
    // The other turn goes on.
    expect(existsSync(join(calm.workspace, 'begun'))).toBe(true);
    await daemon.attempt(`fs.writeFileSync('x', Buffer.alloc(1e6)); return 1`);
    writeFileSync(join(calm.workspace, 'go'), '');
    expect(await client.awaitReply(messageId, 15)).toMatchObject({ kind: 'reply', text: '1' });
    expect(await client.getStatus()).toMatchObject({ limits: expect.stringContaining('100 processes') });
  });

  test.each([
    [
      'processes',
      'max_processes = 100',
      `over(); children.execFileSync('perl', ['-e', 'for (1..500) { fork or last } sleep 600'])`,
    ],
    [
      'memory',
      'max_memory_mb = 300',
      `over(); globalThis.kept = Buffer.alloc(2e9, 1); await new Promise(() => setInterval(() => {}, 1000))`,
    ],
    [
      'disk',
      'max_disk_mb = 20',
      `for (let i = 0; i < 40; i++) fs.writeFileSync('f' + i, Buffer.alloc(1 << 20)); over(); await new Promise(() => setInterval(() => {}, 1000))`,
    ],
  ])('%s: is ended within 2 seconds, with the reason', async (_, machine, body) => {
    await using daemon = await startHostile({ config: '[daemon]\nmax_attempts = 1', machine });
    const exceed = `const over = () => fs.writeFileSync('over', String(Date.now())); ${body}`;
    let fastest = Number.POSITIVE_INFINITY;
    // On a busy machine the program itself may be late.
    for (let tries = 0; tries < 4 && fastest > 2_000; tries += 1) {
      expect(await daemon.attempt(exceed)).toMatchObject({
        failed: expect.stringContaining(machine.split(' ')[0] ?? ''),
      });
      const [run] = (await daemon.running.client.listRuns({ agent: 'hostile', limit: 1 })).items;
      const at = Number(readFileSync(join(daemon.workspace, 'over'), 'utf8'));
      fastest = Math.min(fastest, Date.parse(run?.endedAt ?? '') - at);
      for (const name of readdirSync(daemon.workspace)) rmSync(join(daemon.workspace, name), { recursive: true });
    }
    expect(fastest).toBeLessThanOrEqual(2_000);
    expect(await daemon.attempt('return 1')).toBe(1);
  });

  test('is ended when it fills the disk', async () => {
    await using daemon = await startHostile({ config: '[daemon]\nmax_attempts = 1', machine: 'max_disk_mb = 20' });
    const fill = `for (let i = 0; i < 60; i++) fs.writeFileSync('f' + i, Buffer.alloc(1 << 20)); await new Promise(() => setInterval(() => {}, 1000))`;
    expect(await daemon.attempt(fill)).toMatchObject({ failed: expect.stringContaining('max_disk_mb') });
    expect(await daemon.attempt('return 1')).toBe(1);
  });
});
