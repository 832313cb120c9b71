import { typed } from '../../test/fixtures/typed-queries.ts';
import type { Collection } from './collection.ts';

/** What people type. Queries at odd places are the half that nothing is tuned on. */
export function readTyped(): Collection {
  const asked = typed.flatMap(([file, , queries]) => queries.map((text) => ({ file, text })));
  return {
    name: 'typed',
    named: true,
    documents: typed.map(([id, body]) => ({ id, title: /^# (.*)$/m.exec(body)?.[1] ?? id, body })),
    queries: asked.map(({ text }, i) => ({ id: String(i), text, half: i % 2 === 0 ? 'dev' : 'test' })),
    gains: new Map(asked.map(({ file }, i) => [String(i), new Map([[file, 1]])])),
  };
}
