import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { audit, type Findings, RESTS } from './chaos/audit.ts';
import { createBackups } from './chaos/companions/backups.ts';
import type { Companion } from './chaos/companions/companion.ts';
import { createExternal } from './chaos/companions/external.ts';
import { createMemory } from './chaos/companions/memory.ts';
import { createReaders } from './chaos/companions/readers.ts';
import { createRounds } from './chaos/companions/rounds.ts';
import { createSettings } from './chaos/companions/settings.ts';
import { createSyncs } from './chaos/companions/syncs.ts';
import { createDaemonProcess, type DaemonProcess } from './chaos/daemon-process.ts';
import { askWhile, type Errand, replyTo, send } from './chaos/person.ts';
import { linesOf } from './chaos/plan.ts';
import { createRandom } from './chaos/random.ts';
import { filesLeft, processesLeft } from './chaos/remains.ts';

const kills = Number(process.env.SUBSTRAT_CHAOS_KILLS ?? 30);
const seed = Number(process.env.SUBSTRAT_CHAOS_SEED ?? randomInt(2 ** 31));
const LEAST_REQUESTS = 500;
const PATIENCE_MS = 60_000;

describe('a daemon that is killed', () => {
  test(
    `${kills} times at random moments loses nothing, repeats nothing and leaves nothing`,
    async () => {
      console.log(`chaos: SUBSTRAT_CHAOS_SEED=${seed} SUBSTRAT_CHAOS_KILLS=${kills}`);
      const daemon = startDaemon();
      await daemon.ready();
      const creators = [
        createBackups,
        createExternal,
        createMemory,
        createReaders,
        createRounds,
        createSettings,
        createSyncs,
      ];
      const companions = creators.map((create, n) => create(daemon, createRandom(seed + n + 1)));
      let killing = true;
      const killed = killAtRandom(daemon, createRandom(seed)).then(() => {
        killing = false;
      });
      const more = (errands: readonly Errand[]) => killing || countRequests(errands) < LEAST_REQUESTS;
      const working = companions.map((companion) => companion.work(() => killing));
      const asking = askWhile(daemon, { to: 'lead', atOnce: 8, more });
      const [errands] = await Promise.all([asking, killed, ...working]);
      const { requests, repeated } = await finish(daemon, errands, companions);
      expect(requests).toBeGreaterThanOrEqual(LEAST_REQUESTS);
      expect(repeated).toBeGreaterThan(0);
    },
    120_000 + kills * 5_000,
  );

  test('after each of its writes ends in the same state', async () => {
    const daemon = startDaemon();
    // A task for which a child is created, which completes.
    const errand = await send(daemon, 4, 'cal');
    const times = await killAfterEachWrite(daemon);
    errand.reply = await replyTo(daemon, errand.messageId as string);
    await finish(daemon, [errand]);
    expect(times).toBeGreaterThan(10);
  }, 120_000);

  test('while it writes a file of its home leaves none empty for the next one', async () => {
    const daemon = createDaemonProcess();
    onTestFinished(() => daemon.remove({ keep: false }));
    const files = ['node', 'token'].map((name) => join(daemon.home, name));
    for (const file of files) writeFileSync(file, '');
    daemon.start();
    await daemon.ready();
    for (const file of files) expect(readFileSync(file, 'utf8').trim()).not.toBe('');
  });
});

function startDaemon(): DaemonProcess {
  const daemon = createDaemonProcess();
  onTestFinished(({ task }) => daemon.remove({ keep: task.result?.state === 'fail' }));
  daemon.start();
  return daemon;
}

/** A third of the moments are counted from the start, so that they also hit startup and recovery. */
async function killAtRandom(daemon: DaemonProcess, random: () => number): Promise<void> {
  for (let n = 0; n < kills; n += 1) {
    const early = random() < 1 / 3;
    const delay = random() * (early ? 400 : 1200);
    if (!early) await daemon.ready();
    await sleep(delay);
    await daemon.kill();
    daemon.start();
  }
}

/** Kills as soon as the store has progressed since the last kill, until there is nothing to do. */
async function killAfterEachWrite(daemon: DaemonProcess): Promise<number> {
  const watch = watchStore(daemon);
  for (let n = 0, seen = 0; ; n += 1) {
    await until(daemon, () => watch.isQuiet() || watch.progress() > seen);
    if (watch.progress() === seen) {
      watch.close();
      return n;
    }
    await daemon.kill();
    seen = watch.progress();
    daemon.start();
  }
}

/** Lets the daemon finish, stops it like Ctrl-C does, and checks what is left. */
async function finish(
  daemon: DaemonProcess,
  errands: readonly Errand[],
  companions: readonly Companion[] = [],
): Promise<Findings> {
  const watch = watchStore(daemon);
  await until(daemon, watch.isQuiet);
  watch.close();
  await Promise.all(companions.map((companion) => companion.settle?.()));
  expect(await daemon.stop()).toBe(0);
  expect(processesLeft(daemon.directory)).toEqual([]);
  expect(filesLeft(daemon.directory)).toEqual([]);
  const findings = await audit(daemon.directory, errands);
  const { requests, runs, attempts, repeated } = findings;
  const faults = [...findings.faults, ...(await Promise.all(companions.map((one) => one.faults()))).flat()];
  console.log(`chaos: ${requests} requests, ${runs} runs, ${attempts} attempts, ${repeated} calls repeated`);
  expect(faults).toEqual([]);
  return findings;
}

async function until(daemon: DaemonProcess, condition: () => boolean): Promise<void> {
  for (const giveUp = Date.now() + PATIENCE_MS; !condition(); await sleep(1)) {
    daemon.checkHealth();
    if (Date.now() > giveUp) throw new Error(`The daemon comes to no end in ${PATIENCE_MS} ms.`);
  }
}

function watchStore({ home }: DaemonProcess) {
  const db = new Database(join(home, 'substrat.db'), { readonly: true });
  const read = (sql: string) => db.prepare(sql).pluck();
  // Only counts work that is not repeated: what recovery itself writes is not progress.
  const progress = read(`
    select (select count(*) from messages) + (select count(*) from agents)
      + (select count(*) + count(ended_at) from runs where attempt > 0)
      + (select count(*) from run_messages where effect = 1)`);
  const unfinished = read(`
    select (select count(*) from requests where state = 'open')
      + (select count(*) from runs where state in ('created', 'running'))
      + (select count(*) from deliveries d where state in ('pending', 'injected') and not (${RESTS}))`);
  return {
    progress: () => progress.get() as number,
    isQuiet: () => unfinished.get() === 0,
    close: () => db.close(),
  };
}

function countRequests(errands: readonly Errand[]): number {
  const known = errands.filter(({ messageId }) => messageId !== null);
  return known.flatMap(({ task, to }) => linesOf(task, to)).filter(({ kind }) => kind === 'request').length;
}
