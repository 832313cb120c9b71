import { SubstratError } from '../core/errors.ts';

const MAX_BODY = 8 * 1024 * 1024;
const MAX_HOPS = 5;
const DEFAULT_TIMEOUT_S = 30;
/** The only headers sent to another origin after a redirect. */
const KEPT_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

export interface HttpAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

interface RequestOptions {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly timeout?: number;
}

/** `http.get`, `post` and `put` of a script. Only listed hosts, if there is a list, including every redirect. */
export async function request(
  [method, address, content, given]: readonly unknown[],
  network: readonly string[] | null,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { headers = {}, params = {}, timeout = DEFAULT_TIMEOUT_S } = (given ?? {}) as RequestOptions;
  if (typeof timeout !== 'number' || !(timeout > 0)) throw refused('timeout must be a number of seconds');
  let url = checked(String(address), network);
  for (const [key, value] of Object.entries(params)) url.searchParams.append(key, String(value));
  const sent = new Headers(Object.entries(headers).map(([key, value]): [string, string] => [key, String(value)]));
  let body = toBody(content, sent);
  let verb = String(method);
  const within = AbortSignal.any([signal, AbortSignal.timeout(Math.min(timeout * 1_000, 2 ** 31 - 1))]);
  for (let hop = 0; ; hop++) {
    const response = await fetchOnce(url, { method: verb, headers: sent, body, redirect: 'manual', signal: within });
    const target = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
    if (target === null) return answer(response, url);
    await response.body?.cancel();
    if (hop === MAX_HOPS) throw refused(`${url.host} redirects more than ${MAX_HOPS} times`);
    const next = checked(new URL(target, url).href, network);
    if (next.protocol !== url.protocol) throw refused(`${url.host} redirects to another scheme`);
    // Any other header may be a credential, because APIs name theirs freely.
    if (next.origin !== url.origin) for (const key of [...sent.keys()]) if (!KEPT_HEADERS.has(key)) sent.delete(key);
    if (response.status !== 307 && response.status !== 308) [verb, body] = ['GET', null];
    url = next;
  }
}

function checked(address: string, network: readonly string[] | null): URL {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) throw refused('a URL must start with http:// or https://');
  const listed = network === null || network.some((entry) => covers(entry.toLowerCase(), url));
  if (!listed) throw refused(`${url.host} is not in the script's "network" list`);
  return url;
}

/** An entry is a host or `*.` and a host, with an optional port. */
function covers(entry: string, { host, hostname, port }: URL): boolean {
  const withPort = /:\d+$/.test(entry) && !entry.endsWith(']');
  const name = withPort ? host : hostname;
  if (!withPort && port !== '') return false;
  return entry.startsWith('*.') ? name.endsWith(entry.slice(1)) : name === entry;
}

function toBody(content: unknown, headers: Headers): string | Uint8Array<ArrayBuffer> | null {
  if (content === null || content === undefined) return null;
  if (content instanceof Uint8Array) return new Uint8Array(content);
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return JSON.stringify(content);
}

async function fetchOnce(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
    throw refused(`${url.host} cannot be reached: ${cause || (error instanceof Error ? error.message : error)}`);
  }
}

/** The script's thread adds `json`: parsing a large body takes long and would block this thread. */
async function answer(response: Response, url: URL): Promise<HttpAnswer> {
  return {
    status: response.status,
    ok: response.ok,
    headers: Object.fromEntries(response.headers),
    body: await readBody(response, url),
  };
}

async function readBody(response: Response, url: URL): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of response.body ?? []) {
      length += part.length;
      if (length > MAX_BODY) throw refused(`${url.host} returned more than ${MAX_BODY} bytes`);
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof SubstratError
      ? error
      : refused(`${url.host} closed the connection before the response was complete`);
  }
  return Buffer.concat(parts);
}

function refused(message: string): SubstratError {
  return new SubstratError('bad_request', message);
}
