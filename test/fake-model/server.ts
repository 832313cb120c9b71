import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { anthropic } from './anthropic.ts';
import { chat } from './chat.ts';
import { gemini } from './gemini.ts';
import type { Dialect, Mind, ModelRequest, Refused, Spoken } from './model.ts';
import { responses } from './responses.ts';

export interface FakeModelOptions {
  /** A request with another key gets a 401. */
  readonly key: string;
  readonly mind: Mind;
  /** The path of a Unix socket to listen on; a free port of 127.0.0.1 by default. */
  readonly socket?: string;
}

export interface FakeModel extends AsyncDisposable {
  /** Without a path: `${url}/v1/messages`, `${url}/v1/responses`, `${url}/v1beta/models/m:generateContent`. */
  readonly url: string;
  /** The requests to the model, in order, also those that were refused. */
  readonly requests: readonly ModelRequest[];
  /** Other requests, as method and path: programs ask for more than the model. */
  readonly others: readonly string[];
  /** How many requests hang at the moment. */
  hanging(): number;
  /** Changes what it answers from now on. */
  become(mind: Mind): void;
  close(): Promise<void>;
}

const dialects: readonly Dialect[] = [anthropic, responses, chat, gemini];

/** A model server on this machine that speaks the four common APIs. */
export async function startFakeModel(options: FakeModelOptions): Promise<FakeModel> {
  const requests: ModelRequest[] = [];
  const others: string[] = [];
  let { mind } = options;
  let hanging = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://model');
    const dialect = dialects.find(({ matches }) => matches(url.pathname));
    const body = await readText(request);
    if (!dialect || request.method !== 'POST') {
      others.push(`${request.method} ${url.pathname}`);
      return aside(response, url.pathname, body);
    }
    if (dialect.keyOf(request.headers, url) !== options.key)
      return refuse(response, dialect, { status: 401, message: 'The key is not valid.' });
    const parsed: unknown = JSON.parse(body);
    const common = { dialect: dialect.name, path: url.pathname, headers: request.headers, body: parsed };
    const asked = { ...common, ...dialect.read(parsed, url.pathname) };
    requests.push(asked);
    const answer = await mind(asked);
    if (answer === 'hang') {
      hanging += 1;
      response.on('close', () => {
        hanging -= 1;
      });
      return;
    }
    if ('status' in answer) refuse(response, dialect, answer);
    else speak(response, dialect, asked, answer);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.writeHead(500).end(`The fake model failed: ${error}`));
  });
  await new Promise<void>((resolve) =>
    options.socket === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(options.socket, resolve),
  );
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: options.socket === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : 'http://model',
    requests,
    others,
    hanging: () => hanging,
    become: (other) => {
      mind = other;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function speak(response: ServerResponse, dialect: Dialect, { model, stream }: ModelRequest, spoken: Spoken): void {
  const full = { text: '', calls: [], usage: { input: 100, output: 10 }, ...spoken };
  if (!stream) {
    if (spoken.drop) response.destroy();
    else json(response, 200, dialect.whole(full, model));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const frames = dialect.stream(full, model);
  const shown = spoken.drop ? frames.slice(0, Math.ceil(frames.length / 2)) : frames;
  for (const { event, data } of shown) {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`);
  }
  // What was written first has to arrive.
  if (spoken.drop) response.write('', () => response.destroy());
  else response.end();
}

function refuse(response: ServerResponse, dialect: Dialect, refused: Refused): void {
  json(response, refused.status, dialect.refusal(refused), refused.headers);
}

/** Counting tokens and listing models work; everything else does not exist. */
function aside(response: ServerResponse, path: string, body: string): void {
  const tokens = Math.ceil(body.length / 4);
  const answers: readonly [string, object][] = [
    ['/count_tokens', { input_tokens: tokens }],
    [':countTokens', { totalTokens: tokens }],
    ['/models', { object: 'list', data: [], models: [] }],
  ];
  const found = answers.find(([end]) => path.endsWith(end))?.[1];
  json(response, found ? 200 : 404, found ?? { error: { message: `There is nothing at ${path}.` } });
}

function json(response: ServerResponse, status: number, body: object, headers: Refused['headers'] = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
