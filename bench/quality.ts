// Search quality on the Cranfield collection: `npm run bench:quality`. The first run downloads the model.
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { table } from '../src/command-line/terminal.ts';
import { loadConfig } from '../src/config/config.ts';
import { resolveHome } from '../src/config/home.ts';
import { SEARCH_MODES } from '../src/core/knowledge.ts';
import { embedPending } from '../src/knowledge/embed-pending.ts';
import { createEmbedder, type Embedder } from '../src/knowledge/embedding.ts';
import { createKnowledge } from '../src/knowledge/knowledge.ts';
import { chunkWords } from '../src/search/search.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { type Collection, type Half, readCranfield } from './cranfield.ts';
import { plainBm25 } from './plain-bm25.ts';
import { type Quality, qualityOf, type Ranker } from './rankings.ts';

const GOALS: Readonly<Record<string, number>> = { keyword: 1, hybrid: 1.08 };

const REST = {
  contentType: 'text/plain',
  createdAt: 0,
  updatedAt: 0,
  indexedAt: 0,
  author: null,
  url: null,
  tags: [],
  metadata: {},
};

const collection = readCranfield();
if (collection) process.exitCode = (await compare(collection)) ? 0 : 1;
else
  console.log('bench:quality: skipped, the Cranfield collection is not there; $SUBSTRAT_CRANFIELD says where it is.');

/** Returns whether the goals are met. */
async function compare(of: Collection): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), 'substrat-quality-'));
  // A kept store already has its vectors: for tuning.
  const store = await openStore({ path: process.env.SUBSTRAT_QUALITY_STORE ?? join(scratch, 'quality.db') });
  try {
    const home = resolveHome(process.env);
    const { embedding, retrieval } = loadConfig({ cwd: scratch, home, env: {} });
    const embedder = createEmbedder({ ...embedding, provider: 'local' }, { models: join(home, 'models') }) as Embedder;
    await fill(store, of);
    const onProgress = (done: number) => process.stderr.write(`\r${done} of ${of.documents.length} embedded`);
    await embedPending({ store, embedder, batch: 32, onProgress });
    process.stderr.write('\n');
    const knowledge = createKnowledge({ store, configured: [], retrieval, embedder });
    const rankers = new Map<string, Ranker>([['wink-bm25-text-search', plainBm25(of)]]);
    for (const mode of SEARCH_MODES) {
      rankers.set(mode, async (query, limit) =>
        (await knowledge.search({ query, mode, limit })).results.map(({ source_id }) => source_id),
      );
    }
    const isDone = await report(of, rankers, 'dev', {});
    return (await report(of, rankers, 'test', GOALS)) && isDone;
  } finally {
    await store.close();
    rmSync(scratch, { recursive: true });
  }
}

async function report(of: Collection, rankers: ReadonlyMap<string, Ranker>, half: Half, goals: typeof GOALS) {
  const rows: string[][] = [];
  let yardstick: Quality | null = null;
  let met = true;
  for (const [name, ranker] of rankers) {
    const quality = await qualityOf(ranker, of, half);
    yardstick ??= quality;
    const ratio = quality.ndcg / yardstick.ndcg;
    const goal = goals[name];
    if (goal !== undefined && ratio < goal) met = false;
    const verdict = goal === undefined ? '' : `${ratio >= goal ? 'met' : 'MISSED'} (at least ${goal}x)`;
    rows.push([
      name,
      ...[quality.ndcg, quality.recall, quality.map].map((value) => value.toFixed(4)),
      `${ratio.toFixed(3)}x`,
      verdict,
    ]);
  }
  console.log(half === 'dev' ? 'Development half' : '\nReported half');
  for (const line of table(['SEARCH', 'nDCG@10', 'recall@10', 'MAP', 'nDCG RATIO', 'GOAL'], rows)) console.log(line);
  return met;
}

async function fill(store: Store, { documents }: Collection): Promise<void> {
  await store.write(async (tx) => {
    for (const { id, title, body } of documents) {
      const text = body || title;
      const row = {
        id: `cranfield-${id}`,
        source: 'bench:cranfield',
        sourceId: id,
        version: '1',
        hash: '1',
        title,
        body,
      };
      const chunk = { hash: hash('sha256', text), place: {}, text, words: chunkWords({ title, headings: [], text }) };
      await tx.documents.replaceDocuments([{ document: { ...row, ...REST }, chunks: [chunk] }]);
    }
  });
}
