import type pg from 'pg';
import { type Answer, ask } from '../helpers/http.ts';

/** What a caller was told: it took effect, it did not, or the outcome is unknown. */
export type Verdict = 'acknowledged' | 'refused' | 'unknown';

/** The outcome of each written text as its writer was told, and responses that should never occur. */
export interface Ledger {
  readonly told: Map<string, Verdict>;
  readonly faults: string[];
  /** Whether a connection to the daemon may break. */
  readonly mayBreak: boolean;
}

export function createLedger(mayBreak = false): Ledger {
  return { told: new Map(), faults: [], mayBreak };
}

/** A refusal with the code `store` promises that nothing was changed. */
export function judge(ledger: Ledger, what: string, { status, json }: Pick<Answer, 'status' | 'json'>): Verdict {
  if (status < 300) return 'acknowledged';
  const code = json?.error?.code;
  if (status === 503 && code === 'store') return 'refused';
  if (status !== 504 || code !== 'outcome_unknown') ledger.faults.push(`${what}: ${status} ${code}`);
  return 'unknown';
}

/** A request; counts as unknown if the connection to the daemon breaks. */
export async function request(
  ledger: Ledger,
  home: string,
  path: string,
  options: Parameters<typeof ask>[2] = {},
): Promise<Answer & { readonly ms: number }> {
  const begun = Date.now();
  try {
    return { ...(await ask({ home }, path, options)), ms: Date.now() - begun };
  } catch (error) {
    if (!ledger.mayBreak) ledger.faults.push(`${path}: ${(error as Error).message}`);
    return { status: 504, headers: {}, text: '', json: { error: { code: 'outcome_unknown' } }, ms: Date.now() - begun };
  }
}

/** Checks that every text is in the store as often as its writer was told. */
export async function auditTexts(ledger: Ledger, client: pg.Client, sql: string): Promise<Record<Verdict, number>> {
  const { rows } = await client.query<{ text: string; n: string }>(sql);
  const stored = new Map(rows.map(({ text, n }) => [text, Number(n)]));
  const counts = { acknowledged: 0, refused: 0, unknown: 0 };
  for (const [text, verdict] of ledger.told) {
    const times = stored.get(text) ?? 0;
    counts[verdict] += 1;
    const right = verdict === 'acknowledged' ? times === 1 : verdict === 'refused' ? times === 0 : times <= 1;
    if (!right) ledger.faults.push(`"${text}" was ${verdict} and is stored ${times} times`);
  }
  return counts;
}

/** Requests that do not have exactly one correct reply. */
export async function unanswered(client: pg.Client, requests: ReadonlyMap<string, string>): Promise<string[]> {
  const { rows } = await client.query<{ id: string; kind: string; text: string }>(
    'select in_reply_to as id, kind, text from messages where in_reply_to is not null',
  );
  return [...requests].flatMap(([id, expected]) => {
    const replies = rows.filter((row) => row.id === id);
    const right = replies.length === 1 && replies[0]?.kind === 'reply' && replies[0].text === expected;
    return right ? [] : [`${expected}: ${JSON.stringify(replies)}`];
  });
}
