import { hash as digest } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { Agent } from '../core/agent.ts';
import { isShared } from '../core/portable.ts';
import type { Description } from '../providers/description.ts';
import { readSession, type SessionFile } from '../providers/session-files.ts';
import type { SnapshotEntry, SnapshotFile, Store } from '../store/store.ts';
import type { Node } from './node.ts';

/** A turn's end does not wait longer for its snapshot: the session is not portable yet, then. */
const PATIENCE_MS = 5_000;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

interface Saving extends Pick<Node, 'store' | 'home' | 'config' | 'clock' | 'log'> {
  /** Whether programs have the agent's home; without a sandbox they have the person's. */
  readonly confined: boolean;
}

/**
 * Stores the session of an agent that another node could take over. Called when its turn has ended well and no process
 * of it runs, before the transaction that completes the run, which records the returned hash. Null if the session is
 * not stored.
 */
export async function saveSession(
  saving: Saving,
  { sessionPaths }: Pick<Description, 'sessionPaths'>,
  agent: Pick<Agent, 'id' | 'workspace' | 'workspaceId'>,
): Promise<string | null> {
  const { store, config, log, confined } = saving;
  const { portable, shared } = config.node;
  const isPortable = portable && (isShared(shared, agent.workspace) || (await isGit(saving, agent)));
  if (store.engine === 'sqlite' || !isPortable || sessionPaths === undefined) return null;
  if (sessionPaths.length > 0 && !confined) return null;
  const waiting = new AbortController();
  try {
    const late = sleep(PATIENCE_MS, null, { signal: waiting.signal }).catch(() => null);
    const saved = await Promise.race([storeFiles(saving, sessionPaths, agent.id), late]);
    if (saved === null) log.warn({ agentId: agent.id }, 'the session could not be stored in time');
    return saved;
  } catch (error) {
    log.warn({ agentId: agent.id, error: (error as Error).message }, 'the session could not be stored');
    return null;
  } finally {
    waiting.abort();
  }
}

/** Whether its workspace is pushed after each turn. */
async function isGit({ store, config }: Saving, { workspaceId }: Pick<Agent, 'workspaceId'>): Promise<boolean> {
  if (store.engine === 'sqlite' || config.node.wipRemote === null || workspaceId === null) return false;
  return (await store.read((tx) => tx.wips.getWip({ workspaceId }))) !== null;
}

async function storeFiles({ store, home, clock }: Saving, paths: readonly string[], agentId: string): Promise<string> {
  const read = readSession(home.agentHome(agentId), paths);
  if (paths.length > 0 && read.length === 0) throw new Error('It has no files where the provider stores sessions.');
  const files = new Map(read.map(({ bytes }) => [digest('sha256', bytes), bytes]));
  const entries = read.map(({ path, bytes }) => ({ path, hash: digest('sha256', bytes) }));
  const snapshot = snapshotOf(entries);
  if (entries.length === 0) return snapshot;
  const now = clock();
  const hashes = [...files.keys()];
  const stored = new Set(await store.write((tx) => tx.snapshots.useFiles({ hashes, now })));
  const missing: SnapshotFile[] = [];
  for (const [hash, bytes] of files) {
    if (!stored.has(hash)) missing.push({ hash, size: bytes.length, bytes: await compress(bytes) });
  }
  await store.write(async (tx) => {
    for (const file of missing) await tx.snapshots.putSnapshotFile({ ...file, now });
    await tx.snapshots.putSnapshot({ snapshot, entries, now });
  });
  return snapshot;
}

/** The files of a snapshot, as they were when it was made. Throws if something of it is missing or changed. */
export async function loadSession(store: Store, snapshot: string): Promise<SessionFile[]> {
  const entries = await store.read((tx) => tx.snapshots.listEntries({ snapshot }));
  if (snapshotOf(entries) !== snapshot) throw new Error(`The snapshot ${snapshot} is not complete.`);
  const files: SessionFile[] = [];
  for (const { path, hash } of entries) {
    const file = await store.read((tx) => tx.snapshots.getSnapshotFile({ hash }));
    const bytes = file && (await decompress(file.bytes, { maxOutputLength: Math.max(1, file.size) }));
    if (!bytes || digest('sha256', bytes) !== hash) throw new Error(`The file ${path} of a snapshot is damaged.`);
    files.push({ path, bytes });
  }
  return files;
}

function snapshotOf(entries: readonly SnapshotEntry[]): string {
  const sorted = entries.map(({ path, hash }) => [path, hash]).sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  return digest('sha256', JSON.stringify(sorted));
}
