import { join } from 'node:path';
import { createPassageMeaning } from '../src/knowledge/passage-meaning.ts';
import { ofLengthOne, toBytes } from '../src/knowledge/vector.ts';
import { storePassage } from '../src/memory/passages.ts';
import { EVERYTHING, searchPassages } from '../src/memory/search.ts';
import { openStore } from '../src/store/open.ts';
import { addAgent } from '../src/store/store.testkit.ts';
import { loadedEmbedder } from './local-embedder.ts';
import { type Bench, cpuOf, median, type Row } from './measure.ts';

const PASSAGES = process.argv.includes('--short') ? 2_000 : 10_000;
const SEARCHES = 60;
const DIMENSION = 384;
const WORDS = 5_000;
const BATCH = 500;

/** search_memory by words and by meaning, with the model loaded. The vectors are arbitrary: only their number counts. */
export default async function memoryMeaning({ scratch, defer }: Bench): Promise<Row[]> {
  const embedder = await loadedEmbedder();
  if (!embedder) return [];
  const store = await openStore({ path: join(scratch, 'memory.db') }, { durability: 'normal' });
  defer(() => store.close());
  const { id: agentId } = await store.write((tx) => addAgent(tx));
  for (let from = 0; from < PASSAGES; from += BATCH) {
    await store.write(async (tx) => {
      for (let n = 0; n < BATCH; n += 1) {
        const content = Array.from({ length: 20 }, word).join(' ');
        await storePassage(tx, agentId, { content, tags: [] }, (from + n) * 3_600_000);
      }
    });
  }
  const rows = await store.read((tx) =>
    tx.memory.listPassages({ agentId, ...EVERYTHING, before: Number.MAX_SAFE_INTEGER, limit: PASSAGES }),
  );
  const vectors = rows.map(({ seq }) => ({
    ...{ agentId, seq },
    vector: toBytes(ofLengthOne(Float32Array.from({ length: DIMENSION }, () => random() - 0.5))),
  }));
  await store.write((tx) => tx.memory.putPassageVectors({ model: embedder.model, dimension: DIMENSION, vectors }));
  const onProblem = (error: Error) => {
    throw error;
  };
  const meaning = createPassageMeaning({ store, embedder, onProblem, patienceMs: 60_000 });
  const search = (query: string) => searchPassages({ store, meaning }, { agentId, ...EVERYTHING, query, limit: 20 });
  const queries = Array.from({ length: SEARCHES }, (_, i) => Array.from({ length: 2 + (i % 7) }, word).join(' '));
  for (const query of queries.slice(0, 5)) await search(query);
  const took: number[] = [];
  const cpu = await cpuOf(queries, async (query) => {
    const begin = performance.now();
    await search(query);
    took.push(performance.now() - begin);
  });
  const name = `search_memory by words and meaning, ${PASSAGES} passages`;
  return [
    { name: `${name}, p50`, unit: 'ms', yardstick: null, result: median(took), goalOf: 'result', atMost: 30 },
    { name: `${name}, CPU p50`, unit: 'ms', yardstick: null, result: median(cpu), goalOf: 'result' },
  ];
}

let state = 1;

function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648;
}

/** The same words in every run, some common and most rare. */
function word(): string {
  return `w${Math.floor(WORDS * random() ** 3).toString(36)}`;
}
