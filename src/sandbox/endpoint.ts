import type { Endpoint } from '../core/command.ts';
import { Refusal } from './refusal.ts';

export interface EndpointTarget {
  readonly url: URL;
  readonly endpoint: Endpoint;
}

/** A host that supports TRACE or TRACK would echo the request with its key; CONNECT would open a tunnel with it. */
const methodsWithoutKey = ['TRACE', 'TRACK', 'CONNECT'];
const MAX_DECODINGS = 4;

/**
 * The path that the program was given starts with the endpoint's number. The key is only sent to the endpoint's path
 * and below.
 */
export function findEndpoint(method: string, path: string, endpoints: readonly Endpoint[]): EndpointTarget {
  if (methodsWithoutKey.includes(method)) throw new Refusal(405, `${method} is not allowed for an endpoint.`);
  const [, number = '', rest = ''] = /^\/(\d{1,3})(\/.*|\?.*|)$/.exec(path) ?? [];
  const endpoint = endpoints[Number(number)];
  if (number === '' || !endpoint) throw new Refusal(404, 'There is no such endpoint.');
  const base = toUrl(endpoint.url.replace(/\/$/, ''));
  const url = toUrl(base.href.replace(/\/$/, '') + rest);
  if (!isBelow(base, url)) throw new Refusal(400, 'The path leads outside the endpoint.');
  return { url, endpoint };
}

export function toUrl(text: string): URL {
  const url = URL.parse(text);
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new Refusal(400, 'Not an http URL.');
}

/** `/v1evil` is not below `/v1`. */
function isBelow(base: URL, url: URL): boolean {
  const prefix = base.pathname.replace(/\/$/, '');
  const isWithin = url.pathname === prefix || url.pathname.startsWith(`${prefix}/`);
  return url.origin === base.origin && isWithin && !stepsUp(url.pathname.slice(prefix.length));
}

/**
 * `URL` resolves `..` and `%2e%2e`. Some servers also decode `%2f` first, even repeatedly, or ignore `;` and what
 * follows.
 */
function stepsUp(path: string): boolean {
  let text = path;
  for (let n = 0; n < MAX_DECODINGS; n += 1) {
    if (text.split(/[/\\]/).some((part) => part.replace(/;.*/s, '') === '..')) return true;
    text = text.replace(/%(2e|2f|5c|3b|25)/gi, decodeURIComponent);
  }
  return /%(2e|2f|5c|3b|25)/i.test(text);
}
