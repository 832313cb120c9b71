import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { noBwrap } from '../helpers/bwrap.ts';
import { createDatabase, describeOnPostgres } from '../helpers/postgres.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { until } from '../helpers/until.ts';

/** Long enough for a busy machine: a turn that could not renew its lease in time would be tried again. */
const LEASE_MS = 4_000;
const DEAD_AFTER_MS = 5_000;
const fixture = (name: string) => join(import.meta.dirname, '../fixtures', name);

/** Real daemons that share a database and a directory. */
async function createPlace(sandbox: 'bwrap' | 'none') {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'takeover-')));
  const shared = join(directory, 'shared');
  mkdirSync(shared);
  const database = await createDatabase();
  const running = new Map<string, Awaited<ReturnType<typeof startDaemonProcess>>>();
  onTestFinished(async () => {
    for (const daemon of running.values()) await daemon.kill();
    await database.drop();
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  });
  const start = async (name: string, more = '') => {
    const home = join(directory, name);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(
      join(home, 'config.toml'),
      `[db]\nurl = "${database.url}"\n[server]\nbind = "127.0.0.1:0"\n[sandbox]\nmode = "${sandbox}"
[daemon]\nlease = "${LEASE_MS}ms"\n[node]\nname = "${name}"\ndead_after = "${DEAD_AFTER_MS}ms"\nshared = ["${shared}"]\n${more}
[providers.cursor-agent]\ncommand = "${fixture('cursor-agent')}"
[providers.claude]\ncommand = "${fixture('claude.mjs')}"\nenv = { STAND_IN_SCENARIO = "patient" }\n`,
    );
    const daemon = await startDaemonProcess({ home, cwd: home });
    running.set(name, daemon);
    return daemon;
  };
  return { directory, shared, start };
}

async function ask(client: Client, name: string, text: string): Promise<string | undefined> {
  const { messageId } = await client.sendMessage(name, { text });
  return (await client.awaitReply(messageId, 20))?.text;
}

async function portabilityOf(client: Client, name: string) {
  return (await client.getAgent(name)).portability;
}

describeOnPostgres('a node that is killed for good in the middle of turns', () => {
  test.skipIf(noBwrap)(
    'has its agents taken over with their sessions, if their place allows it',
    async () => {
      const { shared, start } = await createPlace('bwrap');
      const a = await start('a');
      const b = await start('b');
      const create = (name: string, provider: string, workspace?: string) =>
        b.client.createAgent({ name, provider, node: 'b', ...(workspace !== undefined && { workspace }) });
      await create('cursor', 'cursor-agent', join(shared, 'cursor'));
      await create('claude', 'claude', join(shared, 'claude'));
      await create('local', 'cursor-agent');
      expect(await ask(a.client, 'cursor', 'one')).toBe('I heard: one (turn 1)');
      expect(await ask(a.client, 'claude', 'first words')).toBe('started');
      expect(await ask(a.client, 'local', 'one')).toBe('I heard: one (turn 1)');
      expect(await portabilityOf(a.client, 'cursor')).toBe('portable');
      expect(await portabilityOf(a.client, 'claude')).toBe('portable');
      expect(await portabilityOf(a.client, 'local')).toBe('local');
      const [before] = (await a.client.listRuns({ agent: 'cursor' })).items;

      const signals = ['cursor', 'claude'].map((name) => join(shared, name, 'signal'));
      const asked = await Promise.all(
        ['cursor', 'claude'].map((name, i) => a.client.sendMessage(name, { text: `<<wait ${signals[i]}>> two` })),
      );
      await until('both are at work', () => signals.every((signal) => existsSync(`${signal}.awaited`)));
      await b.kill();
      const killedAt = Date.now();
      for (const signal of signals) writeFileSync(signal, '');
      const [cursor, claude] = await Promise.all(asked.map(({ messageId }) => a.client.awaitReply(messageId, 20)));
      expect(Date.now() - killedAt).toBeLessThan(DEAD_AFTER_MS + 10_000);
      // The restored chat has the first turn, and nothing of the attempt that was cut.
      expect(cursor?.text).toBe(`I heard: <<wait ${signals[0]}>> two (turn 2)`);
      expect(claude?.text).toMatch(/^resumed after ".*first words/s);
      const [run] = (await a.client.listRuns({ agent: 'cursor' })).items;
      const { messages } = await a.client.getRun(run?.id ?? '');
      const prompts = messages.filter(({ type }) => type === 'user_message').map(({ content }) => String(content));
      expect(prompts.at(-1)).toContain(`Your session is as it was at the end of run ${before?.id}.`);
      expect(prompts.at(-1)).toContain('What you or an interrupted attempt wrote outside of the workspace is gone');
      for (const name of ['cursor', 'claude'])
        expect(await a.client.getAgent(name)).toMatchObject({ node: 'a', status: null });
      // The next prompt says nothing of it.
      expect(await ask(a.client, 'cursor', 'three')).toBe('I heard: three (turn 3)');
      const [last] = (await a.client.listRuns({ agent: 'cursor' })).items;
      expect(JSON.stringify((await a.client.getRun(last?.id ?? '')).messages)).not.toContain('sends no heartbeat');

      expect((await a.client.getAgent('local')).status?.kind).toBe('stranded');
      const told = (await a.client.listMessages('local')).items.filter(({ text }) =>
        text.includes('sends no heartbeat'),
      );
      expect(told).toMatchObject([{ text: expect.stringContaining('stranded until it is back: local. ') }]);

      // The node is back: what was taken stays away, and nothing happens twice.
      const again = await start('b');
      expect(await ask(again.client, 'local', 'two')).toBe('I heard: two (turn 2)');
      for (const name of ['cursor', 'claude']) expect((await again.client.getAgent(name)).node).toBe('a');
      for (const { messageId } of asked) expect((await a.client.listReplies(messageId)).items).toHaveLength(1);
      expect(await ask(again.client, 'cursor', 'four')).toBe('I heard: four (turn 4)');
    },
    90_000,
  );

  test('has them start a new session with the journal where the last one is not stored', async () => {
    const { shared, start } = await createPlace('none');
    const a = await start('a');
    const b = await start('b');
    // Without a sandbox, the program has its chats in the person's home.
    const workspace = join(shared, 'cursor');
    await b.client.createAgent({ name: 'cursor', provider: 'cursor-agent', node: 'b', workspace });
    expect(await portabilityOf(a.client, 'cursor')).toBe('portable');
    expect(await ask(a.client, 'cursor', 'the first question')).toBe('I heard: the first question (turn 1)');
    expect(await portabilityOf(a.client, 'cursor')).toBe('not_yet');
    const signal = join(workspace, 'signal');
    const { messageId } = await a.client.sendMessage('cursor', { text: `<<wait ${signal}>> two` });
    await until('it is at work', () => existsSync(`${signal}.awaited`));
    process.kill(b.pid, 'SIGSTOP');
    await until('it was taken over', async () => (await a.client.getAgent('cursor')).node === 'a');
    // The program of the old attempt ends well, too, and its daemon hears of it when it continues.
    writeFileSync(signal, '');
    expect((await a.client.awaitReply(messageId, 20))?.text).toBe(`I heard: <<wait ${signal}>> two (turn 1)`);
    const [run] = (await a.client.listRuns({ agent: 'cursor' })).items;
    const record = JSON.stringify((await a.client.getRun(run?.id ?? '')).messages);
    expect(record).toContain('Your session there was not stored, so this is a new one.');
    expect(record).toContain('> the first question');
    process.kill(b.pid, 'SIGCONT');
    await until('b is back', async () => (await a.client.getNode('b')).state === 'alive');
    await until('b runs nothing', async () => (await b.client.getNode('b')).running === 0);
    expect(await ask(b.client, 'cursor', 'three')).toBe('I heard: three (turn 2)');
    expect((await a.client.listReplies(messageId)).items).toHaveLength(1);
    expect((await a.client.listRuns({ agent: 'cursor' })).items).toMatchObject([
      { state: 'completed' },
      { id: run?.id, state: 'completed' },
      { state: 'completed' },
    ]);
  }, 60_000);
});

describeOnPostgres('a node that drains', () => {
  test.skipIf(noBwrap)(
    'gives agents with a stored session to others after their turn, and they resume it',
    async () => {
      const { shared, start } = await createPlace('bwrap');
      const a = await start('a');
      const b = await start('b');
      for (const name of ['idle', 'busy']) {
        const workspace = join(shared, name);
        await b.client.createAgent({ name, provider: 'cursor-agent', node: 'b', workspace });
        expect(await ask(a.client, name, 'one')).toBe('I heard: one (turn 1)');
      }
      const signal = join(shared, 'busy', 'signal');
      const { messageId } = await a.client.sendMessage('busy', { text: `<<wait ${signal}>> two` });
      await until('it is at work', () => existsSync(`${signal}.awaited`));
      await a.client.drainNode('b');
      await until('the idle one has moved', async () => (await a.client.getAgent('idle')).node === 'a', 60_000);
      expect(await ask(a.client, 'idle', 'two')).toBe('I heard: two (turn 2)');
      expect((await a.client.getAgent('busy')).node).toBe('b');
      writeFileSync(signal, '');
      expect((await a.client.awaitReply(messageId, 60))?.text).toBe(`I heard: <<wait ${signal}>> two (turn 2)`);
      await until('the busy one has moved', async () => (await a.client.getAgent('busy')).node === 'a', 60_000);
      expect(await ask(a.client, 'busy', 'three')).toBe('I heard: three (turn 3)');
      expect((await b.client.getNode('b')).agents).toBe(0);
    },
    240_000,
  );
});
