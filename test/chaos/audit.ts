import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { agentState } from '../../src/core/agent.ts';
import { openStore } from '../../src/store/open.ts';
import { SIDE } from './companions/companion.ts';
import type { Errand } from './person.ts';
import { type Line, linesOf, rootToken } from './plan.ts';
import { standing } from './standing.ts';

/** The default of the configuration. */
const MAX_CHAIN_DEPTH = 3;

/** A delivery at the maximum chain depth wakes nobody: it waits for the next run, which may never come. */
export const RESTS = "d.state = 'pending' and d.round = -1";

export interface Findings {
  /** One sentence each; empty if everything is correct. */
  readonly faults: readonly string[];
  readonly requests: number;
  readonly attempts: number;
  readonly runs: number;
  /** Calls whose result a repeated attempt got from the record. */
  readonly repeated: number;
}

/** Checks everything that the daemon promised in the store that it left. */
export async function audit(directory: string, errands: readonly Errand[]): Promise<Findings> {
  const path = join(directory, 'home/substrat.db');
  const db = new Database(path, { readonly: true });
  const rows = <T>(sql: string): T[] => db.prepare(sql).all() as T[];
  const journal = readJournal(directory);
  const faults = [
    ...exactlyThePlan(rows, errands),
    ...acknowledgedIsThere(rows, errands, journal),
    ...acknowledgedWasSeen(rows, journal),
    ...brokenRules(rows),
    ...(await restless(path)),
    ...loggedFaults(directory),
  ];
  const [totals] = rows<Omit<Findings, 'faults' | 'repeated'>>(
    'select (select count(*) from requests) requests, count(*) runs, sum(attempt) attempts from runs',
  );
  db.close();
  const repeated = journal.filter((entry) => entry.repeated).length;
  return { faults, repeated, requests: 0, runs: 0, attempts: 0, ...totals };
}

type Rows = <T>(sql: string) => T[];

/** What an agent received (`got`), or what a tool returned (`tool`). */
interface Entry {
  readonly name: string;
  readonly runId: string;
  readonly text: string;
  readonly got?: string;
  readonly tool?: string;
  readonly id?: string;
  readonly repeated?: boolean;
}

/**
 * Compares every delivery and every answer to a person with the plan: none is missing or duplicated, each answer has
 * the right text and recipient, each is acknowledged, and only deliveries that crash their program each time are
 * dead.
 */
function exactlyThePlan(rows: Rows, errands: readonly Errand[]): string[] {
  const found = rows<Line & { state: string }>(`
    select author.handle as "from", coalesce(recipient.handle, 'USER') as "to",
      case when m.kind in ('reply', 'error') then m.kind else coalesce(d.kind, m.kind) end as kind,
      case when m.kind = 'error' then replace(asked.text, 'ask ', 'failed ') else m.text end as text,
      case when ${RESTS} then 'acknowledged' else coalesce(d.state, 'acknowledged') end as state
    from messages m
      join participants author on author.id = m.author_id
      left join deliveries d on d.message_id = m.id
      left join participants recipient on recipient.id = d.agent_id
      left join messages asked on asked.id = m.in_reply_to
    where m.text not like '${SIDE}%' and m.kind <> 'notice'`);
  const asked = new Set(found.filter(({ from }) => from === 'user').map(({ text }) => text));
  const tasks = errands.filter(({ task, to, messageId }) => messageId !== null || asked.has(askOf(task, to)));
  const expected = tasks.flatMap(({ task, to }) => linesOf(task, to));
  return difference(
    expected.map((line) => toText({ ...line, from: line.from === 'USER' ? 'user' : line.from }, stateOf(line))),
    found.map((line) => toText(line, line.state)),
  );
}

function askOf(task: number, to: string): string {
  return `ask ${rootToken(task, to)}`;
}

function toText({ from, to, kind, text }: Line, state: string): string {
  return `${from} > ${to}: ${kind} "${text}" ${state}`;
}

function stateOf({ kind, text }: Line): string {
  return kind === 'request' && text.endsWith('/doom') ? 'dead' : 'acknowledged';
}

function difference(expected: readonly string[], found: readonly string[]): string[] {
  const count = new Map<string, number>();
  for (const one of expected) count.set(one, (count.get(one) ?? 0) + 1);
  for (const one of found) count.set(one, (count.get(one) ?? 0) - 1);
  return [...count].flatMap(([one, n]) => {
    if (n === 0) return [];
    return [n > 0 ? `missing: ${one}` : `${-n} too many: ${one}`];
  });
}

/** Every message and agent whose creation was acknowledged exists, and a repeated call got the same result. */
function acknowledgedIsThere(rows: Rows, errands: readonly Errand[], journal: readonly Entry[]): string[] {
  const texts = new Map(rows<{ id: string; text: string }>('select id, text from messages').map((m) => [m.id, m.text]));
  for (const { id, name } of rows<{ id: string; name: string }>('select id, name from agents')) texts.set(id, name);
  const replies = new Map(
    rows<{ id: string; text: string }>(
      'select message_id id, m.text from requests join messages m on m.id = reply_id',
    ).map((reply) => [reply.id, reply.text]),
  );
  const ids = new Map<string, string>();
  const faults: string[] = [];
  for (const { tool, id, text, name } of journal) {
    if (!tool || !id) continue;
    if (texts.get(id) !== text) faults.push(`${name} was told that "${text}" is ${id}, where "${texts.get(id)}" is`);
    const key = `${name} ${tool} ${text}`;
    if (ids.has(key) && ids.get(key) !== id) faults.push(`${key} has two ids`);
    ids.set(key, id);
  }
  for (const { task, to, messageId, reply } of errands) {
    if (messageId === null) continue;
    if (texts.get(messageId) !== askOf(task, to)) faults.push(`the message of task ${task} is not there`);
    if (replies.get(messageId) !== reply) faults.push(`the reply to task ${task} was "${reply}"`);
  }
  return faults;
}

/** A delivery is not acknowledged before a program has received it. */
function acknowledgedWasSeen(rows: Rows, journal: readonly Entry[]): string[] {
  const seen = new Set(journal.map(({ name, got }) => `${name} ${got}`));
  return rows<{ id: string; name: string }>(
    `select message_id id, name from deliveries d join agents a on a.id = d.agent_id where state = 'acknowledged'`,
  )
    .filter(({ id, name }) => !seen.has(`${name} ${id}`))
    .map(({ id, name }) => `${name} never got ${id}, which is acknowledged`);
}

/** Each query finds violations. */
function brokenRules(rows: Rows): string[] {
  const rules: Readonly<Record<string, string>> = {
    'a request is not closed by exactly one answer': `
      select message_id from requests r where state <> 'closed' or reply_id is null
        or (select count(*) from messages m where m.in_reply_to = r.message_id and m.late = 0) <> 1
        or reply_id <> (select id from messages m where m.in_reply_to = r.message_id and m.late = 0)`,
    'a reply is late': 'select id from messages where late <> 0',
    'a delivery is not at its end': `
      select * from deliveries d where state not in ('acknowledged', 'dead') and not (${RESTS})`,
    'a run is not at its end': `select id, state from runs where state in ('created', 'running') or ended_at is null`,
    'a run ended badly': `
      select runs.id, runs.state, runs.error from runs left join messages on messages.id = trigger_id
      where state <> 'completed' and text not like '%/doom'`,
    // Nobody replies to a broadcast, so each one that wakes the siblings has a notice about it. One at
    // `max_chain_depth` wakes nobody and collects nothing; runs get that deep here, because they carry others' news.
    'a broadcast that wakes has not one notice of who said nothing, or one that does not wake has one': `
      select id, chain_depth from messages m where text like 'broadcast %' and (select count(*) from messages n
        where n.kind = 'notice' and n.text like '%' || m.id || '%') <> (chain_depth < ${MAX_CHAIN_DEPTH})`,
    'a broadcast is still collected': 'select message_id from broadcasts where closed_at is null',
    'an effect is recorded twice':
      'select run_id, call_key from run_messages where effect = 1 group by 1, 2 having count(*) > 1',
    'a number of an event is missing': `
      select max(seq), count(*) from events
      having min(seq) <> 1 or max(seq) <> count(*)`,
    'a message has not exactly one event': `
      select id from messages m where (select count(*) from events e
        where e.seq = m.seq and e.type = 'message_created' and json_extract(e.data, '$.messageId') = m.id) <> 1
      union all select seq from events where type = 'message_created' and seq not in (select seq from messages)`,
    'the file is damaged': `select * from pragma_integrity_check where integrity_check <> 'ok'`,
    'a reference leads nowhere': 'select * from pragma_foreign_key_check',
  };
  return Object.entries(rules).flatMap(([rule, sql]) => rows(sql).map((row) => `${rule}: ${JSON.stringify(row)}`));
}

/** The team is idle, and every spawned agent has completed. */
async function restless(path: string): Promise<string[]> {
  const store = await openStore({ path });
  const agents = await store.read((tx) => tx.agents.listAgentViews({ after: null, limit: 1_000_000, all: true }));
  await store.close();
  const missing = standing.filter((name) => !agents.some((agent) => agent.handle === name));
  const wrong = agents.filter(
    (agent) => agentState(agent) !== (standing.includes(agent.handle) ? 'idle' : 'terminated'),
  );
  return [
    ...missing.map((name) => `there is no ${name}`),
    ...wrong.map((agent) => `${agent.handle} is ${agentState(agent)}`),
  ];
}

/** The daemon logged no warnings. A line may be cut off by its death. */
function loggedFaults(directory: string): string[] {
  return readFileSync(join(directory, 'home/daemon.log'), 'utf8')
    .split('\n')
    .filter((line) => /^\{"level":[456]0,/.test(line))
    .map((line) => `in the log: ${line}`);
}

function readJournal(directory: string): Entry[] {
  return readdirSync(join(directory, 'journal')).flatMap((file) =>
    readFileSync(join(directory, 'journal', file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry),
  );
}
