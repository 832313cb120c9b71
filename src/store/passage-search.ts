import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { isOneOf, listOf } from './key-list.ts';
import type { Memory } from './memory-tx.ts';
import { type PassageHits, passageRanking, type TermHits } from './passage-rank.ts';
import type { Engine, Queries } from './query.ts';
import type { PassageFilter, PassageTerms, RankedPassage } from './views.ts';

export type PassageSearchQueries = Pick<
  Memory,
  'findPassages' | 'findPassagesContaining' | 'listPassages' | 'listPassagesBySeq'
>;

/** A word is looked up in at most this many passages. Beyond, it is too common to matter. */
const MOST_HITS = 20_000;
/** The number of passages whose exact score is computed at a time. */
const PAGE = 1000;
/** The words around a passage are looked up only if the word is in few passages: a common one tells nothing. */
const FEW = 50;
const FEW_OF = 20;

interface Holes {
  readonly agentId: string;
  readonly tags: string;
  readonly since: number;
  readonly until: number;
}

export function passageSearchQueries(queries: Queries): PassageSearchQueries {
  const { engine, db, all, one, count } = queries;
  const getStats = one((p: { agentId: string }) =>
    db.selectFrom('passage_stats').select(['passages', 'length']).where('agentId', '=', p.agentId),
  );
  const lookUp = engine === 'sqlite' ? sqliteHits(queries) : postgresHits(queries);
  const filtered = (p: Holes) => db.selectFrom('passages').where(wanted(engine, p));
  const listLengths = all((p: Holes & { seqs: unknown }) =>
    filtered(p)
      .select(['seq', 'length'])
      .where(isOneOf(engine, 'seq', p.seqs)),
  );
  const listBySeq = all((p: Holes & { seqs: unknown }) =>
    filtered(p)
      .selectAll('passages')
      .where(isOneOf(engine, 'seq', p.seqs)),
  );
  const countTag = count((p: { agentId: string; tag: string; most: number }) =>
    db
      .selectFrom(
        db
          .selectFrom('passage_tags')
          .select('seq')
          .where('agentId', '=', p.agentId)
          .where('tag', '=', p.tag)
          .limit(p.most)
          .as('some'),
      )
      .select((eb) => eb.fn.countAll<number>().as('n')),
  );
  const listTagged = all((p: { agentId: string; tag: string }) =>
    db.selectFrom('passage_tags').select('seq').where('agentId', '=', p.agentId).where('tag', '=', p.tag),
  );
  /** The tag that the fewest passages have: what it leaves is looked at. */
  const rarest = async ({ agentId, tags }: PassageFilter) => {
    const counted = [];
    for (const tag of tags) counted.push({ tag, n: await countTag({ agentId, tag, most: PAGE + 1 }) });
    return counted.sort((a, b) => a.n - b.n)[0] ?? null;
  };
  const listWithTag = all((p: Holes & { tag: string; before: number; limit: number }) =>
    db
      .selectFrom('passage_tags')
      .innerJoin('passages', (join) =>
        join.onRef('passages.agentId', '=', 'passage_tags.agentId').onRef('passages.seq', '=', 'passage_tags.seq'),
      )
      .selectAll('passages')
      .where('passage_tags.agentId', '=', p.agentId)
      .where('passage_tags.tag', '=', p.tag)
      .where('passage_tags.seq', '<', p.before)
      .where(wanted(engine, p))
      .orderBy('passage_tags.seq', 'desc')
      .limit(p.limit),
  );
  const list = all((p: Holes & { before: number; limit: number }) =>
    filtered(p)
      .selectAll('passages')
      .where('passages.seq', '<', p.before)
      .orderBy('passages.seq', 'desc')
      .limit(p.limit),
  );
  const like = sql.raw(engine === 'sqlite' ? 'like' : 'ilike');
  const contain = all((p: Holes & { pattern: string; limit: number }) =>
    filtered(p)
      .selectAll('passages')
      .where(sql<boolean>`coalesce(passages.folded, passages.content) ${like} ${p.pattern} escape '\\'`)
      .orderBy('passages.seq', 'desc')
      .limit(p.limit),
  );
  const holes = ({ agentId, tags, since, until }: PassageFilter): Holes => ({
    agentId,
    tags: listOf(
      engine,
      tags.map((tag) => JSON.stringify(tag)),
    ),
    since,
    until,
  });

  const find = async (p: PassageFilter & { terms: PassageTerms; limit: number }): Promise<RankedPassage[]> => {
    const { terms, limit, ...filter } = p;
    const stats = await getStats({ agentId: filter.agentId });
    if (!stats || stats.passages === 0 || terms.words.length === 0) return [];
    const hits = await lookUp(filter.agentId, terms, Math.max(FEW, stats.passages / FEW_OF));
    const { scoreOf, most } = passageRanking(terms, hits, stats);
    const mean = stats.length / stats.passages;
    const rare = await rarest(filter);
    const tagged = rare && rare.n <= PAGE ? await listTagged({ agentId: filter.agentId, tag: rare.tag }) : null;
    const having = tagged && new Set(tagged.map(({ seq }) => seq));
    // The newest of equals first.
    const promising = [...candidatesOf(hits)]
      .filter((seq) => having?.has(seq) ?? true)
      .map((seq) => ({ seq, score: scoreOf(seq, mean) }))
      .sort((a, b) => b.score - a.score || b.seq - a.seq);
    const found: { seq: number; score: number }[] = [];
    for (let from = 0; from < promising.length && found.length < limit; from += PAGE) {
      const seqs = promising.slice(from, from + PAGE).map(({ seq }) => seq);
      const rows = await listLengths({ ...holes(filter), seqs: listOf(engine, seqs) });
      found.push(...rows.map(({ seq, length }) => ({ seq, score: scoreOf(seq, length) })));
    }
    const best = found.sort((a, b) => b.score - a.score || b.seq - a.seq).slice(0, limit);
    const rows = await listBySeq({
      ...holes(filter),
      seqs: listOf(
        engine,
        best.map(({ seq }) => seq),
      ),
    });
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    return best.flatMap(({ seq, score }) => {
      const row = bySeq.get(seq);
      return row ? [{ ...row, score, most }] : [];
    });
  };

  return {
    /** Passages with any of the words, in them or around them, best first, newest of equals first. */
    findPassages: find,
    /** Those that exist and match the filter, in no order. */
    listPassagesBySeq: ({ seqs, ...filter }: PassageFilter & { seqs: readonly number[] }) =>
      listBySeq({ ...holes(filter), seqs: listOf(engine, seqs) }),
    /** Newest first. */
    listPassages: async ({ before, limit, ...filter }: PassageFilter & { before: number; limit: number }) => {
      const rare = await rarest(filter);
      const page = { ...holes(filter), before, limit };
      return rare ? listWithTag({ ...page, tag: rare.tag }) : list(page);
    },
    /** Passages that contain the text, case-insensitively, newest first. */
    findPassagesContaining: ({ text, limit, ...filter }: PassageFilter & { text: string; limit: number }) =>
      contain({ ...holes(filter), pattern: `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`, limit }),
  };
}

function wanted(engine: Engine, p: Holes) {
  const without =
    engine === 'sqlite'
      ? sql`select 1 from json_each(${p.tags}) as tag where instr(passages.tags, tag.value) = 0`
      : sql`select 1 from unnest(${p.tags}::text[]) as tag (value) where strpos(passages.tags, tag.value) = 0`;
  return sql<boolean>`passages.agent_id = ${p.agentId} and passages.created_at >= ${p.since}
    and passages.created_at < ${p.until} and not exists (${without})`;
}

function candidatesOf({ own, near, phrases }: PassageHits): Set<number> {
  const all = new Set<number>();
  for (const having of [...own.values(), ...near.values(), ...phrases]) for (const seq of having.keys()) all.add(seq);
  return all;
}

type LookUp = (agentId: string, terms: PassageTerms, few: number) => Promise<PassageHits>;

function sqliteHits({ db, all }: Queries): LookUp {
  const withTerm = all((p: { term: string; most: number }) =>
    db
      .selectFrom(db.selectFrom('passage_terms').select('doc').where('term', '=', p.term).limit(p.most).as('having_it'))
      .select(['doc as seq', db.fn.countAll<number>().as('n')])
      .groupBy('doc'),
  );
  const withPhrase = all((p: { query: string; most: number }) =>
    db
      .selectFrom('passage_words')
      .select('rowid as seq')
      .where(sql<boolean>`passage_words match ${p.query}`)
      .limit(p.most),
  );
  const hitsOf = async (term: string): Promise<TermHits> =>
    new Map((await withTerm({ term, most: MOST_HITS })).map(({ seq, n }) => [seq, n]));
  return async (agentId, { words, phrases }, few) => {
    const own = new Map<string, TermHits>();
    const near = new Map<string, TermHits>();
    for (const word of words) {
      own.set(word, await hitsOf(scopedWord(agentId, word)));
      if ((own.get(word)?.size ?? 0) <= few) near.set(word, await hitsOf(scopedWord(agentId, word, 'near')));
    }
    const found: TermHits[] = [];
    for (const phrase of phrases) {
      const query = `"${phrase.map((word) => scopedWord(agentId, word)).join(' ')}"`;
      found.push(new Map((await withPhrase({ query, most: MOST_HITS })).map(({ seq }) => [seq, 1])));
    }
    return { own, near, phrases: found };
  };
}

/** PostgreSQL's index tells which passages have a word; how often is read from those passages that may be shown. */
function postgresHits({ db, fetch }: Queries): LookUp {
  const ask = async (terms: readonly string[]): Promise<TermHits[]> => {
    const query = sql<{ nth: number; seq: number }>`
      select nth, found.rowid as seq
      from unnest(${listOf('postgres', terms)}::text[]) with ordinality as given (term, nth) cross join lateral
        (select rowid from passage_words where words @@ given.term::tsquery order by rowid limit ${MOST_HITS}) as found`;
    const rows = await fetch({ compile: () => query.compile(db) });
    const byTerm = Map.groupBy(rows, ({ nth }) => Number(nth));
    return terms.map((_, i) => new Map((byTerm.get(i + 1) ?? []).map(({ seq }) => [seq, 1])));
  };
  const countsOf = async (seqs: readonly number[], words: readonly string[]) => {
    const query = sql<{ seq: number; word: string; n: number }>`
      select rowid as seq, word.lexeme as word, cardinality(word.positions) as n
      from passage_words cross join lateral unnest(words) as word
      where rowid = any(${listOf('postgres', seqs)}::bigint[]) and word.lexeme = any(${listOf('postgres', words)}::text[])
        and cardinality(word.positions) > 1`;
    return fetch({ compile: () => query.compile(db) });
  };
  return async (agentId, { words, phrases }, few) => {
    const scoped = words.map((word) => scopedWord(agentId, word));
    const quoted = (list: readonly string[]) => list.map((word) => `'${word}'`);
    const around = words.map((word) => scopedWord(agentId, word, 'near'));
    const asked = [
      ...quoted(scoped),
      ...quoted(around),
      ...phrases.map((phrase) => quoted(phrase.map((word) => scopedWord(agentId, word))).join(' <-> ')),
    ];
    const hits = await ask(asked);
    const own = new Map(words.map((word, i) => [word, new Map(hits[i])]));
    const near = new Map(words.map((word, i) => [word, hits[words.length + i] as TermHits]));
    for (const word of words) if ((own.get(word)?.size ?? 0) > few) near.delete(word);
    const found = { own, near, phrases: hits.slice(2 * words.length) };
    const scores = new Map<number, number>();
    for (const having of own.values()) {
      for (const seq of having.keys()) scores.set(seq, (scores.get(seq) ?? 0) + 1 / having.size);
    }
    const promising = [...scores].sort((a, b) => b[1] - a[1] || b[0] - a[0]).slice(0, PAGE);
    const wordOf = new Map(scoped.map((term, i) => [term, words[i] as string]));
    for (const { seq, word, n } of await countsOf(
      promising.map(([seq]) => seq),
      scoped,
    )) {
      own.get(wordOf.get(word) as string)?.set(seq, n);
    }
    return found;
  };
}

/**
 * In the index, each word has a prefix for its agent, and another one if it stands around the passage. So a search only
 * touches this agent's words, however many others there are. The prefix is short and two agents could share one, so
 * the owner is checked as well.
 */
export function scopedWord(agentId: string, word: string, where: 'own' | 'near' = 'own'): string {
  return `${markOf(agentId, where)}${word}`;
}

const marks = new Map<string, string>();
const MOST_MARKS = 1000;

function markOf(agentId: string, where: 'own' | 'near'): string {
  const key = where === 'own' ? agentId : `${agentId} ${where}`;
  let mark = marks.get(key);
  if (mark === undefined) {
    if (marks.size >= MOST_MARKS) marks.clear();
    mark = hash('sha256', key, 'hex').slice(0, 10);
    marks.set(key, mark);
  }
  return mark;
}
