import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startDaemon, storeRows } from './helpers/daemon.ts';
import { connectAgent, connectRaw, helloOf } from './helpers/mcp.ts';
import { processesOf } from './helpers/run-processes.ts';
import { until } from './helpers/until.ts';

const survivor = join(import.meta.dirname, 'fixtures/survivor.mjs');
const call = (id: number, tool: string, args: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: args } })}\n`;

describe('a socket', () => {
  test('only serves its own agent', async () => {
    await using daemon = await startDaemon({ members: { lead: {}, worker: { parent: 'lead' } } });
    const [lead, worker] = [daemon.agent('lead').id, daemon.agent('worker').id];
    const before = await storeRows(daemon.home);
    const raw = await connectRaw({ home: daemon.home, agentId: worker, hello: false });
    await raw.send(helloOf(lead) + call(1, 'send_message', { recipient: 'USER', text: 'I am the lead.' }));
    expect(await raw.json()).toEqual({ substrat: { error: expect.stringMatching(/belongs to another agent/) } });
    expect(await raw.line()).toBe(null);
    expect(await storeRows(daemon.home)).toEqual(before);
  });

  test('exists only during a turn', async () => {
    await using daemon = await startDaemon();
    const program = daemon.program(
      'look',
      `async ({ mcpConfig }) => {
      const { readFileSync, existsSync } = await import('node:fs');
      const path = JSON.parse(readFileSync(mcpConfig, 'utf8')).mcpServers.substrat.env.SUBSTRAT_SOCKET;
      return JSON.stringify({ path, there: existsSync(path) });
    }`,
    );
    const { id } = await daemon.client.createAgent({ name: 'solo', program });
    const path = join(daemon.home, 'agents', id, 'agent.sock');
    expect(existsSync(path)).toBe(false);
    const { messageId } = await daemon.client.sendMessage('solo', { text: 'Look.' });
    const reply = await daemon.client.awaitReply(messageId, 20);
    expect(JSON.parse(reply?.text ?? '')).toEqual({ path, there: true });
    await until('the socket is gone', () => !existsSync(path));
  });

  test('is found by the next turn, whatever a turn without a sandbox made of the file that names it', async () => {
    await using daemon = await startDaemon();
    const program = daemon.program(
      'spoiler',
      `async ({ mcpConfig, messages }) => {
      const { execFileSync } = await import('node:child_process');
      const { readFileSync, rmSync, writeFileSync } = await import('node:fs');
      const found = JSON.parse(readFileSync(mcpConfig, 'utf8')).mcpServers.substrat.env.SUBSTRAT_SOCKET;
      const [{ text }] = messages;
      if (text === 'Block.' || text === 'Remove.') rmSync(mcpConfig);
      if (text === 'Block.') execFileSync('mkfifo', [mcpConfig]);
      if (text === 'Write.') writeFileSync(mcpConfig, '{"mcpServers":{}}');
      return found;
    }`,
    );
    const { id } = await daemon.client.createAgent({ name: 'solo', program });
    const path = join(daemon.home, 'agents', id, 'agent.sock');
    for (const text of ['Write.', 'Block.', 'Remove.', 'Look.']) {
      const { messageId } = await daemon.client.sendMessage('solo', { text });
      expect((await daemon.client.awaitReply(messageId, 20))?.text).toBe(path);
    }
  });

  test('of an ended turn serves no process that the turn left behind, and neither does that of the next turn', async () => {
    await using daemon = await startDaemon({ members: { boss: {} } });
    const program = daemon.program(
      'leaver',
      `async ({ messages, mcpConfig }) => {
      const { spawn } = await import('node:child_process');
      const { readFileSync, existsSync } = await import('node:fs');
      const { setTimeout: pause } = await import('node:timers/promises');
      const told = () => (existsSync('${daemon.directory}/told') ? readFileSync('${daemon.directory}/told', 'utf8') : '');
      const first = messages.some(({ text }) => text === 'Leave one.');
      if (first) {
        const args = ['${survivor}', '${daemon.directory}', readFileSync(mcpConfig, 'utf8')];
        // Without its environment, by which it would be found and ended.
        const { SUBSTRAT_RUN_ID: LEFT_RUN, ...env } = process.env;
        spawn(process.execPath, args, { detached: true, stdio: 'ignore', env: { ...env, LEFT_RUN } }).unref();
      } else {
        (await import('node:fs')).writeFileSync('${daemon.directory}/next-turn', '');
      }
      while (!told().includes(first ? 'joined' : 'bridge')) await pause(5);
      return 'Done.';
    }`,
    );
    const leaver = await daemon.client.createAgent({ name: 'leaver', parent: 'boss', program });
    await daemon.client.createAgent({ name: 'sibling', parent: 'boss', provider: 'external' });
    const ask = async (text: string) =>
      daemon.client.awaitReply((await daemon.client.sendMessage('leaver', { text })).messageId, 15);
    const told = () =>
      readFileSync(join(daemon.directory, 'told'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));

    expect(await ask('Leave one.')).toMatchObject({ kind: 'reply', text: 'Done.' });
    await until('the turn ended', async () => (await daemon.client.getAgent(leaver.id)).state === 'idle');
    writeFileSync(join(daemon.directory, 'turn-ended'), '');
    await until('it tried to call', () => told().length === 3);
    expect(await ask('Go on.')).toMatchObject({ kind: 'reply', text: 'Done.' });
    expect(told()).toEqual([
      { joined: true },
      { held: 'closed' },
      { again: 'closed' },
      { bridge: 'substrat-mcp-server: The run of this process has ended.\n' },
    ]);
    const { messages, runs } = (await storeRows(daemon.home)) as Record<string, { id: string; text: string }[]>;
    expect(messages?.filter(({ text }) => text === 'I live.')).toEqual([]);
    await until('it is gone', () => runs?.every(({ id }) => processesOf(id).length === 0));
  });

  test('closes with all processes of a turn without a sandbox, in any session', async () => {
    await using daemon = await startDaemon();
    const program = daemon.program(
      'leaver',
      `async () => {
      const { spawn } = await import('node:child_process');
      const left = spawn('sh', ['-c', 'trap "" TERM HUP; sleep 1000 & echo up; wait'], {
        detached: true, stdio: ['ignore', 'pipe', 'ignore'],
      });
      await new Promise((resolve) => left.stdout.once('data', resolve));
      left.stdout.destroy();
      left.unref();
      return JSON.stringify([process.env.SUBSTRAT_RUN_ID, left.pid]);
    }`,
    );
    await daemon.client.createAgent({ name: 'leaver', program });
    const { messageId } = await daemon.client.sendMessage('leaver', { text: 'Leave one.' });
    const [runId, pid] = JSON.parse((await daemon.client.awaitReply(messageId, 20))?.text ?? '');
    expect(pid).toBeGreaterThan(0);
    await until('all are gone', () => processesOf(runId).length === 0);
  });

  test('of a cancelled run is closed; joining again starts another run', async () => {
    await using daemon = await startDaemon({ members: { lead: {}, worker: { parent: 'lead' } } });
    const agentId = daemon.agent('lead').id;
    const raw = await connectRaw({ home: daemon.home, agentId });
    const run = await until('it has joined', () => daemon.daemon.store.read((tx) => tx.runs.getLiveRun({ agentId })));
    await daemon.client.cancelRun(run.id);
    await raw.closed;
    await using again = await connectAgent({ home: daemon.home, agentId });
    expect((await again.call('send_message', { recipient: 'worker', text: 'x' })).isError).toBe(false);
    const next = await daemon.daemon.store.read((tx) => tx.runs.getLiveRun({ agentId }));
    expect(next?.id).not.toBe(run.id);
  });

  test('of a terminated agent is closed and removed, and cannot be joined again', async () => {
    await using daemon = await startDaemon({ members: { lead: {}, worker: { parent: 'lead' } } });
    const raw = await connectRaw({ home: daemon.home, agentId: daemon.agent('worker').id });
    await daemon.client.terminateAgent('lead');
    await raw.closed;
    for (const name of ['lead', 'worker']) {
      expect(existsSync(join(daemon.home, 'agents', daemon.agent(name).id, 'agent.sock'))).toBe(false);
    }
  });
});

describe('the home', () => {
  test('is only readable by its owner, except for the agents’ own files', async () => {
    await using daemon = await startDaemon({ members: { lead: {} } });
    const program = daemon.program(
      'spawner',
      `async ({ call, messages }) => {
      await call('spawn_agent', { name: 'kid', instructions: 'x', workspace_subdir: 'a/b' });
      return 'ok';
    }`,
    );
    await daemon.client.createAgent({
      name: 'boss',
      program,
      workspace: join(daemon.agent('lead').workspace, 'given/place'),
    });
    const { messageId } = await daemon.client.sendMessage('boss', { text: 'x' });
    expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ text: 'ok' });
    await using lead = await connectAgent({ home: daemon.home, agentId: daemon.agent('lead').id });
    await lead.call('list_agents');

    const paths = ['.', ...readdirSync(daemon.home, { recursive: true, encoding: 'utf8' })];
    for (const expected of [
      'daemon.sock',
      'daemon.pid',
      'daemon.log',
      'daemon.lock',
      'substrat.db',
      'substrat.db-wal',
      'node',
    ]) {
      expect(paths).toContain(expected);
    }
    // Files of an agent have the modes that it chose, in directories that only the owner can enter.
    const made = paths.filter((path) => /^(workspaces\/[^/]+|agents\/[^/]+\/home)\//.test(path));
    const open = paths.filter((path) => {
      if (made.includes(path)) return false;
      const stats = lstatSync(join(daemon.home, path));
      const mode = stats.mode & 0o777;
      if (stats.isDirectory()) return mode !== 0o700;
      return stats.isSocket() ? (mode & 0o077) !== 0 : mode !== 0o600;
    });
    expect(open).toEqual([]);
    const around = made.map((path) =>
      path
        .split('/')
        .slice(0, path.startsWith('agents/') ? 3 : 2)
        .join('/'),
    );
    expect(paths).toEqual(expect.arrayContaining(around));
    expect(lstatSync(join(daemon.home, 'daemon.sock')).mode & 0o777).toBe(0o600);
  });
});

describe('secrets', () => {
  test('of conversations and programs do not get into the log', async () => {
    await using daemon = await startDaemon({
      config: '[daemon]\nmax_attempts = 1\n[providers.scripted]\nenv = { TOKEN = "SECRET-8" }\n',
      members: { lead: {} },
    });
    const program = daemon.program(
      'chatty',
      `async ({ say, call }) => {
      say('SECRET-1');
      await call('send_message', { recipient: 'nobody', text: 'SECRET-2' }).catch(() => {});
      process.stderr.write('SECRET-3\\n');
      throw new Error('SECRET-4');
    }`,
    );
    await daemon.client.createAgent({ name: 'chatty', program, instructions: 'SECRET-5' });
    const { messageId } = await daemon.client.sendMessage('chatty', { text: 'SECRET-6' });
    expect(await daemon.client.awaitReply(messageId, 20)).toMatchObject({ kind: 'error' });
    await using lead = await connectAgent({ home: daemon.home, agentId: daemon.agent('lead').id });
    for (const args of [
      { recipient: 'USER', text: 'SECRET-7' },
      { recipient: 'USER', text: 'SECRET-7\\0' },
      { 'SECRET-7': 1 },
    ]) {
      await lead.call('send_message', args);
    }
    await daemon.client.sendMessage('lead', { text: 'SECRET-9', inReplyTo: 'SECRET-9' }).catch(() => {});
    expect(daemon.log()).toContain('the daemon is running');
    expect(daemon.log()).not.toContain('SECRET');
  });

  test('of the daemon do not get into the environment of a program', async () => {
    process.env.SUBSTRAT_TEST_API_KEY = 'SECRET';
    await using daemon = await startDaemon({ config: '[providers.scripted]\nenv = { GIVEN = "yes" }\n' });
    delete process.env.SUBSTRAT_TEST_API_KEY;
    const program = daemon.program('environment', 'async () => JSON.stringify(process.env)');
    const { id } = await daemon.client.createAgent({ name: 'solo', program });
    const { messageId } = await daemon.client.sendMessage('solo', { text: 'x' });
    const environment = JSON.parse((await daemon.client.awaitReply(messageId, 20))?.text ?? '{}');
    expect(environment).toMatchObject({ GIVEN: 'yes', SUBSTRAT_AGENT_ID: id });
    const known = [
      'PATH',
      'HOME',
      'LANG',
      'TMPDIR',
      'TZ',
      'SUBSTRAT_RUN_ID',
      'SUBSTRAT_AGENT_ID',
      'NODE_COMPILE_CACHE',
      'GIVEN',
      // Paths, for substrat-tool.
      'SUBSTRAT_MCP_CONFIG',
      'SUBSTRAT_NODE',
    ];
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    expect(JSON.stringify(environment)).not.toContain('SECRET');
  });
});
