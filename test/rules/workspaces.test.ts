import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

test('a repeated attempt gets the recorded results of its workspace calls, without a second effect', async () => {
  const world = await createWorld();
  const directory = mkdtempSync(join(tmpdir(), 'workspaces-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [mine, source] = [join(directory, 'mine'), join(directory, 'mine/source')];
  mkdirSync(source, { recursive: true });
  const { id } = await world.create('lead', null, { workspace: mine });
  const calls: [string, object][] = [
    ['create_workspace', { name: 'first' }],
    ['create_workspace', { name: 'show', view_of: 'first' }],
    ['delete_workspace', { name: 'show' }],
    ['create_workspace', { name: 'mine' }],
    ['link_dir', { workspace: 'mine', source: 'source', target: 'here' }],
    ['unlink_dir', { workspace: 'mine', target: 'here' }],
    ['delete_workspace', { name: 'first' }],
  ];
  const answers: unknown[][] = [];
  world.behave('lead', async ({ call, attempt }) => {
    const given = [];
    for (const [tool, args] of calls) given.push(await call(tool, args).catch((error) => error.message));
    answers.push(given);
    rmSync(source, { recursive: true, force: true });
    return attempt === 1 ? { failure: 'crash' } : 'Done.';
  });
  await world.ask('lead', 'Go.');
  await world.settle();
  await world.pass(3_600_000);
  await world.settle();
  const statuses = ['created', 'created', 'deleted', 'created', 'linked', 'unlinked', 'deleted'];
  expect(answers[0]).toEqual(statuses.map((status) => expect.objectContaining({ status })));
  expect(answers[1]).toEqual(statuses.map((status) => expect.objectContaining({ status, repeated: true })));
  const left = await world.store.read((tx) => tx.workspaces.listWorkspacesOf({ ownerId: id }));
  expect(left.map(({ name }) => name)).toEqual(['mine']);
});
