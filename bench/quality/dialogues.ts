import type { Embedder } from '../../src/knowledge/embedding.ts';
import { createPassageMeaning, embedPassages } from '../../src/knowledge/passage-meaning.ts';
import { storePassage } from '../../src/memory/passages.ts';
import { EVERYTHING, searchPassages } from '../../src/memory/search.ts';
import { addAgent } from '../../src/store/store.testkit.ts';
import type { Store } from '../../src/store/store.ts';
import type { Collection, Half } from './collection.ts';
import { dialogues } from './dialogue-texts.ts';
import type { Rankers } from './documents.ts';

const LINE_MS = 30_000;

/** The lines of all conversations of a half as the memory of one agent. */
export function readDialogues(half: Half): Collection {
  const own = dialogues.flatMap((one, i) => (one.half === half ? [{ ...one, i }] : []));
  const asked = own.flatMap(({ i, questions }) =>
    questions.map(([text, ...lines]) => ({ text, wanted: lines.map((line) => `${i}.${line}`) })),
  );
  return {
    name: `dialogues, ${half}`,
    named: false,
    documents: own.flatMap(({ i, lines }) => lines.map((body, n) => ({ id: `${i}.${n}`, title: '', body }))),
    queries: asked.map(({ text }, i) => ({ id: String(i), text, half })),
    gains: new Map(asked.map(({ wanted }, i) => [String(i), new Map(wanted.map((id) => [id, 1]))])),
  };
}

/** `search_memory` with the conversations remembered, by words, by meaning, and by both. */
export async function memoryRankers(store: Store, collection: Collection, embedder: Embedder): Promise<Rankers> {
  const agent = await store.write((tx) => addAgent(tx));
  const idOf = new Map<string, string>();
  for (const { id, body } of collection.documents) {
    const [dialogue = '', line = ''] = id.split('.');
    const at = Date.parse(`${dialogues[Number(dialogue)]?.day}T09:00:00Z`) + Number(line) * LINE_MS;
    idOf.set(await store.write((tx) => storePassage(tx, agent.id, { content: body, tags: [] }, at)), id);
  }
  const signal = new AbortController().signal;
  await embedPassages({ store, embedder, nodeId: agent.nodeId ?? '', batch: 32, signal });
  const onProblem = (error: Error) => {
    throw error;
  };
  const meaning = createPassageMeaning({ store, embedder, onProblem, patienceMs: 60_000 });
  const wanted = (query: string, limit: number) => ({ agentId: agent.id, ...EVERYTHING, query, limit });
  const idsOf = (found: readonly { readonly id: string }[]) => found.map(({ id }) => idOf.get(id) ?? '');
  return {
    keyword: async (query, limit) => idsOf(await searchPassages({ store, meaning: null }, wanted(query, limit))),
    semantic: async (query, limit) => {
      const near = await meaning.nearest({ agentId: agent.id, query, limit });
      const seqs = near.map(({ seq }) => seq);
      const rows = await store.read((tx) => tx.memory.listPassagesBySeq({ agentId: agent.id, ...EVERYTHING, seqs }));
      const bySeq = new Map(rows.map((row) => [row.seq, row]));
      return idsOf(seqs.flatMap((seq) => bySeq.get(seq) ?? []));
    },
    hybrid: async (query, limit) => idsOf(await searchPassages({ store, meaning }, wanted(query, limit))),
  };
}
