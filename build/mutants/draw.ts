import { hash } from 'node:crypto';
import { KINDS, type Mutation } from './mutations.ts';

/** Mutations in the order in which they are tried: each kind in its turn, by chance within it, the same for the same seed. */
export function draw(mutations: readonly Mutation[], seed: number): Mutation[] {
  const keyed = mutations.map((one) => ({ one, key: hash('sha256', JSON.stringify([seed, one])) }));
  const shuffled = keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ one }) => one);
  const piles = KINDS.map((kind) => shuffled.filter((one) => one.kind === kind));
  const longest = Math.max(...piles.map((pile) => pile.length));
  return Array.from({ length: longest }, (_, i) => piles.flatMap((pile) => pile[i] ?? [])).flat();
}
