import { mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Extractor } from '../src/knowledge/extract/extractor.ts';
import { openStore } from '../src/store/open.ts';
import { writeCorpus } from './corpus.ts';
import { indexFiles } from './indexing.ts';
import { alternate, type Bench, compared, type Row } from './measure.ts';

const FILES = 10_000;
const WORDS = 60;

/** A sync that finds everything unchanged, compared with a walk that only stats each file. */
export default async function secondSync({ scratch, defer }: Bench): Promise<Row[]> {
  const root = join(scratch, 'files');
  mkdirSync(root);
  writeCorpus(root, FILES, WORDS);
  // Backdated, because very recent files are read again.
  const before = Date.now() / 1000 - 60;
  walk(root, (path) => utimesSync(path, before, before));
  const store = await openStore({ path: join(scratch, 'second-sync.db') }, { durability: 'normal' });
  const extractor = new Extractor();
  defer(() => extractor.close());
  defer(() => store.close());
  await indexFiles(store, extractor, root);
  const time = (work: () => Promise<number>) => async () => {
    const begin = performance.now();
    if ((await work()) !== FILES) throw new Error('not every file was seen');
    return performance.now() - begin;
  };
  const look = async () => {
    let seen = 0;
    walk(root, (path) => {
      if (statSync(path).isFile()) seen += 1;
    });
    return seen;
  };
  const sync = async () => (await indexFiles(store, extractor, root)).unchanged;
  await sync();
  const measured = await alternate(time(look), time(sync));
  return [
    {
      name: `second sync of ${FILES} unchanged files against a bare walk with stat`,
      unit: 'ms',
      ...compared(measured),
      goalOf: 'ratio',
      atMost: 1.5,
    },
  ];
}

function walk(directory: string, onFile: (path: string) => void): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) walk(path, onFile);
    else onFile(path);
  }
}
