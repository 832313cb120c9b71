import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startDaemon } from './helpers/daemon.ts';
import { startDaemonProcess } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const SCRIPTED = join(import.meta.dirname, '../src/scripted/scripted.ts');

describe('a program that emits 30,000 texts in one turn', () => {
  test('is recorded completely and in order, with few commits', async () => {
    await using daemon = await startDaemon();
    const program = join(daemon.directory, 'chatty.mjs');
    writeFileSync(
      program,
      `let out = '';
for (let n = 0; n < 30_000; n += 1) out += JSON.stringify({ type: 'text', text: 'text ' + n }) + '\\n';
process.stdout.write(out + JSON.stringify({ type: 'done', text: 'that was all' }) + '\\n');
`,
    );
    await daemon.client.createAgent({ name: 'chatty', program });
    const [began, commits] = [Date.now(), daemon.daemon.store.commits()];
    const { messageId } = await daemon.client.sendMessage('chatty', { text: 'go' });
    expect(await daemon.client.awaitReply(messageId, 60)).toMatchObject({ text: 'that was all' });
    console.log(`30,000 texts took ${Date.now() - began} ms`);
    // One commit each would be 30,000, and over 40 s.
    expect(daemon.daemon.store.commits() - commits).toBeLessThan(1_000);
    const [run] = await daemon.daemon.store.read((tx) =>
      tx.runs.listRuns({ agentId: null, state: 'completed', before: null, limit: 1 }),
    );
    const records = await daemon.daemon.store.read((tx) => tx.records.listRecords({ runId: run?.id ?? '' }));
    const texts = records.filter(({ type }) => type === 'assistant_message').map(({ content }) => content);
    expect(texts).toEqual(Array.from({ length: 30_000 }, (_, n) => `text ${n}`));
  }, 60_000);
});

describe('a program that outlives its daemon', () => {
  test('is killed by the next one before the turn is retried', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'outlives-'));
    const home = join(directory, 'home');
    const [pids, gate, program] = ['pids', 'gate', 'waits.ts'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(
      program,
      `import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runAgent } from '${SCRIPTED}';
await runAgent(async () => {
  appendFileSync('${pids}', process.pid + '\\n');
  while (!existsSync('${gate}')) await sleep(20);
  return 'done by ' + process.pid;
});
`,
    );
    writeFileSync(pids, '');
    const started = () => readFileSync(pids, 'utf8').split('\n').filter(Boolean).map(Number);
    let daemon = await startDaemonProcess({ home });
    onTestFinished(async () => {
      await daemon.kill();
      for (const pid of started().filter(isAlive)) process.kill(pid, 'SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    });
    await daemon.client.createAgent({ name: 'worker', program });
    const { messageId } = await daemon.client.sendMessage('worker', { text: 'work' });
    const first = await until('the first attempt', () => started()[0]);
    await daemon.kill();
    expect(isAlive(first)).toBe(true);
    daemon = await startDaemonProcess({ home });
    const second = await until('the second attempt', () => started()[1]);
    expect([isAlive(first), isAlive(second)]).toEqual([false, true]);
    writeFileSync(gate, '');
    expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ text: `done by ${second}` });
  }, 60_000);
});

function isAlive(pid: number): boolean {
  try {
    // Signalling a zombie succeeds too.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
