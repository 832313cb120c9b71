import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { storeRows } from '../helpers/daemon.ts';
import { ask } from '../helpers/http.ts';
import { runSubstrat, startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const disk = mkdtempSync(join(tmpdir(), 'disk-'));
const filler = join(disk, 'filler');
const place = mkdtempSync(join(tmpdir(), 'beside-'));
// Only root may mount; otherwise the store's own test of a full disk must do.
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'substrat-test', disk]).status === 0;

afterAll(() => {
  if (mounted) execFileSync('umount', [disk]);
  for (const directory of [disk, place]) rmSync(directory, { recursive: true });
});

describe.runIf(mounted)('a full disk', () => {
  let home: string;
  let count = 0;
  beforeEach(() => {
    rmSync(filler, { force: true });
    home = join(disk, `home${count++}`);
  });

  test('fails the start in one sentence, in the foreground and in the background', async () => {
    mkdirSync(home, { mode: 0o700 });
    fill();
    for (const args of [['up'], ['daemon', 'start']]) {
      const { code, stderr } = await runSubstrat(args, { home });
      expect(code).toBe(1);
      expect(stderr).toBe(`substrat: The home ${home} cannot be used: the disk is full; free some space.\n`);
    }
    rmSync(filler);
    const daemon = await startDaemonProcess({ home });
    expect(await daemon.stop()).toBe(0);
  });

  test('refuses writes and changes nothing; with room, the daemon continues', async () => {
    const daemon = await startDaemonProcess({ home });
    await daemon.client.createAgent({ name: 'me', provider: 'external' });
    const before = await storeRows(home);
    fill();
    for (const text of ['short', 'long '.repeat(50_000)]) {
      await expect(daemon.client.sendMessage('me', { text })).rejects.toMatchObject({
        code: 'store',
        message: "The store's disk is full; nothing was changed. Free some space and try again.",
      });
    }
    const body = { name: 'new', provider: 'external' };
    const answer = await ask({ home }, '/api/agents', { method: 'POST', body });
    expect([answer.status, answer.json.error.code]).toEqual([503, 'store']);
    expect(await daemon.client.getAgent('me')).toMatchObject({ pending: 0 });
    rmSync(filler);
    expect(await storeRows(home)).toEqual(before);
    await daemon.client.sendMessage('me', { text: 'again' });
    expect(await daemon.client.getAgent('me')).toMatchObject({ pending: 1 });
    expect(await daemon.stop()).toBe(0);
  });

  test('delays the end of a turn; with room, its answer arrives', async () => {
    const daemon = await startDaemonProcess({ home });
    const gate = join(place, 'gate');
    const program = join(place, 'waits.ts');
    const scripted = join(import.meta.dirname, '../../src/scripted/scripted.ts');
    writeFileSync(
      program,
      `import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runAgent } from '${scripted}';
await runAgent(async () => {
  while (!existsSync('${gate}')) await sleep(20);
  return 'done';
});
`,
    );
    await daemon.client.createAgent({ name: 'worker', program });
    const { messageId } = await daemon.client.sendMessage('worker', { text: 'work' });
    await until('a turn', async () => (await daemon.client.getAgent('worker')).state === 'busy');
    fill();
    writeFileSync(gate, '');
    await sleep(1500);
    expect(await daemon.client.getMessage(messageId)).toMatchObject({ request: 'open' });
    rmSync(filler);
    expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ text: 'done', kind: 'reply' });
    expect(await daemon.stop()).toBe(0);
  });
});

test.runIf(!mounted)('a full disk is not tested: mounting is not possible here', () => {});

function fill(): void {
  for (const size of [65_536, 4096, 1]) {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(size));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
}
