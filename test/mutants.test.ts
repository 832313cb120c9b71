import { describe, expect, test } from 'vitest';
import { compiling, ofDifferentFiles } from '../build/mutants/compiling.ts';
import { draw } from '../build/mutants/draw.ts';
import { apply, KINDS, type Kind, type Mutation, mutationsOf } from '../build/mutants/mutations.ts';
import { stagesOf } from '../build/mutants/stages.ts';

const mutated = (text: string, kind: Kind) =>
  mutationsOf('src/runs/slots.ts', text)
    .filter((one) => one.kind === kind)
    .map((one) => apply(text, one));

describe('mutationsOf()', () => {
  test.each<[Kind, string, string[]]>([
    ['negated condition', 'if (a && b) c();', ['if (!(a && b)) c();']],
    ['negated condition', 'const x = a ? b : c;', ['const x = !(a) ? b : c;']],
    ['negated condition', 'while (a) b();', ['while (!(a)) b();']],
    ['flipped comparison', 'const x = a < b;', ['const x = a <= b;']],
    ['flipped comparison', 'const x = a >= b;', ['const x = a > b;']],
    ['flipped comparison', 'const x = a() !== "<";', ['const x = a() === "<";']],
    ['flipped comparison', 'const x = a + b;', []],
    ['number off by one', 'const x = 1_000;', ['const x = (1001);', 'const x = (999);']],
    ['number off by one', 'type X = 1 | 2; let y: { z: 3 } | null; f("4");', []],
    ['number off by one', 'const x = { 200: a };', []],
    ['dropped statement', 'a.b(c);', ['{}']],
    ['dropped statement', 'if (a) throw b;', ['if (a) {}']],
    ['dropped statement', '"use strict"; const x = a();', []],
    ['dropped statement', 'await tx.insert(a);', []],
    ['dropped write', 'await tx.runs.insert(a);', ['{}']],
    ['dropped write', 'await store.insert(a); tx.b(); const c = await tx.d();', []],
    [
      'dropped where',
      "q.from('a').where('b', '=', 1).where(c).all();",
      ["q.from('a').where(c).all();", "q.from('a').where('b', '=', 1).all();"],
    ],
  ])('%s of %s', (kind, text, expected) => {
    expect(mutated(text, kind).sort()).toEqual(expected.sort());
  });

  test('names the line and the innermost named function', () => {
    const text =
      'a < b;\nfunction f() {\n  return list.map((x) => x < 1);\n}\nclass C {\n  #g() { return { h: () => c < d }; }\n}\n';
    const found = mutationsOf('src/runs/slots.ts', text).filter(({ kind }) => kind === 'flipped comparison');
    expect(found.map(({ line, within }) => [line, within])).toEqual([
      [1, ''],
      [3, 'f'],
      [6, 'h'],
    ]);
  });
});

describe('draw()', () => {
  const text = 'if (a < 1) b(); if (a > 2) { c(); throw d; } q.where(e).where(f); await tx.g(); await tx.h();';
  const mutations = mutationsOf('src/runs/slots.ts', text);

  test('is the same for the same seed and different for another', () => {
    expect(draw(mutations, 1)).toEqual(draw(mutations, 1));
    expect(draw(mutations, 1)).not.toEqual(draw(mutations, 2));
    expect(
      draw(mutations, 1)
        .map(({ start }) => start)
        .join(' '),
    ).toMatchInlineSnapshot(`"4 22 8 11 46 80 20 6 24 29 55 66 8 34 24 45"`);
  });

  test('has every mutation once, and alternates between kinds', () => {
    const drawn = draw(mutations, 1);
    expect(new Set(drawn)).toEqual(new Set(mutations));
    expect(drawn).toHaveLength(mutations.length);
    expect(drawn.slice(0, KINDS.length).map(({ kind }) => kind)).toEqual(KINDS);
  });
});

describe('compiling()', () => {
  const of = (path: string) => mutationsOf(path, 'if (a) b();')[0] as Mutation;
  const [a, b, c, d] = ['src/a.ts', 'src/b.ts', 'src/c.ts', 'src/d.ts'].map(of) as [
    Mutation,
    Mutation,
    Mutation,
    Mutation,
  ];

  test('drops a mutation whose file has an error', async () => {
    expect(await compiling([a, b, c], async (applied) => new Set(applied.includes(b) ? ['src/b.ts'] : []))).toEqual([
      a,
      c,
    ]);
  });

  test('finds the mutation that causes an error in another file', async () => {
    let runs = 0;
    const faulty = async (applied: readonly Mutation[]) => {
      runs += 1;
      return new Set(applied.includes(c) ? ['src/user-of-c.ts'] : []);
    };
    expect(await compiling([a, b, c, d], faulty)).toEqual([a, b, d]);
    expect(runs).toBe(5);
    expect(await compiling([], faulty)).toEqual([]);
  });

  test('takes one mutation per file', () => {
    const more = mutationsOf('src/a.ts', 'if (a < 1) b();');
    expect(ofDifferentFiles([a, ...more, b, c], 2)).toEqual([a, b]);
  });
});

describe('stagesOf()', () => {
  const ran = (name: string, ...executed: string[]) => ({ test: name, passed: true, ms: 1, executed });
  const tests = [
    ran('test/door/runs.test.ts', 'src/runs/slots.ts#claim'),
    ran('test/rules/slots.test.ts', 'src/runs/slots.ts#claim'),
    ran('src/runs/run-turn.test.ts', 'src/runs/slots.ts#claim'),
    ran('src/runs/slots.test.ts', 'src/runs/slots.ts#claim', 'src/runs/slots.ts#free'),
    ran('test/rules/other.test.ts', 'src/runs/slots.ts#free'),
    { ...ran('test/rules/broken.test.ts', 'src/runs/slots.ts#claim'), passed: false },
  ];
  const stages = (path: string, text: string) =>
    stagesOf(mutationsOf(path, text)[0] as never, tests).map((stage) => stage.map(({ test }) => test));

  test('lists the tests that execute the function and pass without the mutant, nearest first', () => {
    expect(stages('src/runs/slots.ts', 'function claim() { if (a) b(); }')).toEqual([
      ['src/runs/slots.test.ts'],
      ['src/runs/run-turn.test.ts'],
      ['test/rules/slots.test.ts'],
      ['test/door/runs.test.ts'],
    ]);
  });

  test('falls back to the tests that execute the file, then to all', () => {
    expect(stages('src/runs/slots.ts', 'if (a) b();').flat()).toHaveLength(5);
    expect(stages('src/runs/other.ts', 'if (a) b();').flat()).toHaveLength(5);
  });
});
