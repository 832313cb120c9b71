import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import type { Attempt } from '../runs/attempt.ts';
import type { AgentRow } from '../store/store.ts';
import type { ToolDependencies } from '../tools/call.ts';

/** A hello is one short line; whoever sends more, or nothing for long, is no bridge of ours. */
const MAX_HELLO = 1024;
const HELLO_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 16;

export interface AgentSocketOptions {
  readonly path: string;
  readonly agent: AgentRow;
  readonly tools: ToolDependencies;
  readonly version: string;
  /** The attempt that a new connection acts for. */
  readonly join: () => Promise<Attempt>;
  readonly leave: () => Promise<void>;
}

export interface AgentSocket {
  /** Ends every connection and removes the socket. */
  close(): Promise<void>;
}

/**
 * Listens on an agent's socket. A connection opens with the line `{"substrat":{"agentId":"…"}}`; with another agent's
 * id it is told why and closed. After that it speaks MCP for one attempt of this agent and for nothing else.
 */
export async function listenForAgent(options: AgentSocketOptions): Promise<AgentSocket> {
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: false }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    void greet(socket, options);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await rm(options.path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.path, () => resolve());
  });
  return {
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function greet(socket: Socket, options: AgentSocketOptions): Promise<void> {
  const hello = await readLine(socket);
  if (hello === null) return void socket.destroy();
  if (agentIdOf(hello) !== options.agent.id) {
    return refuse(socket, 'This socket belongs to another agent; check --agent-id and SUBSTRAT_SOCKET.');
  }
  let attempt: Attempt;
  try {
    attempt = await options.join();
  } catch (error) {
    return refuse(socket, (error as Error).message);
  }
  if (socket.destroyed) return options.leave();
  socket.on('close', () => void options.leave());
  await serve(socket, attempt, options);
}

/** The protocol's modules are the largest that we load: a daemon that starts does not wait for them. */
async function serve(socket: Socket, attempt: Attempt, { tools, agent, version }: AgentSocketOptions): Promise<void> {
  const [{ serveStdio }, { createAgentServer }, { SocketTransport }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('./server.ts'),
    import('./transport.ts'),
  ]);
  serveStdio(() => createAgentServer(tools, attempt, agent, version), { transport: new SocketTransport(socket) });
}

/** The first line; what came after it stays in the socket for the protocol. Null when none comes. */
function readLine(socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(null), HELLO_TIMEOUT_MS);
    let seen = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf(10);
      if (end === -1 && seen.length <= MAX_HELLO) return;
      socket.pause();
      if (end !== -1 && end + 1 < seen.length) socket.unshift(seen.subarray(end + 1));
      done(end === -1 ? null : seen.subarray(0, end).toString('utf8'));
    };
    const onClose = (): void => done(null);
    const done = (line: string | null): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      resolve(line);
    };
    socket.on('data', onData).on('close', onClose);
  });
}

function agentIdOf(hello: string): unknown {
  try {
    return (JSON.parse(hello) as { substrat?: { agentId?: unknown } }).substrat?.agentId;
  } catch {
    return undefined;
  }
}

function refuse(socket: Socket, error: string): void {
  socket.end(`${JSON.stringify({ substrat: { error } })}\n`);
}
