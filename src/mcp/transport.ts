import type { Socket } from 'node:net';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';

/** Larger than any message that we accept, small enough that a hundred clients cannot fill the memory. */
const MAX_FRAME = 8 * 1024 * 1024;

/** Newline-delimited JSON-RPC on a socket. What is no JSON is answered so and skipped; a line without end is refused. */
export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #size = 0;
  #closed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async start(): Promise<void> {
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error) => this.onerror?.(error));
    this.#socket.on('close', () => void this.close());
    this.#socket.resume();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroySoon();
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      const line = Buffer.concat([...this.#chunks, rest.subarray(0, end)]).toString('utf8');
      this.#chunks = [];
      this.#size = 0;
      rest = rest.subarray(end + 1);
      this.#take(line);
    }
    if (rest.length === 0) return;
    this.#chunks.push(rest);
    this.#size += rest.length;
    if (this.#size <= MAX_FRAME) return;
    this.#chunks = [];
    this.#refuse(-32600, `A message may have at most ${MAX_FRAME} bytes.`);
    void this.close();
  }

  #take(line: string): void {
    if (this.#closed || line.trim() === '') return;
    const message = parseJson(line);
    if (message === undefined) this.#refuse(-32700, 'That line is no JSON.');
    else if (isRpc(message)) this.onmessage?.(message);
    else this.#refuse(-32600, 'That is no JSON-RPC 2.0 message.');
  }

  #refuse(code: number, message: string): void {
    if (this.#socket.writable) {
      this.#socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`);
    }
  }
}

/** Undefined for what is no JSON. */
function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The shape that the protocol layer relies on; it checks methods and parameters itself. */
function isRpc(message: unknown): message is JSONRPCMessage {
  if (message === null || typeof message !== 'object' || Array.isArray(message)) return false;
  const { jsonrpc, id, method } = message as Record<string, unknown>;
  const named = typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id));
  if (jsonrpc !== '2.0') return false;
  return typeof method === 'string' ? id === undefined || named : named;
}
