import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Client, type ClientOptions, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';

export interface AgentCall {
  /** The object that the tool returned, also if it is an error. */
  readonly value: Record<string, unknown> & { readonly error?: { readonly code: string; readonly message: string } };
  readonly isError: boolean;
  /** The text of every content block. */
  readonly blocks: readonly string[];
}

export interface ConnectedAgent extends AsyncDisposable {
  readonly client: Client;
  call(tool: string, args?: Record<string, unknown>): Promise<AgentCall>;
  close(): Promise<void>;
}

interface Door {
  readonly home: string;
  readonly agentId: string;
}

/** Joins as an agent through its socket, like its bridge. `auto` is the MCP era that asks `server/discover` first. */
export async function connectAgent({
  home,
  agentId,
  era = 'legacy',
  options = {},
}: Door & { readonly era?: 'legacy' | 'auto'; readonly options?: ClientOptions }) {
  const socket = await openSocket(join(home, 'agents', agentId, 'agent.sock'));
  socket.write(helloOf(agentId));
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode: era } });
  await client.connect(new SocketTransport(socket));
  const agent: ConnectedAgent = {
    client,
    call: async (tool, args = {}) => {
      const result = await client.callTool({ name: tool, arguments: args });
      const blocks = (result.content as { text: string }[]).map((block) => block.text);
      return { value: result.structuredContent as AgentCall['value'], isError: result.isError === true, blocks };
    },
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
  return agent;
}

export interface RawConnection {
  readonly socket: Socket;
  /** Resolves when the kernel has accepted it, so that the sender is no faster than the reader. */
  send(bytes: string | Uint8Array): Promise<void>;
  /** The next line; null if the other side has closed. */
  line(): Promise<string | null>;
  /** The same as JSON. */
  json(): Promise<Record<string, unknown> | null>;
  /** Resolves when the other side has closed. */
  readonly closed: Promise<void>;
  close(): void;
}

/** A raw connection to an agent's socket; sends the hello unless `hello: false`. */
export async function connectRaw({ home, agentId, hello = true }: Door & { readonly hello?: boolean }) {
  const connection = await connectSocket(join(home, 'agents', agentId, 'agent.sock'));
  if (hello) await connection.send(helloOf(agentId));
  return connection;
}

export async function connectSocket(path: string): Promise<RawConnection> {
  const socket = await openSocket(path);
  const lines: string[] = [];
  let rest = '';
  let wake = () => {};
  let ended = false;
  socket.setEncoding('utf8').on('data', (chunk: unknown) => {
    const parts = (rest + String(chunk)).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    wake();
  });
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      ended = true;
      wake();
      resolve();
    };
    socket.on('end', end).on('close', end);
  });
  const line = async (): Promise<string | null> => {
    while (lines.length === 0 && !ended) await new Promise<void>((resolve) => (wake = resolve));
    return lines.shift() ?? null;
  };
  return {
    socket,
    send: (bytes) => new Promise((resolve) => socket.write(bytes, () => resolve())),
    line,
    json: async () => JSON.parse((await line()) ?? 'null'),
    closed,
    close: () => socket.destroy(),
  };
}

export function helloOf(agentId: string): string {
  return `${JSON.stringify({ substrat: { agentId } })}\n`;
}

async function openSocket(path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, 'connect');
  // Many tests are about a daemon that closes while we write.
  socket.on('error', () => {});
  return socket;
}

/** Newline-delimited JSON-RPC for the SDK's client. */
class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #socket: Socket;
  #rest = '';

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async start(): Promise<void> {
    this.#socket.setEncoding('utf8').on('data', (chunk: unknown) => {
      const lines = (this.#rest + String(chunk)).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.onmessage?.(JSON.parse(line) as JSONRPCMessage);
    });
    this.#socket.on('close', () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.destroy();
    await closed;
  }
}
