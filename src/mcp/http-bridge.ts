import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { JSON_LIMITS, parseBounded } from '../core/json-bounds.ts';

/** Whose tools are served: the agent's socket, and the run that its connections belong to. */
export interface Seat {
  readonly path: string;
  readonly agentId: string;
  readonly runId: string;
}

/** Clients give up on a response without a byte; a call that takes longer than this gets signs of life. */
const SILENT_MS = 10_000;
const SESSION = 'mcp-session-id';

type Message = Readonly<Record<string, unknown>>;

/** A message that concerns only its own request. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A run's tools over MCP's Streamable HTTP, for programs that would otherwise start `bridge.cjs` in each turn. A session
 * is a connection to the agent's socket, with the same hello, limits and refusals. What the server says unasked is sent
 * to the session's GET request, if there is one.
 */
export function createHttpBridge(seat: Seat): (request: IncomingMessage, response: ServerResponse) => void {
  const sessions = new Map<string, Session>();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const named = request.headers[SESSION];
    const session = sessions.get(`${named}`);
    if (named !== undefined && !session) throw new Refused(404, 'There is no such session.');
    if (request.method === 'POST') return post(await readMessage(request), session, response);
    if (!session) throw new Refused(405, 'Only POST is possible without a session.');
    if (request.method === 'GET') return session.follow(response);
    if (request.method !== 'DELETE') throw new Refused(405, 'Use POST, GET or DELETE.');
    session.close();
    response.writeHead(204).end();
  }

  function post(message: Message, known: Session | undefined, response: ServerResponse): void {
    if (!known && message.method !== 'initialize') throw new Refused(400, 'A session begins with "initialize".');
    const session = known ?? openSession(seat, (id) => sessions.delete(id));
    sessions.set(session.id, session);
    response.setHeader(SESSION, session.id);
    session.send(message, response);
  }

  return (request, response) => {
    handle(request, response).catch((error: unknown) => {
      const { status, message } = error instanceof Refused ? error : { status: 400, message: (error as Error).message };
      fail(response, status, message);
    });
  };
}

type Session = ReturnType<typeof openSession>;

function openSession({ path, agentId, runId }: Seat, onClose: (id: string) => void) {
  const id = randomUUID();
  const waiting = new Map<string, { answer(line: string): void; fail(why: string): void }>();
  let stream: ServerResponse | null = null;
  let refusal = 'The run of this agent has ended.';
  const socket = connect({ path });
  socket.write(`${JSON.stringify({ substrat: { agentId, runId } })}\n`);
  socket.on('error', () => {});
  socket.on('close', () => {
    for (const request of waiting.values()) request.fail(refusal);
    stream?.end();
    onClose(id);
  });
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let begin = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, begin)) {
      heard(bytes.toString('utf8', begin, end));
      begin = end + 1;
    }
    rest = bytes.subarray(begin);
  });

  function heard(line: string): void {
    const message = JSON.parse(line) as Message & { readonly substrat?: { readonly error: string } };
    if (message.substrat) refusal = message.substrat.error;
    else if ('method' in message) stream?.write(eventOf(line));
    else waiting.get(JSON.stringify(message.id))?.answer(line);
  }

  return {
    id,
    /** Sends a message; a request is answered with its response. */
    send(message: Message, response: ServerResponse): void {
      if (socket.destroyed) throw new Refused(404, refusal);
      const isRequest = 'method' in message && 'id' in message;
      const key = JSON.stringify(message.id);
      if (isRequest && waiting.has(key)) throw new Refused(400, `The request ${key} is still being answered.`);
      socket.write(`${JSON.stringify(message)}\n`);
      if (!isRequest) return void response.writeHead(202).end();
      const signs = setInterval(() => {
        if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': working\n\n');
      }, SILENT_MS);
      const settle = (): void => {
        clearInterval(signs);
        waiting.delete(key);
      };
      response.on('close', settle);
      waiting.set(key, {
        answer: (line) => {
          settle();
          if (response.headersSent) response.end(eventOf(line));
          else response.writeHead(200, { 'content-type': 'application/json' }).end(line);
        },
        fail: (why) => {
          settle();
          fail(response, 503, why);
        },
      });
    },
    /** Sends what the server says unasked, until the client leaves. */
    follow(response: ServerResponse): void {
      stream?.end();
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      response.on('close', () => {
        if (stream === response) stream = null;
      });
    },
    close: () => void socket.destroy(),
  };
}

function eventOf(line: string): string {
  return `event: message\ndata: ${line}\n\n`;
}

async function readMessage(request: IncomingMessage): Promise<Message> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > JSON_LIMITS.bytes) throw new Refused(413, `A message may have at most ${JSON_LIMITS.bytes} bytes.`);
    chunks.push(chunk);
  }
  const message = parseBounded(Buffer.concat(chunks));
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw new Refused(400, 'A request has one JSON-RPC message.');
  return message as Message;
}

function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${message}\n`);
}
