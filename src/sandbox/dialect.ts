import type { Dialect, Endpoint } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import { type JsonLimits, parseBounded } from '../core/json-bounds.ts';
import { MAX_DEPTH } from '../core/text.ts';
import { Refusal } from './refusal.ts';
import { type Reach, withoutServerSide } from './server-side.ts';

/** A model request that may be sent, with its body as it is sent. */
export interface Admitted {
  readonly url: URL;
  readonly body: Buffer | null;
  /** What is in the body. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly model: string | null;
  /** The model writes an answer: it is not only a list, or a count of tokens. */
  readonly generates: boolean;
}

interface Route {
  readonly method: 'GET' | 'POST';
  /** The path below the endpoint's URL. Its group `model`, if it has one, is the model. */
  readonly path: RegExp;
}

/** Everything else of a service is closed: files, batches, stored responses, administration, `pull` and `delete`. */
const routes: Readonly<Record<Dialect, readonly Route[]>> = {
  anthropic: [
    { method: 'POST', path: /^(\/v1)?\/messages(\/count_tokens)?$/ },
    { method: 'GET', path: /^(\/v1)?\/models(\/[\w.:-]+)?$/ },
  ],
  openai: [
    { method: 'POST', path: /^(\/v1)?\/(responses(\/compact)?|chat\/completions)$/ },
    { method: 'GET', path: /^(\/v1)?\/models(\/[\w.:/-]+)?$/ },
  ],
  gemini: [
    {
      method: 'POST',
      path: /^\/v1(alpha|beta)?\/models\/(?<model>[\w.-]+):(generateContent|streamGenerateContent|countTokens)$/,
    },
    { method: 'GET', path: /^\/v1(alpha|beta)?\/models(\/[\w.-]+)?$/ },
  ],
};

/** Of a request. A long conversation has some thousand entries; a million of them would block the daemon for seconds. */
const LIMITS: JsonLimits = { bytes: Number.POSITIVE_INFINITY, entries: 50_000, depth: MAX_DEPTH };

/** Fields that refer to what is stored at the service, by whomever. */
const references = ['previous_response_id', 'conversation', 'container', 'background'];

/** Headers of a response that a program may see. */
const shown =
  /^(content-type|content-length|cache-control|date|retry-after(-ms)?|(x-)?request-id|x-should-retry|openai-(model|processing-ms)|((anthropic|x)-ratelimit|x-codex)-[\w-]+)$/;

/** What a dialect lets through of a request. The body is read in full, because it names the model. */
export function admit(
  { dialect, models, url: base }: Endpoint & { readonly dialect: Dialect },
  method: string,
  url: URL,
  body: Buffer,
  reach: Reach,
): Admitted {
  const path = url.pathname.slice(new URL(base).pathname.replace(/\/$/, '').length);
  const route = routes[dialect].find((one) => one.method === method && one.path.test(path));
  if (!route) throw new Refusal(403, `${method} ${path} is not a model request of this endpoint.`);
  url.searchParams.delete('key');
  if (method === 'GET') return { url, body: null, fields: {}, model: null, generates: false };
  const fields = parse(body);
  const named = route.path.exec(path)?.groups?.model ?? fields.model;
  if (typeof named !== 'string') throw new Refusal(400, 'The request does not name a model.');
  if (models && !models.includes(named)) {
    throw new Refusal(
      403,
      `This agent may not use the model ${named.slice(0, 200)}. It may use: ${models.join(', ')}.`,
    );
  }
  const stored = references.find(
    (name) => fields[name] !== undefined && fields[name] !== null && fields[name] !== false,
  );
  if (stored) throw new Refusal(403, `"${stored}" refers to data that is stored at the service, which is not allowed.`);
  const sent = {
    ...fields,
    ...withoutServerSide(dialect, fields, reach, url),
    ...unstored(dialect, path, url, fields),
  };
  return {
    url,
    body: Buffer.from(JSON.stringify(sent)),
    fields: sent,
    model: named,
    generates: !/count_?tokens$/i.test(path),
  };
}

/** Of the response headers, those that a program needs: no cookies, no account, no redirect. */
export function shownHeaders<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => shown.test(name)));
}

/** Compatible services may refuse a field that they do not know, so it is only added where it has a meaning. */
function unstored(dialect: Dialect, path: string, url: URL, fields: Readonly<Record<string, unknown>>) {
  if (dialect !== 'openai') return {};
  const known = path.endsWith('/responses') || url.hostname === 'api.openai.com' || fields.store !== undefined;
  return known && !path.endsWith('/compact') ? { store: false } : {};
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    const fields = parseBounded(body, LIMITS);
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) return { ...fields };
  } catch (error) {
    if (error instanceof SubstratError) throw new Refusal(413, error.message);
    // Otherwise reported below.
  }
  throw new Refusal(400, 'The body of a model request must be a JSON object, without compression.');
}
