import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { startDaemon, type TestDaemon } from '../helpers/daemon.ts';
import { runSubstrat } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

const CONFIG = `
[policies.careful]
tool = "create_workspace"
action = "ask"
`;
let world: TestDaemon;

beforeAll(async () => {
  world = await startDaemon({ config: CONFIG });
});
afterAll(() => world.stop());

const run = (...args: string[]) => runSubstrat(args, { home: world.home });

test('an approval is the owner’s: the card says what it cannot force, and no other token can give it', async () => {
  const program = world.program(
    'maker',
    `async ({ call }) => {
      const made = await call('create_workspace', { name: 'lab' }).catch(({ message }) => ({ status: message }));
      return made.status;
    }`,
  );
  await world.client.createAgent({ name: 'maker', program });
  const { url } = await world.client.getStatus();
  const { token } = await world.client.createToken({ as: 'anna' });
  const anna = createClient({ url: url as string, token });
  // The work begins at anna's word, and the call is still not hers to approve.
  await anna.sendMessage('maker', { text: 'go' });
  const question = await until('the card', async () => (await world.client.listQuestions()).items[0]);
  expect(question).toMatchObject({
    kind: 'approval',
    agent: 'maker',
    tool: 'create_workspace',
    arguments: { name: 'lab' },
    unsandboxed: true,
  });
  expect((await run('inbox', '--open')).stdout).toContain(
    'It runs outside a sandbox: nothing forces it to wait for your approval.',
  );
  expect((await anna.listQuestions()).items).toEqual([]);
  await expect(anna.getQuestion(question.id)).rejects.toMatchObject({ code: 'not_found' });
  await expect(anna.approveQuestion(question.id)).rejects.toMatchObject({ code: 'not_found' });
  await expect(anna.rejectQuestion(question.id)).rejects.toMatchObject({ code: 'not_found' });
  expect((await world.client.getQuestion(question.id)).outcome).toBeNull();
  expect(await run('approve', question.id)).toMatchObject({ code: 0 });
  expect(await world.client.getQuestion(question.id)).toMatchObject({ outcome: 'approved', settledBy: 'user' });
  await until('the call', async () => (await world.client.getQuestion(question.id)).usedAt);
  // One click of two browsers holds.
  await expect(world.client.approveQuestion(question.id)).rejects.toMatchObject({ code: 'conflict' });
});

test('doctor says that approvals are a convention without a sandbox', async () => {
  expect((await run('doctor')).stdout).toMatch(
    /sandbox: none: .*approvals, budgets and tool scopes are only a convention/,
  );
});
