import { hash } from 'node:crypto';
import { KINDS, type Mutation } from './mutations.ts';

/**
 * The mutations in the order in which they are tried: alternating between kinds, random within a kind, reproducible
 * by seed.
 */
export function draw(mutations: readonly Mutation[], seed: number): Mutation[] {
  const keyed = mutations.map((one) => ({ one, key: hash('sha256', JSON.stringify([seed, one])) }));
  const shuffled = keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ one }) => one);
  const piles = KINDS.map((kind) => shuffled.filter((one) => one.kind === kind));
  const longest = Math.max(...piles.map((pile) => pile.length));
  return Array.from({ length: longest }, (_, i) => piles.flatMap((pile) => pile[i] ?? [])).flat();
}
