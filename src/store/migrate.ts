import { SubstratError } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import { heart } from './migrations/0001-heart.ts';
import { door } from './migrations/0002-door.ts';
import { fewerPages } from './migrations/0003-fewer-pages.ts';
import { sessions } from './migrations/0004-sessions.ts';
import { workspaces } from './migrations/0005-workspaces.ts';
import { inbox } from './migrations/0006-inbox.ts';
import { memory } from './migrations/0007-memory.ts';
import { channels } from './migrations/0008-channels.ts';
import { knowledge } from './migrations/0009-knowledge.ts';
import { vectors } from './migrations/0010-vectors.ts';
import { tracing } from './migrations/0011-tracing.ts';
import { personas } from './migrations/0012-personas.ts';
import { recordsInOrder } from './migrations/0013-records.ts';
import { bulkWords } from './migrations/0014-bulk-words.ts';
import { nodes } from './migrations/0015-nodes.ts';
import { wideNumbers } from './migrations/0016-wide-numbers.ts';
import { deaths } from './migrations/0017-deaths.ts';
import { payers } from './migrations/0018-payers.ts';
import { retention } from './migrations/0019-retention.ts';
import { broadcasts } from './migrations/0020-broadcasts.ts';
import { timers } from './migrations/0021-timers.ts';
import { sessionRows } from './migrations/0022-sessions.ts';
import { pageTokens } from './migrations/0023-page-tokens.ts';
import { failedAt } from './migrations/0024-failed-at.ts';
import { conversations } from './migrations/0025-conversations.ts';
import { fleet } from './migrations/0026-fleet.ts';
import { reminders } from './migrations/0027-reminders.ts';
import { attachments } from './migrations/0028-attachments.ts';
import { choices } from './migrations/0029-choices.ts';
import { writers } from './migrations/0030-writers.ts';
import { memorySearch } from './migrations/0031-memory-search.ts';
import { questions } from './migrations/0032-questions.ts';
import { settings } from './migrations/0033-settings.ts';
import { pushes } from './migrations/0034-pushes.ts';
import { configured } from './migrations/0035-configured.ts';
import { seats } from './migrations/0036-seats.ts';
import { takeover } from './migrations/0037-takeover.ts';
import { terms } from './migrations/0038-terms.ts';
import { gates } from './migrations/0039-gates.ts';
import { usage } from './migrations/0040-usage.ts';
import { history } from './migrations/0041-history.ts';
import { cheapGuards } from './migrations/0042-cheap-guards.ts';
import { steering } from './migrations/0043-steering.ts';
import { wips } from './migrations/0044-wips.ts';
import { budgets } from './migrations/0045-budgets.ts';
import { schedules } from './migrations/0046-schedules.ts';
import { subscriptions } from './migrations/0047-subscriptions.ts';
import { progress } from './migrations/0048-progress.ts';
import { chunkLengths } from './migrations/0049-chunk-lengths.ts';
import { evidence } from './migrations/0050-evidence.ts';
import { passageVocabulary } from './migrations/0051-passage-vocabulary.ts';
import { traces } from './migrations/0052-traces.ts';
import { relativeReminders } from './migrations/0053-relative-reminders.ts';
import { deletable } from './migrations/0054-deletable.ts';
import { chunkTotals } from './migrations/0055-chunk-totals.ts';
import { concurrentSyncs } from './migrations/0056-concurrent-syncs.ts';
import { budgetZones } from './migrations/0057-budget-zones.ts';
import { failedAttempts } from './migrations/0058-failed-attempts.ts';
import { fewerSpreadPages } from './migrations/0059-fewer-spread-pages.ts';
import { leftovers } from './migrations/0060-leftovers.ts';
import { schedulePayers } from './migrations/0061-schedule-payers.ts';
import type { Engine, Execute } from './query.ts';

/** In order. A landed migration is never edited: migrations/landed.test.ts has the checksum of each. */
const migrations: readonly string[] = [
  heart,
  door,
  fewerPages,
  sessions,
  workspaces,
  inbox,
  memory,
  channels,
  knowledge,
  vectors,
  tracing,
  personas,
  recordsInOrder,
  bulkWords,
  nodes,
  wideNumbers,
  deaths,
  payers,
  retention,
  broadcasts,
  timers,
  sessionRows,
  pageTokens,
  failedAt,
  conversations,
  fleet,
  reminders,
  attachments,
  choices,
  writers,
  memorySearch,
  questions,
  settings,
  pushes,
  configured,
  seats,
  takeover,
  terms,
  gates,
  usage,
  history,
  cheapGuards,
  steering,
  wips,
  budgets,
  schedules,
  subscriptions,
  progress,
  chunkLengths,
  evidence,
  passageVocabulary,
  traces,
  relativeReminders,
  deletable,
  chunkTotals,
  concurrentSyncs,
  budgetZones,
  failedAttempts,
  fewerSpreadPages,
  leftovers,
  schedulePayers,
];

/** The first version in which nodes register with their version. */
const FLEET = migrations.indexOf(fleet) + 1;

export const NEWEST_SCHEMA = migrations.length;

/** Every table that any version of the schema has; a PostgreSQL database may contain tables of other programs. */
export function knownTables(): Set<string> {
  const made = migrations.join('\n').matchAll(/(?:create (?:virtual )?table|rename to) (\w+)/g);
  return new Set([...made].map(([, name]) => name as string));
}

/**
 * Migrates the schema to the newest or the given version. The caller holds the store's write lock in an open
 * transaction.
 */
export async function migrate(execute: Execute, engine: Engine, target = NEWEST_SCHEMA): Promise<void> {
  await execute('create table if not exists schema_version (version integer not null)', []);
  const { rows } = await execute('select version from schema_version', []);
  const version = (rows[0] as { version: number } | undefined)?.version ?? 0;
  if (version > migrations.length) {
    const made = await madeBy(execute, engine);
    throw new SubstratError(
      'schema_too_new',
      `The store has schema version ${version}${made}; Substrat ${VERSION} supports up to ${migrations.length}. Update Substrat, or open another store.`,
    );
  }
  if (version >= target) return;
  if (engine === 'postgres' && version >= FLEET) await refuseOtherNodes(execute, version, target);
  for (const migration of migrations.slice(version, target)) {
    for (const statement of inDialect(migration, engine).split(/;\s*\n/)) {
      if (statement.trim()) await execute(statement, []);
    }
  }
  await execute('delete from schema_version', []);
  await execute(`insert into schema_version (version) values (${target})`, []);
}

/** Nodes of an earlier version would go on writing by the earlier schema, so they stop first. */
export async function refuseOtherNodes(execute: Execute, version: number, target: number): Promise<void> {
  const { rows } = await execute(
    `select name, version, host from nodes where stopped_at is null and lost_at is null
      and seen_at + dead_after_ms > (extract(epoch from clock_timestamp()) * 1000)::bigint order by name`,
    [],
  );
  if (rows.length === 0) return;
  const nodes = (rows as { name: string; version: string | null; host: string | null }[]).map(
    (node) => `${node.name} on ${node.host} (Substrat ${node.version})`,
  );
  throw new SubstratError(
    'conflict',
    `Substrat ${VERSION} has to change the store from schema version ${version} to ${target}, and other nodes use it: ${nodes.join(', ')}. Stop their daemons, start this one, then update them. A daemon that was killed counts as gone after its \`[node] dead_after\`.`,
  );
}

/** The newest Substrat that used the store, if it says so. */
async function madeBy(execute: Execute, engine: Engine): Promise<string> {
  const columns =
    engine === 'postgres'
      ? "select from information_schema.columns where table_name = 'nodes' and column_name = 'started_at'"
      : "select 1 from pragma_table_info('nodes') where name = 'started_at'";
  if ((await execute(columns, [])).rows.length === 0) return '';
  const { rows } = await execute('select version from nodes where version is not null order by started_at desc', []);
  const [node] = rows as { version: string }[];
  return node ? `, made by Substrat ${node.version}` : '';
}

/**
 * SQLite needs `integer` for a rowid key, and statements for one engine only are comments for the other. Every index
 * this saves is one page less written per message.
 */
function inDialect(migration: string, engine: Engine): string {
  const said = migration.replaceAll(/\/\* (sqlite|postgres): (.*?) \*\//g, (_, to: string, text: string) =>
    to === engine ? text : '',
  );
  return engine === 'postgres' ? said : said.replaceAll('bigint', 'integer');
}
