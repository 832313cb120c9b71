import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createClient, SubstratError } from '../../src/client/client.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';

const READERS = 200;
const EVENTS = 5000;
const KILLS = 3;
/** Each message is one event; others are the creation of its recipient, and the starts of the daemon. */
const ALL = EVENTS + 1 + KILLS + 1;

test('200 readers that disconnect and reconnect see each of 5,000 events once, in order, through three kills', {
  timeout: 240_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'readers-'));
  const home = join(directory, 'home');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, 'config.toml'), '[server]\nbind = "127.0.0.1:0"\n[limits]\nmax_tree_runs = 1000000\n');
  let daemon = await startDaemonProcess({ home });
  const client = createClient({ home });
  await client.createAgent({ name: 'sink', provider: 'external' });

  let written = 0;
  const write = async (n: number): Promise<void> => {
    // The same key until there is a response: what the killed daemon had stored is not stored again.
    while (!(await post(client, n))) await sleep(20);
    written += 1;
  };
  const readers = Array.from({ length: READERS }, () => reader(home, () => written === EVENTS));
  const writing = inParallel(EVENTS, 16, write);
  for (let kill = 1; kill <= KILLS; kill += 1) {
    while (written < (EVENTS * kill) / (KILLS + 1)) await sleep(5);
    await daemon.kill();
    daemon = await startDaemonProcess({ home });
  }
  await writing;
  for (const seen of await Promise.all(readers)) {
    expect(seen.length).toBe(ALL);
    expect(seen.every((seq, i) => seq === i + 1)).toBe(true);
  }
  await daemon.stop();
  rmSync(directory, { recursive: true });
});

/** Reads some events, disconnects and resumes, until it has seen the last one. */
async function reader(home: string, complete: () => boolean): Promise<number[]> {
  const seen: number[] = [];
  while (!complete() || seen.length < ALL) {
    const stop = new AbortController();
    const leave = setTimeout(() => stop.abort(), 200 + Math.random() * 3000);
    try {
      const events = createClient({ home }).followEvents({ after: seen.length, signal: stop.signal });
      for await (const { seq } of events) {
        seen.push(seq);
        if (seen.length === ALL) break;
      }
    } catch (error) {
      if (!(error instanceof SubstratError && error.code === 'not_running')) throw error;
      await sleep(50);
    } finally {
      clearTimeout(leave);
      stop.abort();
    }
  }
  return seen;
}

function post(client: ReturnType<typeof createClient>, n: number): Promise<boolean> {
  return client.sendMessage('sink', { text: `message ${n}` }, { idempotencyKey: `n${n}` }).then(
    () => true,
    (error) => {
      if (error instanceof SubstratError && error.code === 'not_running') return false;
      throw error;
    },
  );
}

async function inParallel(count: number, width: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) await work(next++);
    }),
  );
}
