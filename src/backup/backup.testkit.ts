import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { sessionKeyOf } from '../core/session.ts';
import { storePassage } from '../memory/passages.ts';
import { chunkWords } from '../search/search.ts';
import { budgetOf, chargeOf } from '../store/budgets.testsuite.ts';
import { NEWEST_SCHEMA } from '../store/migrate.ts';
import { openStore } from '../store/open.ts';
import { addQuestion } from '../store/questions.testsuite.ts';
import { openSnapshot, type Row } from '../store/snapshot.ts';
import { addAgent, attachTo, endRun, entryOf, send, startRun, usedBy, wipOf } from '../store/store.testkit.ts';
import type { Store } from '../store/store.ts';
import { makeBackup } from './backup.ts';
import { type Restored, restoreBackup } from './restore.ts';

export type Where = { readonly path: string } | { readonly url: string };

export const LIMITS = { maxFileBytes: 1_000_000, maxHomeBytes: 10_000_000, maxEntries: 1_000 };
export const NODE = 'node-of-the-home';

export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'backup-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** A home with the files that a daemon leaves there, next to its store. */
export function makeHome(directory: string, name = 'home'): string {
  const home = join(directory, name);
  mkdirSync(join(home, 'agents'), { recursive: true });
  for (const [file, text] of Object.entries({
    node: `${NODE}\n`,
    token: 'secret\n',
    'config.toml': '[daemon]\nslots = 2\n',
  })) {
    writeFileSync(join(home, file), text, { mode: 0o600 });
  }
  return home;
}

/** Fills every table: messages, runs, sessions, timers, memory, documents with words and vectors. Returns the owner of the passages. */
export async function fillStore(store: Store, home: string): Promise<{ agentId: string }> {
  return store.write(async (tx) => {
    const agent = await addAgent(tx, { nodeId: NODE, workspace: join(home, 'workspaces/w/inside') });
    const child = await addAgent(tx, { parent: agent });
    const workspaceId = randomUUID();
    await tx.workspaces.insertWorkspace({
      id: workspaceId,
      name: 'w',
      nameKey: 'w',
      ownerId: agent.id,
      path: join(home, 'workspaces/w'),
      made: true,
      nodeId: NODE,
      viewOf: null,
      mode: 'rw',
      network: null,
      repository: null,
      createdAt: 1,
      deletedAt: null,
    });
    await tx.wips.insertWip(wipOf({ workspaceId, agentId: agent.id, leftOut: ['ö'] }));
    await endRun(tx, await startRun(tx, agent));
    await tx.runs.tallyRuns({ limit: 9 });
    const running = await startRun(tx, child);
    await tx.runs.setRunProcess({ id: running.id, pid: 4711, startedAt: 'then' });
    const stalled = { progress: 'stalled', reason: 'No event.', since: 4, toldAttempt: 1 } as const;
    await tx.runs.setProgress({ id: running.id, ...stalled });
    await tx.runs.setPatience({ id: running.id, until: 9 });
    await tx.runs.setUsage(usedBy(running, { inputTokens: 2 ** 40, costUsd: 0.5 }));
    await tx.sessions.nameSession({ ...sessionKeyOf(agent), handle: 's' });
    await attachTo(tx, await send(tx, { to: child, from: agent.id, text: 'with a file' }));
    await tx.conversations.insertEntry(entryOf({ agentId: agent.id }));
    await tx.settings.insertRevision({ agentId: agent.id, revision: 1, settings: agent, changedBy: null, at: 5 });
    const applied = { role: { file: 'ö', value: 'ö' } };
    await tx.configured.putConfigured({ kind: 'member', key: 'm', agentId: agent.id, applied, at: 5 });
    await tx.settings.keepName({ agentId: agent.id, nameKey: 'before' });
    await tx.snapshots.putSnapshotFile({ hash: 'h', size: 2 ** 20, bytes: new Uint8Array([0, 255]), now: 5 });
    await tx.snapshots.putSnapshot({ snapshot: 's', entries: [{ path: '.p/ö', hash: 'h' }], now: 5 });
    await tx.timers.setTimer({ kind: 'k', key: child.id, due: 2 ** 41 });
    const reminder = { id: 'r', agentId: agent.id, reason: 'ö', everyMs: 2 ** 40, chainDepth: 1, createdAt: 5 };
    const budget = budgetOf({ subjectId: agent.id, treeId: agent.treeId, amount: 2.5 });
    await tx.budgets.setBudget(budget);
    await tx.budgets.setCharge(chargeOf({ budgetId: budget.id, runId: running.id, reserved: 0.25 }));
    await tx.reminders.insertReminder({ ...reminder, payerId: null, messageId: null, lastDue: 5, relative: true });
    const at = { cron: '0 8 * * *', timeZone: 'UTC', target: 'ö', text: 'ö', runs: 5, toldSpent: false, nodeId: null };
    const fired = { messageId: null, lastDue: 2 ** 41, lastAt: 5, error: null };
    await tx.schedules.insertSchedule({ id: 's', name: 'S', nameKey: 's', ...at, ...fired, createdAt: 5 });
    const watch = { agentId: agent.id, subjectId: child.id, fromState: '*', toState: 'idle', once: true } as const;
    const noticed = { chainDepth: 1, payerId: null, messageId: null, createdAt: 5 };
    await tx.subscriptions.insertSubscription({ id: 'w', ...watch, ...noticed });
    await addQuestion(tx, agent);
    const messageId = await send(tx, { to: child, from: agent.id, text: 'Ünï “quotes”\n\\ and 🙂' });
    const claimed = { kind: 'command', subject: 'ö', expected: '0', state: 'ran', detail: 'ö', tree: 'ab' } as const;
    const ofClaim = { messageId, position: 0, agentId: agent.id, runId: running.id, createdAt: 2 ** 41, checkedAt: 5 };
    await tx.evidence.insertEvidence({ ...ofClaim, ...claimed });
    await storePassage(tx, agent.id, { content: 'The deployment failed on Tuesday', tags: ['ops'] }, 5);
    const [passage] = await tx.memory.listUnembeddedPassages({ nodeId: NODE, limit: 1 });
    if (!passage) throw new Error('There is no passage.');
    const ofPassage = { agentId: agent.id, seq: passage.seq, vector: Buffer.from([0, 0, 250, 255]) };
    await tx.memory.putPassageVectors({ model: 'm', dimension: 1, vectors: [ofPassage] });
    const title = 'Handbook';
    const text = 'Deploying with care';
    const place = { headings: ['Releases'], from: 1, to: 2 };
    const words = chunkWords({ title, headings: ['Releases'], text });
    const document = {
      id: randomUUID(),
      source: 'filesystem:docs',
      sourceId: 'handbook.md',
      version: 'v',
      hash: 'h',
      contentType: 'text/markdown',
      createdAt: 1,
      updatedAt: 2,
      indexedAt: 3,
      title,
      author: null,
      url: null,
      tags: [],
      metadata: {},
      body: text,
    };
    await tx.documents.replaceDocuments([{ document, chunks: [{ hash: 'c', place, text, words }] }]);
    const [pending] = await tx.documents.listUnembedded({ model: 'm', after: 0, limit: 1 });
    if (!pending) throw new Error('There is no chunk.');
    const vector = Buffer.from([0, 1, 2, 250, 255, 10, 13, 0]);
    await tx.documents.putVectors({ model: 'm', dimension: 2, vectors: [{ chunkId: pending.id, hash: 'c', vector }] });
    return { agentId: agent.id };
  });
}

/** Every row of every table, sorted. */
export async function dump(where: Where): Promise<Record<string, readonly Row[]>> {
  const snapshot = await openSnapshot(where);
  const tables: Record<string, Row[]> = {};
  for (const table of snapshot.tables) {
    const rows: Row[] = [];
    for await (const page of snapshot.rows(table)) rows.push(...page.map((row) => ({ ...row })));
    tables[table] = rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  await snapshot.close();
  return tables;
}

export function backUp(file: string, home: string, store: Where, limits = LIMITS) {
  return makeBackup({ file, home, store, limits, version: '0.0.0', onProgress: () => {} });
}

export function restore(file: string, home: string, store: Where, force = false): Promise<Restored> {
  mkdirSync(home, { recursive: true });
  return restoreBackup({
    file,
    home,
    force,
    newestSchema: NEWEST_SCHEMA,
    findStore: () => store,
    onProgress: () => {},
  });
}

export async function useStore<T>(where: Where, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(where);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
