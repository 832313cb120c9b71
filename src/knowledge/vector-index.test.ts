import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assemble } from '../../build/wasm.ts';
import { VectorIndex } from './vector-index.ts';

let state = 1;
const random = () => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648 - 0.5;
};
const unit = (values: readonly number[]) => {
  const length = Math.hypot(...values) || 1;
  return Float32Array.from(values, (value) => value / length);
};
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);

test('dot.wasm is compiled from dot.wat', async () => {
  expect(readFileSync(new URL('./dot.wasm', import.meta.url)).equals(Buffer.from(await assemble()))).toBe(true);
});

test.each([1, 16, 100, 384, 1536])('scores with %i dimensions are the cosines within the 8-bit error', (dimension) => {
  const index = new VectorIndex(dimension);
  const vectors = Array.from({ length: 500 }, () => unit(Array.from({ length: dimension }, random)));
  for (const [key, vector] of vectors.entries()) index.set(key, vector);
  const query = unit(Array.from({ length: dimension }, random));
  const near = index.nearest(query, 500);
  expect(near).toHaveLength(500);
  for (const { key, score } of near)
    expect(Math.abs(score - dot(query, vectors[key] as Float32Array))).toBeLessThan(0.02);
  expect(index.nearest(query, 7)).toEqual(near.slice(0, 7));
});

test('finds the current vectors after any sets, changes and deletes, across blocks', () => {
  const index = new VectorIndex(4);
  const now = new Map<number, Float32Array>();
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(fc.nat(60), fc.boolean(), fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 4, maxLength: 4 })),
      ),
      (changes) => {
        for (const [key, remove, values] of changes) {
          if (remove) {
            index.delete(key);
            now.delete(key);
          } else {
            index.set(key, unit(values));
            now.set(key, unit(values));
          }
        }
        expect(index.size).toBe(now.size);
        const found = index.nearest(unit([1, 2, -3, 4]), 100);
        expect(new Set(found.map(({ key }) => key))).toEqual(new Set(now.keys()));
      },
    ),
  );
  for (let key = 1000; key < 40_000; key += 1) index.set(key, unit([random(), random(), random(), -1]));
  index.set(50_000, unit([1, 0, 0, 1]));
  expect(index.nearest(unit([1, 0, 0, 1]), 1)[0]?.key).toBe(50_000);
  expect(
    index
      .nearest(unit([1, 0, 0, 1]), 2, new Set([1000, 2000]))
      .map(({ key }) => key)
      .sort(),
  ).toEqual([1000, 2000]);
});

test('returns nothing when empty, and accepts a zero vector', () => {
  const index = new VectorIndex(8);
  expect(index.nearest(new Float32Array(8), 3)).toEqual([]);
  index.set(1, new Float32Array(8));
  expect(index.nearest(new Float32Array(8), 3)).toEqual([{ key: 1, score: 0 }]);
});
