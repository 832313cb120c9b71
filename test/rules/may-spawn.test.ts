import { expect, test } from 'vitest';
import { createWorld } from '../helpers/world.ts';

test('without a list, a child has the provider and the model of its parent', async () => {
  const world = await createWorld();
  await world.create('lead', null, { model: 'large' });
  world.behave('lead', async ({ call }) => {
    await call('spawn_agent', { name: 'same', instructions: '.' });
    await call('spawn_agent', { name: 'named', instructions: '.', provider: 'test', model: 'large' });
    const other = call('spawn_agent', { name: 'other', instructions: '.', provider: 'codex' });
    await expect(other).rejects.toThrow(/forbidden: You may not spawn an agent with codex. You may use: test:large/);
    const small = call('spawn_agent', { name: 'small', instructions: '.', model: 'small' });
    await expect(small).rejects.toThrow(/forbidden: .*test:small/);
    return 'done';
  });
  await world.ask('lead', 'Go.');
  await world.settle();
  expect(await world.agentNamed('same')).toMatchObject({ provider: 'test', model: 'large' });
  expect(await world.agentNamed('named')).toMatchObject({ provider: 'test', model: 'large' });
  await expect(world.agentNamed('other')).rejects.toThrow('no agent');
  await expect(world.agentNamed('small')).rejects.toThrow('no agent');
});

test('a list allows other providers and models, to grandchildren as well', async () => {
  const world = await createWorld();
  await world.create('lead', null, { program: '/bin/true', maySpawn: ['codex', 'llm:ollama/qwen3', 'test:small'] });
  world.behave('lead', async ({ call }) => {
    await call('spawn_agent', { name: 'any', instructions: '.', provider: 'codex', model: 'gpt-9' });
    await call('spawn_agent', { name: 'only', instructions: '.', provider: 'llm' });
    const beyond = call('spawn_agent', { name: 'beyond', instructions: '.', provider: 'llm', model: 'openai/gpt-9' });
    await expect(beyond).rejects.toThrow(/forbidden/);
    await call('spawn_agent', { name: 'small', instructions: '.', model: 'small' });
    await call('send_message', { recipient: 'small', text: 'Spawn.' });
    return 'asked';
  });
  world.behave('small', async ({ call }) => {
    await call('spawn_agent', { name: 'below', instructions: '.', provider: 'codex' });
    const own = call('spawn_agent', { name: 'own', instructions: '.', provider: 'claude' });
    await expect(own).rejects.toThrow(/forbidden/);
    return 'spawned';
  });
  await world.ask('lead', 'Go.');
  await world.settle();
  expect(await world.agentNamed('any')).toMatchObject({ provider: 'codex', model: 'gpt-9', program: null });
  expect(await world.agentNamed('only')).toMatchObject({ provider: 'llm', model: 'ollama/qwen3' });
  expect(await world.agentNamed('small')).toMatchObject({ provider: 'test', model: 'small', program: '/bin/true' });
  expect(await world.agentNamed('below')).toMatchObject({ provider: 'codex', model: null });
});

test("a child's list holds within those of its ancestors", async () => {
  const world = await createWorld();
  const lead = await world.create('lead', null, { maySpawn: ['codex'] });
  await world.create('worker', lead, { maySpawn: ['codex', 'gemini'] });
  world.behave('worker', async ({ call }) => {
    const beyond = call('spawn_agent', { name: 'beyond', instructions: '.', provider: 'gemini' });
    await expect(beyond).rejects.toThrow(/forbidden/);
    await call('spawn_agent', { name: 'within', instructions: '.', provider: 'codex' });
    return 'done';
  });
  await world.ask('worker', 'Go.');
  await world.settle();
  expect(await world.agentNamed('within')).toMatchObject({ provider: 'codex' });
});
