import { describe, expect, test } from 'vitest';
import { createQueries, type Engine, type Execute } from './query.ts';

describe.each<[Engine, string]>([
  ['sqlite', '?'],
  ['postgres', '$1'],
])('createQueries() for %s', (engine, first) => {
  const executed: Parameters<Execute>[] = [];
  const { db, all, one, run, fetch } = createQueries(engine, (...statement) => {
    executed.push(statement);
    return { rows: [{ id: 'row' }], changes: 3 };
  });
  const last = () => executed.at(-1);
  const named = (p: { name: string | null }) =>
    db
      .selectFrom('agents')
      .select('id')
      .where('name', '=', p.name)
      .where('ready', '=', true)
      .where('role', '=', "it's");

  test('arguments become parameters, constants stay in the text', async () => {
    await all(named)({ name: "x' or 1=1" });
    expect(last()).toEqual([
      `select "id" from "agents" where "name" = ${first} and "ready" = 1 and "role" = 'it''s'`,
      ["x' or 1=1"],
    ]);
  });

  test('each method returns its own form of result', async () => {
    expect(await all(named)({ name: 'x' })).toEqual([{ id: 'row' }]);
    expect(await one(named)({ name: 'x' })).toEqual({ id: 'row' });
    expect(await run(named)({ name: 'x' })).toBe(3);
    const nothing = createQueries(engine, () => ({ rows: [], changes: 0 }));
    expect(await nothing.one(named)({ name: 'x' })).toBeNull();
  });

  test('a query is built once and only bound afterwards', async () => {
    let built = 0;
    const query = all((p: { name: string | null }) => {
      built += 1;
      return named(p);
    });
    expect(built).toBe(0);
    await query({ name: 'x' });
    const text = last()?.[0];
    await query({ name: null });
    expect(last()).toEqual([text, [null]]);
    expect(built).toBe(1);
  });

  test('a hole may occur several times, also as a limit', async () => {
    const query = all((p: { n: number }) => db.selectFrom('runs').select('id').where('seq', '>', p.n).limit(p.n));
    await query({ n: 5 });
    expect(last()?.[1]).toEqual([5, 5]);
  });

  test('a missing parameter throws, and nothing is executed', async () => {
    const before = executed.length;
    await expect(all(named)({} as { name: string })).rejects.toThrow(new TypeError('the query needs "name"'));
    expect(executed).toHaveLength(before);
  });

  test('a query whose shape depends on its arguments passes them as parameters', async () => {
    await fetch(named({ name: 'x' }));
    expect(last()?.[1]).toEqual(['x', 1, "it's"]);
  });

  test('a query that cannot be built does not affect the next one', async () => {
    const broken = all((_: object) => {
      throw new Error('broken');
    });
    await expect(broken({})).rejects.toThrow('broken');
    await fetch(named({ name: 'x' }));
    expect(last()?.[1]).toEqual(['x', 1, "it's"]);
  });
});
