import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { migrate } from '../../src/store/migrate.ts';
import type { Execute } from '../../src/store/query.ts';

/** These tables grow forever, so no query may read one from end to end. */
const GROWING = [
  ...[
    'agents',
    'block_changes',
    'broadcasts',
    'channels',
    'deliveries',
    'events',
    'members',
    'messages',
    'participants',
    'passages',
  ],
  ...['passage_tags', 'requests', 'run_messages', 'run_usage', 'runs', 'usage_totals'],
];
/** These indexes only contain what lives or waits. */
const SHORT = [
  ...[
    'agents_living',
    'agents_node',
    'broadcasts_open',
    'channels_public',
    'passages_unembedded',
    'passages_unindexed',
  ],
  ...[
    'requests_asker',
    'requests_deadline',
    'requests_recipient',
    'runs_live',
    'runs_queue',
    'runs_running',
    'runs_untallied',
  ],
];

/** Notes every statement that this process executes from now on, apart from those that are prepared already. */
export function noteStatements(): { readonly statements: ReadonlySet<string>; stop(): void } {
  const statements = new Set<string>();
  const { prepare } = Database.prototype;
  const { postMessage } = Worker.prototype;
  const note = (sql: string) => {
    if (/^\s*(select|insert|update|delete|with)\b/i.test(sql)) statements.add(sql);
  };
  Database.prototype.prepare = function prepareNoted(this: Database.Database, sql: string) {
    note(sql);
    return prepare.call(this, sql);
  } as typeof prepare;
  // Long reads are prepared in threads.
  Worker.prototype.postMessage = function postNoted(this: Worker, message: { sql?: string }, ...rest: []) {
    if (typeof message?.sql === 'string') note(message.sql);
    return postMessage.call(this, message, ...rest);
  } as typeof postMessage;
  return {
    statements,
    stop: () => {
      Database.prototype.prepare = prepare;
      Worker.prototype.postMessage = postMessage;
    },
  };
}

export interface LongStep {
  readonly sql: string;
  readonly step: string;
}

/** The steps that read a growing table from end to end, or build an index of one. Migrations may. */
export async function longSteps(statements: Iterable<string>): Promise<LongStep[]> {
  const database = new Database(':memory:');
  try {
    const migrations = new Set<string>();
    const execute: Execute = (sql) => {
      migrations.add(sql.trim());
      const statement = database.prepare(sql);
      if (statement.reader) return { rows: statement.all(), changes: 0 };
      return { rows: [], changes: statement.run().changes };
    };
    await migrate(execute, 'sqlite');
    return [...statements]
      .filter((sql) => !migrations.has(sql.trim()))
      .flatMap((sql) => {
        const tables = aliases(sql);
        return explain(database, sql)
          .filter((step) => isLong(step, tables))
          .map((step) => ({ sql, step }));
      });
  } finally {
    database.close();
  }
}

function explain(database: Database.Database, sql: string): string[] {
  const statement = database.prepare(`explain query plan ${sql}`);
  const holes = sql.match(/\?/g)?.length ?? 0;
  return (statement.all(...Array<string>(holes).fill('1')) as { detail: string }[]).map(({ detail }) => detail);
}

function isLong(step: string, tables: ReadonlyMap<string, string>): boolean {
  if (step.includes('AUTOMATIC')) return true;
  // From one end of the table: only a page of it in its own order may be read like that.
  const [, ranged = ''] = /^SEARCH (\w+) USING INTEGER PRIMARY KEY \(rowid[<>]/.exec(step) ?? [];
  if (GROWING.includes(tables.get(ranged) ?? ranged)) return true;
  const [, name = '', index = ''] = /^SCAN (\w+)(?:.* INDEX (\w+))?/.exec(step) ?? [];
  return GROWING.includes(tables.get(name) ?? name) && !SHORT.includes(index);
}

/** The plan has the names that a statement gives its tables. */
function aliases(sql: string): Map<string, string> {
  return new Map([...sql.matchAll(/"(\w+)" as "(\w+)"/g)].map(([, table, name]) => [name as string, table as string]));
}
