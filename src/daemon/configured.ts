import { hash } from 'node:crypto';
import { type Config, loadConfig } from '../config/config.ts';
import type { Applied } from '../core/configured.ts';
import { canonicalJson } from '../core/text.ts';
import type { ApplyItem, ApplyWish } from '../http/api.ts';
import type { Personas } from '../personas/personas.ts';
import { reconcileChannels } from './channels.ts';
import { type BudgetMaking, reconcileBudgets } from './configured-budgets.ts';
import { type ApplyMode, type MemberMaking, type Members, reconcileMembers } from './members.ts';
import type { Node, Stored } from './node.ts';
import { listNodes } from './nodes.ts';

interface Making extends MemberMaking, BudgetMaking, Pick<Node, 'log' | 'home'> {
  readonly stored: Stored;
  readonly personas: () => Promise<Personas>;
}

export interface ConfiguredTeam {
  /** Reads the configuration again, and makes members and channels what it says. Returns every difference. */
  apply(wish: ApplyWish): Promise<ApplyItem[]>;
  /** Differences that a person must decide about. */
  notices(): readonly string[];
  /** Stops following the personas. Resolves when the work in progress has ended. */
  close(): Promise<void>;
}

interface Reconciled extends Pick<Members, 'missing'> {
  readonly items: readonly ApplyItem[];
}

/**
 * Reconciles the configured agents and channels. Agents whose persona cannot be used are created when the personas
 * change, or at the next start. In a fleet a start only creates what is missing: nodes with different files would
 * otherwise undo each other's changes.
 */
export async function openConfigured(making: Making): Promise<ConfiguredTeam> {
  const { log, stored } = making;
  const isAlone = !(await hasOthers(making));
  const starting: ApplyMode = { dryRun: false, changes: isAlone, force: false, recreate: new Set() };
  // Without retries: the start fails if the store fails.
  const first = await reconcile(making, (work) => work(), starting);
  let { missing } = first;
  let { config } = making;
  let notices = isAlone ? noticesOf(first.items) : await fleetNotices(making, first.items);
  for (const item of first.items) if (item.action === 'change') log.info({}, describe(item));
  for (const warning of [...warningsOf(missing), ...notices]) log.warn({}, warning);
  let work: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    const next = work.then(task);
    work = next.catch(() => {});
    return next;
  };
  const again = () => {
    const task = async () => {
      if (![...missing.values()].some(({ ended }) => !ended)) return;
      const before = missing;
      ({ missing } = await reconcile({ ...making, config }, stored, starting));
      for (const [key, { name }] of before) if (!missing.has(key)) log.info({}, `Created [members.${name}].`);
    };
    inTurn(task).catch((error: Error) => {
      log.warn({}, `The configured members could not be created: ${error.message}`);
    });
  };
  const isWaiting = [...missing.values()].some(({ ended }) => !ended);
  const unfollow = isWaiting ? (await making.personas()).onChange(again) : () => {};
  // A persona may have been fixed before the listener was added.
  if (isWaiting) again();
  return {
    apply: (wish) =>
      inTurn(async () => {
        const read = readAgain(making);
        if (read.agents.length > 0 || making.config.agents.length > 0) await (await making.personas()).reload();
        const recreate = new Set(wish.recreate.map((name) => name.toLowerCase()));
        const mode = { dryRun: wish.dryRun, changes: true, force: wish.force, recreate };
        const done = await reconcile({ ...making, config: read }, stored, mode);
        if (!wish.dryRun) {
          config = read;
          missing = done.missing;
          notices = noticesOf(done.items);
        }
        return [...done.items, ...restartItems(making.config, read)];
      }),
    notices: () => notices,
    close: async () => {
      unfollow();
      await work;
    },
  };
}

async function reconcile(making: Making, stored: Stored, mode: ApplyMode): Promise<Reconciled> {
  const { store, config, clock } = making;
  const members = await reconcileMembers(making, stored, mode);
  const channels = await reconcileChannels(making, members, stored, mode);
  const budgets = await reconcileBudgets(making, members, stored, mode);
  const rows = await store.read(async (tx) => ({
    members: await tx.configured.listConfigured({ kind: 'member' }),
    channels: await tx.configured.listConfigured({ kind: 'channel' }),
    personas: await tx.configured.getConfigured({ kind: 'file', key: 'personas' }),
  }));
  const gone = [
    ...noLonger(
      'member',
      rows.members,
      config.members.map(({ name }) => name.toLowerCase()),
    ),
    ...noLonger(
      'channel',
      rows.channels,
      config.channels.map(({ id }) => id),
    ),
  ];
  const personas = personaItems(config, rows.personas?.applied ?? null);
  if (!mode.dryRun && mode.changes) {
    const kept = [
      { key: 'team', applied: { hash: { file: teamHash(config), value: making.home.nodeId } } },
      { key: 'personas', applied: hashesOf(config) },
    ];
    const write = store.write(async (tx) => {
      for (const { key, applied } of kept) {
        const before = await tx.configured.getConfigured({ kind: 'file', key });
        if (before && canonicalJson(before.applied) === canonicalJson(applied)) continue;
        await tx.configured.putConfigured({ kind: 'file', key, agentId: null, applied, at: clock() });
      }
    });
    await write;
  }
  return { missing: members.missing, items: [...members.items, ...channels, ...budgets, ...gone, ...personas] };
}

function readAgain({ config, home }: Pick<Making, 'config' | 'home'>): Config {
  const { file } = config;
  return loadConfig({ ...(file !== null && { file }), cwd: process.cwd(), home: home.path, env: process.env });
}

/** Personas follow the file by themselves; here they are only listed. */
function personaItems(config: Config, earlier: Applied | null): ApplyItem[] {
  if (earlier === null) return [];
  const now = hashesOf(config);
  const item = (name: string, action: ApplyItem['action'], note: string | null): ApplyItem[] => [
    { kind: 'persona', name, action, field: null, from: null, to: null, note },
  ];
  const changed = Object.entries(now).flatMap(([name, { file }]) => {
    const before = earlier[name];
    if (before === undefined) return item(name, 'create', null);
    return before.file === file ? [] : item(name, 'change', 'used from the next turn');
  });
  const gone = Object.keys(earlier).filter((name) => !(name in now));
  return [...changed, ...gone.flatMap((name) => item(name, 'left', 'no longer in the file; agents that use it fail'))];
}

function hashesOf({ agents }: Config): Applied {
  return Object.fromEntries(agents.map((one) => [one.name, { file: hash('sha256', canonicalJson(one)), value: null }]));
}

function teamHash({ members, channels }: Config): string {
  return hash('sha256', canonicalJson({ members, channels }));
}

function noLonger(
  kind: 'member' | 'channel',
  rows: readonly { readonly key: string }[],
  keys: readonly string[],
): ApplyItem[] {
  return rows
    .filter(({ key }) => !keys.includes(key))
    .map(({ key: name }) => {
      const note = 'no longer in the file; it stays';
      return { kind, name, action: 'left', field: null, from: null, to: null, note };
    });
}

/** Sections that only a start reads. */
function restartItems(running: Config, now: Config): ApplyItem[] {
  const followed = new Set(['members', 'channels', 'agents', 'tools', 'file']);
  return Object.keys(now)
    .filter((name) => !followed.has(name))
    .filter((name) => canonicalJson(running[name as keyof Config]) !== canonicalJson(now[name as keyof Config]))
    .map((name) => {
      const note = 'restart the daemon to use it';
      return { kind: 'section', name, action: 'left', field: null, from: null, to: null, note };
    });
}

async function hasOthers(making: Making): Promise<boolean> {
  const nodes = await listNodes(making);
  return nodes.some(({ self, state }) => !self && (state === 'alive' || state === 'draining'));
}

async function fleetNotices({ store, config, home }: Making, items: readonly ApplyItem[]): Promise<string[]> {
  const row = await store.read((tx) => tx.configured.getConfigured({ kind: 'file', key: 'team' }));
  const isOther = row !== null && row.applied.hash?.file !== teamHash(config);
  const differs = items.some(({ action }) => action === 'change' || action === 'conflict');
  if (!isOther && !differs) return [];
  const by = row === null || row.applied.hash?.value === home.nodeId ? '' : ` by the node ${row.applied.hash?.value}`;
  return [
    `Members or channels of the configuration are not those that were last applied${by}. Nodes that share a store do not change them at a start; \`substrat apply --dry-run\` shows the difference.`,
  ];
}

function noticesOf(items: readonly ApplyItem[]): string[] {
  const conflicts = items.filter(({ action }) => action === 'conflict');
  if (conflicts.length === 0) return [];
  const names = conflicts.map(({ kind, name, field }) => `${kind}s.${name} ${field}`).join(', ');
  return [`The configuration and people changed the same: ${names}. \`substrat apply --dry-run\` shows both.`];
}

function describe({ kind, name, field, from, to }: ApplyItem): string {
  return `[${kind}s.${name}] ${field ?? ''}: ${from ?? 'none'} -> ${to ?? 'none'}`;
}

function warningsOf(missing: Members['missing']): string[] {
  const groups = Map.groupBy(missing.values(), ({ because }) => because);
  return [...groups].map(([because, [first, ...below]]) => {
    if (first?.ended) return `[members.${because}] is not created: ${first.problem}`;
    const nor =
      below.length === 0 ? '' : ` Its descendants are not created either: ${below.map(({ name }) => name).join(', ')}.`;
    return `[members.${because}] is not created until this is fixed: ${first?.problem}${nor}`;
  });
}
