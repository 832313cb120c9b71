import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import type { Server } from '@modelcontextprotocol/server';
import type { Agent } from '../core/agent.ts';
import type { ActiveAttempt } from '../runs/attempt.ts';

import type { ToolDependencies } from '../tools/call.ts';
import { sayFarewell } from './farewell.ts';
import { watchScope } from './watch-scope.ts';

/** A hello is one short line; a client that sends more, or nothing for long, is not our bridge. */
const MAX_HELLO = 1024;
const HELLO_TIMEOUT_MS = 10_000;
/** Some programs start their MCP servers twice; more than a few are never needed. */
const MAX_CONNECTIONS = 16;

export interface AgentSocketOptions {
  readonly path: string;
  readonly agent: Agent;
  readonly tools: ToolDependencies;
  readonly version: string;
  /** The attempt that a new connection acts for. */
  readonly join: () => Promise<ActiveAttempt>;
  readonly leave: () => Promise<void>;
  /** Instructions for clients that join. Agents run by a provider have them in their prompt. */
  readonly instructions?: (attempt: ActiveAttempt) => Promise<string>;
}

export interface AgentSocket {
  /** Closes every connection and removes the socket. */
  close(): Promise<void>;
}

/**
 * Listens on an agent's socket. A connection starts with the line `{"substrat":{"agentId":"…"}}`; with another
 * agent's id it gets the reason and is closed. After that it speaks MCP for one attempt of this agent.
 */
export async function listenForAgent(options: AgentSocketOptions): Promise<AgentSocket> {
  const sockets = new Set<Socket>();
  const served = new Set<Socket>();
  const refuse = (socket: Socket, error: string): void => {
    served.delete(socket);
    sayFarewell(socket, { substrat: { error } });
  };
  // Half-open: a client that has ended its side still gets pending responses.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    if (sockets.size >= 2 * MAX_CONNECTIONS) return void socket.destroy();
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      served.delete(socket);
    });
    if (served.size >= MAX_CONNECTIONS) return refuse(socket, `This agent has ${MAX_CONNECTIONS} connections already.`);
    served.add(socket);
    greet(socket, options).then(
      (error) => error && refuse(socket, error),
      // For example if the store is unavailable; the program may connect again.
      (error: unknown) => refuse(socket, `The daemon could not serve this connection: ${(error as Error).message}`),
    );
  });
  rmSync(options.path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.path, () => {
      server
        .off('error', reject)
        .on('error', (error) => options.tools.log.error({ error: error.message }, 'no connection'));
      resolve();
    });
  });
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      // All clients have disconnected by then.
      const gone = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all([closed, ...gone]);
    },
  };
}

/** Returns why the connection is refused; null if it is served or gone. */
async function greet(socket: Socket, options: AgentSocketOptions): Promise<string | null> {
  const hello = parseHello(await readLine(socket));
  if (socket.destroyed) return null;
  if (!hello) return 'The first line must be {"substrat":{"agentId":"..."}}.';
  if (hello.agentId !== options.agent.id) {
    return 'This socket belongs to another agent; check --agent-id and SUBSTRAT_SOCKET.';
  }
  let attempt: ActiveAttempt;
  try {
    attempt = await options.join();
  } catch (error) {
    return (error as Error).message;
  }
  // A process that outlived an earlier turn is detected by the run id in its environment; an external agent may be
  // joined from anywhere.
  if (!attempt.external && hello.runId !== undefined && hello.runId !== attempt.runId) {
    return 'The run of this process has ended.';
  }
  if (socket.destroyed) await options.leave();
  else await serve(socket, attempt, options);
  return null;
}

/** The protocol's modules are the largest ones, so they are not loaded at startup. */
async function serve(socket: Socket, attempt: ActiveAttempt, options: AgentSocketOptions): Promise<void> {
  const { tools, agent, version, leave } = options;
  const connected = new Set<Server>();
  const unfollow = tools.settings.onCustomToolsChange(() => {
    // A server that was only asked for its capabilities is not connected.
    for (const server of connected) server.sendToolListChanged().catch(() => {});
  });
  const unwatch = watchScope(tools, attempt, () => {
    for (const server of connected) server.sendToolListChanged().catch(() => {});
  });
  socket.on('close', () => {
    unfollow();
    unwatch();
    leave().catch((error: unknown) => tools.log.error({ error: (error as Error).message }, 'leaving failed'));
  });
  const [{ serveStdio }, { createAgentServer, createToolCaller }, { SocketTransport }, instructions] =
    await Promise.all([
      import('@modelcontextprotocol/server/stdio'),
      import('./server.ts'),
      import('./transport.ts'),
      options.instructions?.(attempt),
    ]);
  const callTool = createToolCaller(tools, attempt);
  const transport = new SocketTransport(socket, callTool);
  const about = { version, instructions, callTool: transport.counted(callTool) };
  const create = () => {
    const server = createAgentServer(tools, attempt, agent, about);
    connected.add(server);
    return server;
  };
  serveStdio(create, { transport });
}

/**
 * Reads the first line; the rest stays in the socket for the protocol. Returns null if there is none or it is too
 * long.
 */
function readLine(socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(null), HELLO_TIMEOUT_MS);
    let seen = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf(10);
      if (end === -1 && seen.length <= MAX_HELLO) return;
      socket.pause();
      if (end === -1 || end > MAX_HELLO) return void done(null);
      if (end + 1 < seen.length) socket.unshift(seen.subarray(end + 1));
      done(seen.subarray(0, end).toString('utf8'));
    };
    const onEnd = (): void => done(null);
    const done = (line: string | null): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      resolve(line);
    };
    socket.on('data', onData).on('end', onEnd).on('close', onEnd);
  });
}

function parseHello(line: string | null): { agentId?: unknown; runId?: unknown } | null {
  try {
    const { substrat } = JSON.parse(line ?? 'null') as { substrat?: unknown };
    return typeof substrat === 'object' ? substrat : null;
  } catch {
    return null;
  }
}
