import { expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { startDaemon, storeRows } from '../helpers/daemon.ts';
import { connectAgent } from '../helpers/mcp.ts';
import { runSubstrat } from '../helpers/substrat.ts';

test('the owner deletes a channel with everything said in it, after a question', async () => {
  const config = '[members.ann]\nprovider = "external"\n[channels.general]\ntopic = "planted"\nmembers = ["ann"]\n';
  await using daemon = await startDaemon({ config });
  const { client, home } = daemon;
  const attachments = [{ name: 'planted.txt', data: Buffer.from('planted').toString('base64') }];
  const { messageId } = await client.postMessage('general', { text: 'planted', attachments });
  await client.postMessage('general', { text: 'planted in a thread', parentMessageId: messageId });
  await client.react(messageId, '👍');
  await using ann = await connectAgent({ home, agentId: (await client.getAgent('ann')).id });
  expect((await ann.call('check_inbox')).blocks.join()).toContain('planted');
  await client.sendMessage('ann', { text: 'stays' });

  const { url } = await client.getStatus();
  const anna = createClient({ url: url as string, token: (await client.createToken({ as: 'anna' })).token });
  await expect(anna.deleteChannel('general')).rejects.toMatchObject({ code: 'forbidden' });
  await expect(client.deleteChannel('dm-ann-user')).rejects.toThrow('deleted with its agent');
  expect(await runSubstrat(['channel', 'delete', 'general'], { home })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add --yes'),
  });
  // The earlier meaning of the command had the id of a message.
  expect(await runSubstrat(['channel', 'delete', messageId, '--yes'], { home })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('substrat channel delete-message'),
  });
  expect(await runSubstrat(['channel', 'delete', 'general', '--yes'], { home })).toMatchObject({
    code: 0,
    stdout: 'Deleted #general with 2 messages.\n',
  });

  await expect(client.getChannel('general')).rejects.toMatchObject({ code: 'not_found' });
  // Runs keep what agents have read.
  const { events = [], configured = [], run_messages: _, ...tables } = await storeRows(home);
  expect(JSON.stringify(tables)).not.toMatch(/planted|general/);
  expect(JSON.stringify(tables)).toContain('stays');
  expect(JSON.stringify(configured)).toContain('general');
  expect(JSON.stringify(events)).toContain('channel_deleted');
  for await (const { type } of client.followEvents({ after: 0 })) if (type === 'channel_deleted') break;

  const inbox = (await ann.call('check_inbox')).blocks.join();
  expect(inbox).toContain('stays');
  expect(inbox).not.toContain('planted');

  // A channel of the configuration is not created again by itself.
  const left = { name: 'general', action: 'left', note: expect.stringContaining('apply --recreate general') };
  expect((await client.apply({})).items).toMatchObject([left]);
  await client.apply({ recreate: ['general'] });
  expect(await client.getChannel('general')).toMatchObject({ topic: 'planted' });
  expect((await client.listChannelMessages('general')).items).toEqual([]);
});
