import type { Socket } from 'node:net';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import type { ToolResult } from '../tools/bound.ts';
import { sayFarewell } from './farewell.ts';
import { asPlainCall, cancelledId, type PlainCall } from './plain-call.ts';

/** Larger than any message that we accept, small enough that a hundred clients cannot fill the memory. */
const MAX_FRAME = 8 * 1024 * 1024;
/** A client that asks on and on without waiting is read no faster than it is answered. */
const MAX_UNANSWERED = 64;

/** Executes a call; null where there is no such tool. */
export type CallTool = (name: string, args: unknown) => Promise<ToolResult | null>;

/**
 * Newline-delimited JSON-RPC on a socket. What is none is answered so and skipped; a line without end is refused.
 *
 * Calls of tools are nearly all that an agent sends, and the library parses each of them eight times. Those in the plainest
 * form of the protocol of 2025 are executed and answered here, just as the library would do it.
 */
export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #socket: Socket;
  /** How often each id waits for an answer: nothing keeps a client from using one twice. */
  readonly #unanswered = new Map<RequestId, number>();
  #waiting = 0;
  readonly #callTool: CallTool | null;
  /** The calls that are executed here, and whether they are not taken back. Of an id, the last one. */
  readonly #calls = new Map<RequestId, { wanted: boolean }>();
  #executing = 0;
  /** The protocol of 2025 was agreed on, for as long as the connection lasts. */
  #agreed = false;
  /** What has come and is not looked at yet. */
  #unread: Buffer = Buffer.alloc(0);
  #reading = false;
  /** The beginning of a line whose end has not come yet. */
  #chunks: Buffer[] = [];
  #size = 0;
  #ended = false;
  #closed = false;

  constructor(socket: Socket, callTool: CallTool | null = null) {
    this.#socket = socket;
    this.#callTool = callTool;
  }

  /** The library says so when it answers `initialize`, which the protocol of 2026 does not have. */
  setProtocolVersion(_version: string): void {
    this.#agreed = true;
  }

  async start(): Promise<void> {
    this.#socket.on('data', (chunk) => {
      this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
      this.#flow();
    });
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
    if (!('method' in message) && message.id !== undefined) this.#answered(message.id);
    this.#flow();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#chunks = [];
    this.#unread = Buffer.alloc(0);
    this.#socket.destroySoon();
    this.onclose?.();
  }

  /** Reads on while there is room for answers; one that has ended its side is left when it has all of them. */
  #flow(): void {
    if (this.#reading || this.#closed) return;
    this.#reading = true;
    while (!this.#closed && !this.#full && this.#unread.length > 0) this.#readLine();
    this.#reading = false;
    if (this.#closed) return;
    if (this.#ended && this.#waiting === 0 && this.#unread.length === 0) return void this.close();
    if (this.#full) this.#socket.pause();
    else this.#socket.resume();
  }

  get #full(): boolean {
    return this.#waiting >= MAX_UNANSWERED || this.#socket.writableNeedDrain;
  }

  #readLine(): void {
    const end = this.#unread.indexOf(10);
    const part = end === -1 ? this.#unread : this.#unread.subarray(0, end);
    this.#unread = end === -1 ? Buffer.alloc(0) : this.#unread.subarray(end + 1);
    this.#chunks.push(part);
    this.#size += part.length;
    if (this.#size > MAX_FRAME) {
      this.#closed = true;
      this.#chunks = [];
      sayFarewell(this.#socket, failure(-32600, `A message may have at most ${MAX_FRAME} bytes.`));
      this.onclose?.();
      return;
    }
    if (end === -1) return;
    const line = Buffer.concat(this.#chunks).toString('utf8');
    this.#chunks = [];
    this.#size = 0;
    this.#take(line);
  }

  async #execute(callTool: CallTool, { id, name, args }: PlainCall, message: JSONRPCMessage): Promise<void> {
    const call = { wanted: true };
    this.#asked(id);
    this.#calls.set(id, call);
    this.#executing += 1;
    const answer = await callTool(name, args).then(
      (result) => result && { result, jsonrpc: '2.0' as const, id },
      ({ message }: Error) => ({ jsonrpc: '2.0' as const, id, error: { code: -32603, message } }),
    );
    if (this.#calls.get(id) === call) this.#calls.delete(id);
    if (!call.wanted) return;
    this.#executing -= 1;
    // What to say of a tool that is not there is the library's to know.
    if (answer) await this.send(answer as JSONRPCMessage);
    else this.onmessage?.(message);
  }

  #takeBack(params: unknown): void {
    const id = cancelledId(params);
    if (id === null) return;
    const call = this.#calls.get(id);
    if (call?.wanted) {
      call.wanted = false;
      this.#executing -= 1;
    }
    this.#answered(id);
  }

  #asked(id: RequestId): void {
    this.#calls.delete(id);
    this.#waiting += 1;
    this.#unanswered.set(id, (this.#unanswered.get(id) ?? 0) + 1);
  }

  #answered(id: RequestId): void {
    const times = this.#unanswered.get(id) ?? 0;
    if (times === 0) return;
    this.#waiting -= 1;
    if (times === 1) this.#unanswered.delete(id);
    else this.#unanswered.set(id, times - 1);
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return void this.#refuse(-32700, 'That line is no JSON.');
    }
    const call = this.#agreed ? asPlainCall(message) : null;
    // Nothing overtakes what the library is still busy with.
    if (call && this.#callTool && this.#waiting === this.#executing) {
      return void this.#execute(this.#callTool, call, message as JSONRPCMessage);
    }
    if (isJSONRPCRequest(message)) {
      // A subscription is answered when it ends.
      if (message.method !== 'subscriptions/listen') this.#asked(message.id);
    } else if (isJSONRPCNotification(message)) {
      if (message.method === 'notifications/cancelled') this.#takeBack(message.params);
    } else if (!isJSONRPCResponse(message)) {
      return void this.#refuse(-32600, 'That is no JSON-RPC 2.0 message of MCP.', idOf(message));
    }
    this.onmessage?.(message);
  }

  #refuse(code: number, message: string, id: RequestId | null = null): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(failure(code, message, id))}\n`);
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
