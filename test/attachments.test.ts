import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { obedient } from './fake-model/mind.ts';
import { startFakeModel } from './fake-model/server.ts';
import { startDaemon, storeRows } from './helpers/daemon.ts';
import { runSubstrat } from './helpers/substrat.ts';
import { until } from './helpers/until.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const base64 = (text: string) => Buffer.from(text).toString('base64');
/** Answers with what it finds of its message's files. */
const READER = `async ({ messages }) => {
  const { readFileSync } = await import('node:fs');
  const files = messages.flatMap(({ attachments = [] }) => attachments);
  return JSON.stringify(files.map(({ path }) => [path.split('/').at(-1), readFileSync(path, 'utf8')]));
}`;

async function startReader() {
  const daemon = await startDaemon();
  const program = daemon.program('reader', READER);
  const agent = await daemon.client.createAgent({ name: 'reader', program });
  const send = async (attachments: { name: string; data: string }[], text = 'Read.') => {
    const { messageId } = await daemon.client.sendMessage('reader', { text, attachments });
    return { messageId, reply: (await daemon.client.awaitReply(messageId, 20))?.text };
  };
  return { daemon, agent, send, client: daemon.client };
}

describe('a message with files', () => {
  test('gives them to the agent in its workspace, and shows them in the API', async () => {
    const { daemon, agent, send, client } = await startReader();
    await using _ = daemon;
    const { messageId, reply } = await send([
      { name: 'a b.txt', data: base64('one') },
      { name: 'dot.png', data: PNG },
      { name: 'same.txt', data: base64('one') },
    ]);
    expect(JSON.parse(reply ?? '')).toMatchObject([
      ['a b.txt', 'one'],
      ['dot.png', expect.any(String)],
      ['same.txt', 'one'],
    ]);
    const { attachments } = await client.getMessage(messageId);
    expect(attachments).toMatchObject([
      { name: 'a b.txt', mediaType: 'application/octet-stream', size: 3 },
      { name: 'dot.png', mediaType: 'image/png' },
      { name: 'same.txt', hash: attachments[0]?.hash },
    ]);
    expect(await client.getAttachment(messageId, 1)).toMatchObject({ name: 'dot.png', data: PNG });
    await expect(client.getAttachment(messageId, 3)).rejects.toMatchObject({ code: 'not_found' });
    // Stored once.
    const { files } = await storeRows(daemon.home);
    expect(files).toHaveLength(2);
    expect(readFileSync(join(agent.workspace, '.substrat/.gitignore'), 'utf8')).toBe('*\n');
    const { messages } = await client.getRun((await client.listRuns({ agent: 'reader' })).items[0]?.id ?? '');
    const prompt = messages.find(({ type }) => type === 'user_message')?.content;
    expect(prompt).toMatch(
      /Read\.\n\nAttached files, in your workspace:\n- \.substrat\/attachments\/\w{16}\/a b\.txt \(application/,
    );
  });

  test('loses them when it is deleted', async () => {
    const { daemon, send, client } = await startReader();
    await using _ = daemon;
    const { messageId } = await send([{ name: 'a', data: base64('secret') }]);
    await client.deleteMessage(messageId);
    expect(await client.getMessage(messageId)).toMatchObject({ attachments: [] });
    expect(await storeRows(daemon.home)).toMatchObject({ files: [], attachments: [] });
  });

  test('follows no link that the agent put into its workspace', async () => {
    const { daemon, agent, send } = await startReader();
    await using _ = daemon;
    const outside = join(daemon.directory, 'outside');
    mkdirSync(outside);
    symlinkSync(outside, join(agent.workspace, '.substrat'));
    expect((await send([{ name: 'a', data: base64('one') }])).reply).toBe('[["a","one"]]');
    expect(readdirSync(outside)).toEqual([]);
    rmSync(join(agent.workspace, '.substrat'), { recursive: true });
    mkdirSync(join(agent.workspace, '.substrat'));
    symlinkSync(outside, join(agent.workspace, '.substrat/attachments'));
    expect((await send([{ name: 'a', data: base64('two') }])).reply).toBe('[["a","two"]]');
    expect(readdirSync(outside)).toEqual([]);
  });

  test('is bounded', async () => {
    const { daemon, send } = await startReader();
    await using _ = daemon;
    const refused = (attachments: { name: string; data: string }[]) =>
      expect(send(attachments)).rejects.toMatchObject({ code: expect.stringMatching(/bad_request|too_large/) });
    for (const name of ['', '..', 'a/b', 'a\\b', 'a\nb', 'x'.repeat(201)]) await refused([{ name, data: '' }]);
    await refused([{ name: 'a', data: 'no base64!' }]);
    await refused([{ name: 'a', data: Buffer.alloc(5 * 1024 * 1024 + 3).toString('base64') }]);
    await refused(Array.from({ length: 11 }, (_, n) => ({ name: `${n}`, data: '' })));
    expect(await storeRows(daemon.home)).toMatchObject({ files: [] });
  });

  test('is posted in a channel, and reaches the agents that it wakes', async () => {
    const { daemon, client } = await startReader();
    await using _ = daemon;
    await client.createChannel({ id: 'all', kind: 'public' });
    await client.addMember('all', { participant: 'reader' });
    const file = join(daemon.directory, 'plan.txt');
    writeFileSync(file, 'the plan');
    const args = ['channel', 'post', 'all', 'Look, @reader.', '--attach', file, '--json'];
    const { stdout } = await runSubstrat(args, { home: daemon.home });
    const { attachments } = await client.getMessage(JSON.parse(stdout).messageId);
    expect(attachments).toMatchObject([{ name: 'plan.txt', size: 8 }]);
    const run = await until('its turn', async () => {
      const { items } = await client.listRuns({ agent: 'reader', state: 'completed' });
      return items[0];
    });
    expect(run.finalText).toBe('[["plan.txt","the plan"]]');
  });

  test('is sent by the command line', async () => {
    const { daemon, client } = await startReader();
    await using _ = daemon;
    const file = join(daemon.directory, 'note.txt');
    writeFileSync(file, 'from the shell');
    const args = ['agent', 'send', 'reader', 'Read.', '--wait', '--attach', file];
    const { stdout, code } = await runSubstrat(args, { home: daemon.home });
    expect([stdout, code]).toEqual(['[["note.txt","from the shell"]]\n', 0]);
    const missing = await runSubstrat([...args, '--attach', join(daemon.directory, 'gone')], { home: daemon.home });
    expect(missing.stderr).toMatch(/gone cannot be attached: there is no such file/);
    expect((await client.listMessages('reader')).items).toHaveLength(2);
  });

  test('shows its images to a model, in later turns too', async () => {
    await using model = await startFakeModel({ key: 'k', mind: obedient });
    const config = `[providers.llm]\nmodel = "fake/m"\nendpoints.fake = { base_url = "${model.url}/v1", api_key = "k", dialect = "anthropic" }\n`;
    await using daemon = await startDaemon({ config, members: { ann: { provider: 'llm' } } });
    for (const attachments of [[{ name: 'dot.png', data: PNG }], []]) {
      const { messageId } = await daemon.client.sendMessage('ann', { text: 'What is it?', attachments });
      await daemon.client.awaitReply(messageId, 20);
    }
    expect(model.requests).toHaveLength(2);
    for (const { body } of model.requests) expect(JSON.stringify(body)).toContain(PNG);
    const { conversation_entries: entries } = await storeRows(daemon.home);
    expect(JSON.stringify(entries)).not.toContain(PNG);
    expect(existsSync(join(daemon.agent('ann').workspace, '.substrat/attachments'))).toBe(true);
  });
});
