import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon, storeRows } from '../helpers/daemon.ts';
import { runSubstrat } from '../helpers/substrat.ts';

const LEAD = `async ({ name, messages, call }) => {
  if (name === 'kid') return 'planted-answer';
  if (!messages.some(({ kind }) => kind === 'request')) return 'planted-result';
  await call('store_memory', { content: 'planted-note' });
  await call('spawn_agent', { name: 'kid', instructions: 'planted-instructions' });
  await call('send_message', { recipient: 'kid', text: 'planted-question' });
  return 'planted-wait';
}`;

test('a terminated agent is deleted with all below it, and no row but its events remains', async () => {
  await using daemon = await startDaemon({ config: '[members.lead]\nprovider = "external"\nworkspace = "./work"\n' });
  const { client } = daemon;
  const before = await client.createAgent({
    name: 'boss',
    program: daemon.program('boss', LEAD),
    instructions: 'planted',
  });
  const stays = await client.createAgent({ name: 'ben', provider: 'external' });
  await client.createChannel({ id: 'general', topic: 'stays', members: ['boss', 'ben'] });
  const post = await client.postMessage('general', { text: 'stays' });
  const { messageId } = await client.sendMessage('boss', { text: 'planted-request' });
  await client.awaitReply(messageId, 20);
  await client.setBlock('boss', 'persona', 'planted-block');
  await client.setBlock('boss', 'persona', 'planted-block, changed');
  await client.shareBlock('boss', 'persona', { with: ['ben'] });
  await client.changeAgent('boss', { role: 'planted-role' });
  const kid = await client.getAgent('boss/kid');
  const file = join(daemon.home, 'agents', before.id, 'home/planted');
  writeFileSync(file, 'x');

  await expect(client.deleteAgent('boss')).rejects.toThrow('boss is not terminated');
  expect(existsSync(file)).toBe(true);
  await client.terminateAgent('boss');
  const unasked = await runSubstrat(['agent', 'delete', 'boss'], { home: daemon.home });
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') });
  const deleted = await runSubstrat(['agent', 'delete', 'boss', '--yes'], { home: daemon.home });
  expect(deleted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Deleted boss, kid with \d+ messages and \d+ runs/),
  });

  await expect(client.getAgent(before.id)).rejects.toThrow('There is no agent');
  const { events = [], workspaces = [], ...tables } = await storeRows(daemon.home);
  const rows = JSON.stringify(tables);
  for (const gone of [before.id, kid.id, 'planted']) expect(rows).not.toContain(gone);
  expect(rows).toContain(stays.id);
  expect(workspaces).toContainEqual(expect.objectContaining({ id: before.id, owner_id: 'user' }));
  expect(JSON.stringify(events)).toContain('agent_deleted');
  expect(existsSync(join(daemon.home, 'agents', before.id))).toBe(false);
  expect((await client.listChannelMessages('general')).items.map((one) => one.messageId)).toEqual([post.messageId]);

  // Its name and handle are free, and events that are older can still be read.
  expect((await client.createAgent({ name: 'boss', provider: 'external' })).handle).toBe('boss');
  const types: string[] = [];
  for await (const { type } of client.followEvents({ after: 0 })) {
    types.push(type);
    if (type === 'agent_created' && types.includes('agent_deleted')) break;
  }

  // A member of the configuration is not created again by itself.
  await client.terminateAgent('lead');
  await client.deleteAgent('lead');
  const { items } = await client.apply({});
  expect(items).toMatchObject([{ name: 'lead', action: 'left', note: expect.stringContaining('was deleted') }]);
});
