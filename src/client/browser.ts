import { type ErrorCode, SubstratError } from '../core/errors.ts';
import { type Client, createCalls, type LiveEvent, type SubstratEvent } from './calls.ts';

export * from './calls.ts';

/** Whether the daemon refused with that code. */
export function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof SubstratError && error.code === code;
}

export interface BrowserAddress {
  /** Where the API is, without a slash at the end; a path prefix is kept. */
  readonly base: string;
  readonly token: () => string | null;
  /** The daemon refused the token. */
  readonly onRefused: () => void;
}

/** The client for a browser: `fetch`, and a token that is sent as a header. It imports neither Node nor zod. */
export function createBrowserClient(address: BrowserAddress): Client {
  return createCalls({
    exchange: async <T>(method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const type: Record<string, string> = body ? { 'content-type': 'application/json' } : {};
      const response = await ask(address, path, {
        method,
        headers: { ...headers, ...type },
        ...(body && { body: JSON.stringify(body) }),
      });
      return (await readAnswer(response)) as T;
    },
    follow: (path, after, signal) => readEvents(address, path, after, signal),
  });
}

/**
 * The events of one connection. It ends with the connection: the page shows that it is not live and decides when to
 * connect again. Calls `onFrame` with the number of each event, the first time as soon as the daemon accepted.
 */
export async function* readEvents(
  address: BrowserAddress,
  path: string,
  after: number | undefined,
  signal: AbortSignal | undefined,
  onFrame: (seq: number) => void = () => {},
): AsyncGenerator<SubstratEvent | LiveEvent> {
  const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': String(after) };
  const response = await ask(address, path, { headers, ...(signal && { signal }) });
  if (!response.ok || !response.body) await readAnswer(response);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = '';
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const frames = (rest + piece.value).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const mark = /^: (\d+)$/m.exec(frame);
      if (mark) onFrame(Number(mark[1]));
      const data = /^data: (.*)$/m.exec(frame);
      if (!data) continue;
      const event = JSON.parse(data[1] ?? '') as SubstratEvent | LiveEvent;
      if ('seq' in event) onFrame(event.seq);
      yield event;
    }
  }
}

async function ask({ base, token, onRefused }: BrowserAddress, path: string, init: RequestInit): Promise<Response> {
  const mine = token();
  const headers = { ...(init.headers as Record<string, string>), ...(mine && { authorization: `Bearer ${mine}` }) };
  try {
    const response = await fetch(base + path, {
      ...init,
      headers,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
    });
    if (mine && response.status === 401) onRefused();
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new SubstratError('not_running', 'The daemon does not answer.', { cause: error });
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  const value = (await response.json().catch(() => null)) as { error?: { code?: ErrorCode; message?: string } } | null;
  if (response.ok) return value;
  const { code = 'internal', message } = value?.error ?? {};
  throw new SubstratError(code, message ?? `The daemon returned status ${response.status} with an unexpected body.`);
}
