import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, describe, expect, test } from 'vitest';
import { listen, serveTools } from '../../test/helpers/agent-socket.ts';

const bridge = join(import.meta.dirname, 'bridge.cjs');
const agentId = '3f2b8c1e-0000-4000-8000-00000000abcd';
let close: (() => Promise<void>) | undefined;

afterEach(async () => {
  await close?.();
  close = undefined;
});

async function serve(accept: (socket: Socket, hello: string) => unknown): Promise<Record<string, string>> {
  const socket = await listen(accept);
  close = socket.close;
  return { SUBSTRAT_SOCKET: socket.path };
}

/** Starts the bridge; `ended` resolves with its exit code and output. */
function start(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [bridge, ...args], { env, stdio: 'pipe' });
  child.stdin.on('error', () => undefined);
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({ code, stdout, stderr }),
  );
  return { stdin: child.stdin, ended };
}

const withId = ['--agent-id', agentId];

describe('substrat-mcp-server', () => {
  test('sends its hello, then carries MCP', async () => {
    const hellos: string[] = [];
    const env = await serve((socket, hello) => {
      hellos.push(hello);
      return serveTools(socket);
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [bridge, ...withId], env }));
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(['echo', 'refuse', 'die']);
    const long = 'é'.repeat(1_000_000);
    const result = await client.callTool({ name: 'echo', arguments: { text: long } });
    expect(result.structuredContent).toEqual({ text: long });
    await client.close();
    expect(hellos).toEqual([`{"substrat":{"agentId":"${agentId}"}}`]);
  });

  test('names the run of its process', async () => {
    const hellos: string[] = [];
    const env = await serve((socket, hello) => {
      hellos.push(hello);
      socket.end();
    });
    await start(withId, { ...env, SUBSTRAT_RUN_ID: 'run "1"' }).ended;
    expect(hellos.map((hello) => JSON.parse(hello))).toEqual([{ substrat: { agentId, runId: 'run "1"' } }]);
  });

  test('passes any bytes in both directions', async () => {
    const env = await serve((socket) => socket.pipe(socket));
    const { stdin, ended } = start([`--agent-id=${agentId}`], env);
    const sent = '{"sub\n{"substrat":{"error":"not the first line"}}\n'.repeat(20_000);
    stdin.end(sent);
    expect(await ended).toEqual({ code: 0, stdout: sent, stderr: '' });
  });

  test('exits only after a slow client has received everything', async () => {
    const env = await serve((socket) => socket.pipe(socket));
    const child = spawn(process.execPath, [bridge, ...withId], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    const sent = Buffer.alloc(1_000_000, 'x');
    child.stdin.end(sent);
    let received = 0;
    for await (const chunk of child.stdout) {
      received += chunk.length;
      await sleep(5);
    }
    expect(received).toBe(sent.length);
  });

  test('waits for pending responses after its client has closed stdin', async () => {
    const env = await serve((socket) => socket.resume().on('end', () => socket.end('{"jsonrpc":"2.0"}\n')));
    const { stdin, ended } = start(withId, env);
    stdin.end('{}\n');
    expect(await ended).toEqual({ code: 0, stdout: '{"jsonrpc":"2.0"}\n', stderr: '' });
  });

  test('prints why the daemon refused it', async () => {
    const env = await serve((socket) => {
      socket.resume().write('{"substrat":');
      setImmediate(() => socket.end('{"error":"No run of this agent is alive."}}\n'));
    });
    const { ended } = start(withId, env);
    const stderr = 'substrat-mcp-server: No run of this agent is alive.\n';
    expect(await ended).toEqual({ code: 1, stdout: '', stderr });
  });

  test('reports that the run has ended when the daemon closes the connection', async () => {
    const env = await serve((socket) => {
      socket.end('{"jsonrpc":"2.0"}\n');
    });
    const { ended } = start(withId, env);
    const stderr = 'substrat-mcp-server: the run of this agent has ended.\n';
    expect(await ended).toEqual({ code: 1, stdout: '{"jsonrpc":"2.0"}\n', stderr });
  });

  test.each([
    ['no socket', withId, {}, 1, /SUBSTRAT_SOCKET is not set/],
    ['no such socket', withId, { SUBSTRAT_SOCKET: '/nowhere/agent.sock' }, 1, /\/nowhere\/agent\.sock .*ENOENT/],
    ['a socket path too long', withId, { SUBSTRAT_SOCKET: `/${'x'.repeat(200)}` }, 1, /cannot be reached/],
    ['a file that is not a socket', withId, { SUBSTRAT_SOCKET: bridge }, 1, /cannot be reached/],
    ['no agent id', [], { SUBSTRAT_SOCKET: '/x' }, 1, /--agent-id is missing/],
    ['an agent id without value', ['--agent-id'], { SUBSTRAT_SOCKET: '/x' }, 1, /--agent-id is missing/],
    ['a malformed agent id', ['--agent-id', 'a"b'], { SUBSTRAT_SOCKET: '/x' }, 1, /a"b is not a UUID/],
    ['an unknown option', [...withId, '--fast'], { SUBSTRAT_SOCKET: '/x' }, 2, /unknown option --fast/],
  ])('exits immediately with %s', async (_, args, env, code, message) => {
    const { ended } = start(args, env as Record<string, string>);
    const { stderr, ...rest } = await ended;
    expect(rest).toEqual({ code, stdout: '' });
    expect(stderr).toMatch(/^substrat-mcp-server: .*\n$/);
    expect(stderr).toMatch(message);
  });

  test('has --help and --version', async () => {
    expect(await start(['--help']).ended).toMatchObject({ code: 0, stdout: expect.stringContaining('--agent-id') });
    expect(await start(['--version']).ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });
});
