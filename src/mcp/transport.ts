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

/** Backpressure: reading pauses at this many unanswered requests. */
const MAX_UNANSWERED = 64;
/** Yields to other connections after this many lines. */
const LINES_AT_A_TIME = 8;

/** Executes a call; returns null for an unknown tool. */
export type CallTool = (name: string, args: unknown) => Promise<ToolResult | null>;

/**
 * Newline-delimited JSON-RPC on a socket. A line that is not a message, or exceeds the JSON limits, gets an error
 * response; a line longer than the byte limit closes the connection.
 *
 * Nearly everything an agent sends are tool calls, and the library parses each of them eight times. Calls in the
 * plainest form of the 2025 protocol are executed here, with the same responses as the library's.
 */
export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #socket: Socket;
  /** The number of pending requests per id, because a client may reuse an id. */
  readonly #unanswered = new Map<RequestId, number>();
  #waiting = 0;
  readonly #callTool: CallTool | null;
  /** Calls in progress, from any source. A cancelled call runs to its end and counts until then. */
  #calling = 0;
  /** The calls executed here, and whether their response is still wanted; the last one per id. */
  readonly #calls = new Map<RequestId, { wanted: boolean }>();
  #executing = 0;
  /** The 2025 protocol was negotiated for this connection. */
  #agreed = false;
  /** Received and not yet processed. */
  #unread: Buffer = Buffer.alloc(0);
  #reading = false;
  /** Reading resumes after yielding to others. */
  #soon = false;
  /** The start of an incomplete line. */
  readonly #line = new GrowingBuffer();
  #ended = false;
  #closed = false;

  constructor(socket: Socket, callTool: CallTool | null = null) {
    this.#socket = socket;
    this.#callTool = callTool && this.counted(callTool);
  }

  /** Executes this connection's calls, and stops reading while too many are in progress. */
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

  /** Called by the library when it responds to `initialize`, which the 2026 protocol does not have. */
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
    // If the client left before this, nobody was notified: the event is not emitted again.
    if (this.#socket.readableEnded) {
      this.#ended = true;
      this.#flow();
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
    if (!('method' in message) && message.id !== undefined) this.#answered(message.id);
    // Answers come in microtasks: reading on at once would serve a flood of requests before anybody else.
    if (this.#unread.length > 0) this.#flowSoon();
    else this.#flow();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#line.clear();
    this.#unread = Buffer.alloc(0);
    this.#socket.destroySoon();
    this.onclose?.();
  }

  /** Reads while there is room for responses. Closes a half-closed connection once all responses are sent. */
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
    // The library knows how to report an unknown tool.
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
      if (line.trim() !== '') this.#refuse(-32700, 'The line is not valid JSON.');
      return;
    }
    const call = this.#agreed ? asPlainCall(message) : null;
    // A call must not overtake one that the library is still handling.
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
      return void this.#refuse(-32600, 'The line is not a JSON-RPC 2.0 message of MCP.', idOf(message));
    }
    this.#handOn(message);
  }

  /** An error thrown by the library only concerns this message. */
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

/** The id for the response to an invalid request. */
function idOf(message: unknown): RequestId | null {
  const id = (message as { id?: unknown } | null)?.id;
  return typeof id === 'string' || Number.isInteger(id) ? (id as RequestId) : null;
}

/**
 * Finds the id of an unparsed request, so that the client gets its error. Clients write the id first, last, or
 * between version and method.
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
