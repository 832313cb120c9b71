import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Embedder } from '../../src/knowledge/embedding.ts';
import { fromBytes, toBytes } from '../../src/knowledge/vector.ts';

const PROGRESS_MS = 10_000;

/** Embeds each text once: its vector is stored in a file by model and by the hash of the text. */
export function withStoredVectors({ model, embed }: Embedder, directory: string): Embedder {
  mkdirSync(directory, { recursive: true });
  const file = new Database(join(directory, `${model.replaceAll(/[^\w.@-]/g, '-')}.db`));
  file.pragma('journal_mode = wal');
  file.pragma('synchronous = off');
  file.exec('create table if not exists vectors (key text primary key, vector blob not null)');
  const select = file.prepare<[string], Buffer>('select vector from vectors where key = ?').pluck();
  const insert = file.prepare('insert or ignore into vectors values (?, ?)');
  let [made, shownAt] = [0, performance.now()];
  return {
    model,
    embed: async (texts, kind) => {
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        const key = hash('sha256', `${kind} ${text}`, 'hex');
        const stored = select.get(key) as Buffer | undefined;
        const vector = stored ? fromBytes(stored) : ((await embed([text], kind))[0] as Float32Array);
        vectors.push(vector);
        if (stored) continue;
        insert.run(key, toBytes(vector));
        made += 1;
        if (performance.now() - shownAt < PROGRESS_MS) continue;
        shownAt = performance.now();
        console.error(`${model}: ${made} texts embedded`);
      }
      return vectors;
    },
  };
}
