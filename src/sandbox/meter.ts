import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { Endpoint, ModelAnswer } from '../core/command.ts';

/** The longest line or body that is searched for token counts. */
const MOST_CHARACTERS = 1024 * 1024;

/** A token has about so many bytes: of a request, and of a stream, where most of them are frames. */
const REQUEST_BYTES = 4;
const STREAM_CHARACTERS = 16;

interface Asked {
  readonly model: string | null;
  /** Of the request, if a model writes an answer to it. */
  readonly bytes: number | null;
}

/**
 * Counts the tokens of one response while it passes, and reports them at its end, however it ends. What the service does
 * not say is estimated: a program could leave before the counts, which come last, or not ask for them.
 */
export function meter(
  answer: IncomingMessage,
  { model, bytes }: Asked,
  onAnswer: NonNullable<Endpoint['onAnswer']>,
): void {
  const { statusCode: status = 0, headers } = answer;
  const isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
  const counter = createCounter(isStream);
  const text = new StringDecoder('utf8');
  answer.on('data', (chunk: Buffer) => counter.push(text.write(chunk)));
  answer.once('close', () => {
    const { input, output, characters } = counter.end();
    const isAnswered = bytes !== null && status >= 200 && status < 300;
    const read = isAnswered && input === null ? Math.ceil(bytes / REQUEST_BYTES) : 0;
    const isCut = output === null || !answer.complete;
    const written = isAnswered && isCut ? Math.ceil(characters / (isStream ? STREAM_CHARACTERS : REQUEST_BYTES)) : 0;
    const [inputTokens, outputTokens] = [Math.max(input ?? 0, read), Math.max(output ?? 0, written)];
    onAnswer({ status, model, inputTokens, outputTokens, retryAfterMs: waitOf(headers) } satisfies ModelAnswer);
  });
}

/** In milliseconds; a date is accepted as HTTP allows it. */
export function waitOf(headers: Readonly<Record<string, unknown>>, now = Date.now()): number | null {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (exact >= 0) return exact;
  const after = headers['retry-after'];
  if (typeof after !== 'string' || after === '') return null;
  const seconds = Number(after);
  if (seconds >= 0) return seconds * 1_000;
  const moment = Date.parse(after);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
}

/** Each event of a stream is one line; any other response is parsed as a whole. Later counts replace earlier ones. */
function createCounter(isStream: boolean) {
  let rest = '';
  let counts: Counts = { input: null, output: null };
  let characters = 0;
  const look = (line: string): void => {
    if (!/"(usage|usageMetadata)"/.test(line)) return;
    const usage = usageIn(line.replace(/^data:/, ''));
    if (!usage) return;
    counts = { input: usage.input ?? counts.input, output: usage.output ?? counts.output };
  };
  return {
    push(text: string): void {
      characters += text.length;
      const [first = '', ...others] = isStream ? text.split('\n') : [text];
      if (rest.length + first.length <= MOST_CHARACTERS) rest += first;
      for (const line of others) {
        look(rest);
        rest = line;
      }
    },
    end() {
      look(rest);
      return { ...counts, characters };
    },
  };
}

interface Counts {
  readonly input: number | null;
  readonly output: number | null;
}

function usageIn(json: string): Counts | null {
  let event: Fields;
  try {
    event = fieldsOf(JSON.parse(json));
  } catch {
    return null;
  }
  for (const holder of [event, fieldsOf(event.message), fieldsOf(event.response)]) {
    const usage = fieldsOf(holder.usage ?? holder.usageMetadata);
    if (Object.keys(usage).length > 0) return countsOf(usage);
  }
  return null;
}

function countsOf(usage: Fields): Counts {
  const first = (...names: string[]) => names.map((name) => usage[name]).find((value) => isCount(value));
  const input = first('input_tokens', 'prompt_tokens', 'promptTokenCount');
  const cached = ['cache_creation_input_tokens', 'cache_read_input_tokens'].map((name) => usage[name]).filter(isCount);
  const output = first('output_tokens', 'completion_tokens', 'candidatesTokenCount');
  return {
    input: isCount(input) ? input + cached.reduce((sum, count) => sum + count, 0) : null,
    output: isCount(output) ? output : null,
  };
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
