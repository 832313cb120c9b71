import type { Socket } from 'node:net';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import type { ToolResult } from '../core/bound-tool.ts';
import { GrowingBuffer } from '../core/growing-buffer.ts';
import { checkBounds, JSON_LIMITS } from '../core/json-bounds.ts';
import { sayFarewell } from './farewell.ts';
import { asPlainCall, cancelledId, type PlainCall } from './plain-call.ts';

/** A client that asks on and on without waiting is read no faster than it is answered. */
const MAX_UNANSWERED = 64;
/** After so many lines of one client, everybody else has a turn. */
const LINES_AT_A_TIME = 8;

/** Executes a call; null where there is no such tool. */
export type CallTool = (name: string, args: unknown) => Promise<ToolResult | null>;

/**
 * Newline-delimited JSON-RPC on a socket. A line that is not a message, or exceeds the limits of JSON, is answered with an
 * error and skipped; a line of more bytes than the limit ends the connection.
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
  /** Calls under way, whoever asked for them. A call that was cancelled is executed to its end, and counts until then. */
  #calling = 0;
  /** The calls that are executed here, and whether they are not taken back. Of an id, the last one. */
  readonly #calls = new Map<RequestId, { wanted: boolean }>();
  #executing = 0;
  /** The protocol of 2025 was agreed on, for as long as the connection lasts. */
  #agreed = false;
  /** What has come and is not looked at yet. */
  #unread: Buffer = Buffer.alloc(0);
  #reading = false;
  /** Reading goes on when everybody else has had a turn. */
  #soon = false;
  /** The beginning of a line whose end has not come yet. */
  readonly #line = new GrowingBuffer();
  #ended = false;
  #closed = false;

  constructor(socket: Socket, callTool: CallTool | null = null) {
    this.#socket = socket;
    this.#callTool = callTool && this.counted(callTool);
  }

  /** Executes calls of this connection, and reads no further while too many are under way. */
  counted(callTool: CallTool): CallTool {
    return async (name, args) => {
      this.#calling += 1;
      try {
        return await callTool(name, args);
      } finally {
        this.#calling -= 1;
        if (this.#calling === MAX_UNANSWERED - 1) this.#flowSoon();
      }
    };
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
    // A client that left before this was told so to nobody: the event does not come again.
    if (this.#socket.readableEnded) {
      this.#ended = true;
      this.#flow();
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
    if (!('method' in message) && message.id !== undefined) this.#answered(message.id);
    this.#flow();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#line.clear();
    this.#unread = Buffer.alloc(0);
    this.#socket.destroySoon();
    this.onclose?.();
  }

  /** Reads on while there is room for answers; one that has ended its side is left when it has all of them. */
  #flow(): void {
    if (this.#reading || this.#closed) return;
    this.#reading = true;
    for (
      let lines = 0;
      lines < LINES_AT_A_TIME && !this.#closed && !this.#full && this.#unread.length > 0;
      lines += 1
    ) {
      this.#readLine();
    }
    this.#reading = false;
    if (this.#closed) return;
    if (!this.#full && this.#unread.length > 0) {
      this.#socket.pause();
      return void this.#flowSoon();
    }
    if (this.#ended && this.#waiting === 0 && this.#unread.length === 0) return void this.close();
    if (this.#full) this.#socket.pause();
    else this.#socket.resume();
  }

  #flowSoon(): void {
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.#flow();
    });
  }

  get #full(): boolean {
    return Math.max(this.#waiting, this.#calling) >= MAX_UNANSWERED || this.#socket.writableNeedDrain;
  }

  #readLine(): void {
    const end = this.#unread.indexOf(10);
    const part = end === -1 ? this.#unread : this.#unread.subarray(0, end);
    this.#unread = end === -1 ? Buffer.alloc(0) : this.#unread.subarray(end + 1);
    if (this.#line.size + part.length > JSON_LIMITS.bytes) {
      this.#closed = true;
      this.#line.clear();
      sayFarewell(this.#socket, failure(-32600, `A message may have at most ${JSON_LIMITS.bytes} bytes.`));
      this.onclose?.();
      return;
    }
    if (end !== -1 && this.#line.size === 0) return void this.#take(part);
    this.#line.append(part);
    if (end !== -1) this.#take(this.#line.take());
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
    else this.#handOn(message);
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

  #take(bytes: Buffer): void {
    try {
      checkBounds(bytes);
    } catch (error) {
      return void this.#refuse(-32600, (error as Error).message, idAtEdge(bytes));
    }
    const line = bytes.toString('utf8');
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      if (line.trim() !== '') this.#refuse(-32700, 'That line is not valid JSON.');
      return;
    }
    const call = this.#agreed ? asPlainCall(message) : null;
    // Nothing overtakes what the library is still busy with.
    if (call && this.#callTool && this.#waiting === this.#executing) {
      this.#execute(this.#callTool, call, message as JSONRPCMessage).catch((error: Error) => this.onerror?.(error));
      return;
    }
    if (isJSONRPCRequest(message)) {
      // A subscription is answered when it ends.
      if (message.method !== 'subscriptions/listen') this.#asked(message.id);
    } else if (isJSONRPCNotification(message)) {
      if (message.method === 'notifications/cancelled') this.#takeBack(message.params);
    } else if (!isJSONRPCResponse(message)) {
      return void this.#refuse(-32600, 'That is not a JSON-RPC 2.0 message of MCP.', idOf(message));
    }
    this.#handOn(message);
  }

  /** What the library throws is about this message alone. */
  #handOn(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
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

/**
 * The id of a request that is not parsed, so that whoever waits for its answer gets it. Clients write it first, or last, or
 * between the version and the method.
 */
function idAtEdge(bytes: Buffer): RequestId | null {
  const id = '(-?\\d{1,15}|"[\\w.:-]{1,100}")';
  const head = bytes.toString('latin1', 0, EDGE);
  const tail = bytes.toString('latin1', Math.max(0, bytes.length - EDGE));
  const [, found] =
    new RegExp(`^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?"id"\\s*:\\s*${id}\\s*,`).exec(head) ??
    new RegExp(`[\\]}"\\s],\\s*"id"\\s*:\\s*${id}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`).exec(tail) ??
    [];
  return found === undefined ? null : JSON.parse(found);
}

const EDGE = 300;
