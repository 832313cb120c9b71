import type { Socket } from 'node:net';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import { sayFarewell } from './farewell.ts';

/** Larger than any message that we accept, small enough that a hundred clients cannot fill the memory. */
const MAX_FRAME = 8 * 1024 * 1024;
/** A client that asks on and on without waiting is read no faster than it is answered. */
const MAX_UNANSWERED = 64;

/** Newline-delimited JSON-RPC on a socket. What is none is answered so and skipped; a line without end is refused. */
export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #socket: Socket;
  readonly #unanswered = new Set<RequestId>();
  #chunks: Buffer[] = [];
  #size = 0;
  #ended = false;
  #closed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async start(): Promise<void> {
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('drain', () => this.#flow());
    this.#socket.on('end', () => {
      this.#ended = true;
      this.#flow();
    });
    this.#socket.on('error', (error) => this.onerror?.(error));
    this.#socket.on('close', () => void this.close());
    this.#socket.resume();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
    if (!('method' in message) && message.id !== undefined) this.#unanswered.delete(message.id);
    this.#flow();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#chunks = [];
    this.#socket.destroySoon();
    this.onclose?.();
  }

  /** Reads on when there is room for answers; one that has ended its side is left when it has all of them. */
  #flow(): void {
    if (this.#closed) return;
    if (this.#ended && this.#unanswered.size === 0) return void this.close();
    if (this.#unanswered.size >= MAX_UNANSWERED || this.#socket.writableNeedDrain) this.#socket.pause();
    else this.#socket.resume();
  }

  #read(chunk: Buffer): void {
    if (this.#closed) return;
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1 && !this.#closed; end = rest.indexOf(10)) {
      const line = Buffer.concat([...this.#chunks, rest.subarray(0, end)]).toString('utf8');
      this.#chunks = [];
      this.#size = 0;
      rest = rest.subarray(end + 1);
      this.#take(line);
    }
    if (rest.length === 0 || this.#closed) return;
    this.#chunks.push(rest);
    this.#size += rest.length;
    if (this.#size <= MAX_FRAME) return;
    this.#closed = true;
    this.#chunks = [];
    sayFarewell(this.#socket, failure(-32600, `A message may have at most ${MAX_FRAME} bytes.`));
    this.onclose?.();
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return void this.#refuse(-32700, 'That line is no JSON.');
    }
    if (isJSONRPCRequest(message)) {
      // A subscription is answered when it ends.
      if (message.method !== 'subscriptions/listen') this.#unanswered.add(message.id);
    } else if (isJSONRPCNotification(message)) {
      if (message.method === 'notifications/cancelled') this.#unanswered.delete(message.params?.requestId as RequestId);
    } else if (!isJSONRPCResponse(message)) {
      return void this.#refuse(-32600, 'That is no JSON-RPC 2.0 message of MCP.', idOf(message));
    }
    this.onmessage?.(message);
    this.#flow();
  }

  #refuse(code: number, message: string, id: RequestId | null = null): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(failure(code, message, id))}\n`);
    this.#flow();
  }
}

function failure(code: number, message: string, id: RequestId | null = null): object {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

/** What the answer to a broken request can be told by. */
function idOf(message: unknown): RequestId | null {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === 'string' || Number.isInteger(id) ? (id as RequestId) : null;
}
