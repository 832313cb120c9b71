/** A request as every dialect understands it. */
export interface ModelRequest {
  readonly dialect: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  /** The names of the tools that are offered. */
  readonly tools: readonly string[];
  /** The body as it was sent. */
  readonly body: Json;
}

/** A result of a tool call is a message of its own. */
export interface ModelMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
}

export interface Call {
  readonly name: string;
  readonly arguments: unknown;
}

export interface Usage {
  readonly input: number;
  readonly output: number;
  /** Of the input. */
  readonly cached?: number;
}

export type Answer = Spoken | Refused | 'hang';

export interface Spoken {
  readonly text?: string;
  readonly calls?: readonly Call[];
  readonly usage?: Usage;
  /** The connection is cut in the middle of the answer. */
  readonly drop?: boolean;
}

export interface Refused {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** More fields of the error object, such as `code`, `type`, `status`. */
  readonly error?: Readonly<Record<string, unknown>>;
}

/** Decides what the model answers. */
export type Mind = (request: ModelRequest) => Answer | Promise<Answer>;

/** How one API is spoken. */
export interface Dialect {
  readonly name: string;
  /** Whether a request for this path is one to the model. */
  matches(path: string): boolean;
  keyOf(headers: ModelRequest['headers'], url: URL): string | undefined;
  read(body: Json, path: string): Omit<ModelRequest, 'dialect' | 'path' | 'headers' | 'body'>;
  /** The answer as server-sent events, each with its `event` name if the API has one. */
  stream(answer: Required<Omit<Spoken, 'drop'>>, model: string): readonly Frame[];
  /** The whole answer. */
  whole(answer: Required<Omit<Spoken, 'drop'>>, model: string): object;
  refusal(refused: Refused): object;
}

export interface Frame {
  readonly event?: string;
  readonly data: object | '[DONE]';
}

/** What came over the network; looked into with the functions below. */
export type Json = unknown;

export function at(value: Json, ...path: (string | number)[]): Json {
  return path.reduce<Json>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined),
    value,
  );
}

export function list(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

export function word(value: Json): string {
  return typeof value === 'string' ? value : '';
}

/** The texts of a value that is a text or a list of parts with texts. */
export function textOf(value: Json): string {
  if (typeof value === 'string') return value;
  return list(value)
    .map((part) => word(at(part, 'text')) || textOf(at(part, 'content')))
    .join('');
}

/** Pieces of a text, as a model would stream it; a very long text has longer pieces, because tests have little time. */
export function pieces(text: string): string[] {
  const most = Math.max(12, Math.ceil(text.length / 2_000));
  return text.match(new RegExp(`[\\s\\S]{1,${most}}`, 'g')) ?? [];
}

export function bearer(headers: ModelRequest['headers']): string | undefined {
  return /^Bearer (.*)$/.exec(`${headers.authorization ?? ''}`)?.[1];
}
