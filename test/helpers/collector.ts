import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

export interface SeenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly failed: boolean;
  readonly links: readonly string[];
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

interface Post {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly posts: readonly Post[];
  /** Parsed from JSON. */
  spans(): SeenSpan[];
}

/** Accepts OTLP over HTTP, or any other post, and stores it. */
export async function startCollector(): Promise<Collector> {
  const posts: Post[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const { headers, url = '' } = request;
    posts.push({ path: url, headers, body: headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    spans: () =>
      posts
        .filter(({ headers }) => headers['content-type'] === 'application/json')
        .flatMap(({ body }) => decode(JSON.parse(body.toString()))),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Values {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Values[] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Values[];
  readonly status?: { readonly code?: number };
  readonly links?: readonly { readonly spanId: string }[];
}

function decode({ resourceSpans }: Exported): SeenSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        start: Number(span.startTimeUnixNano) / 1e6,
        end: Number(span.endTimeUnixNano) / 1e6,
        attributes: valuesOf(span.attributes),
        failed: span.status?.code === 2,
        links: (span.links ?? []).map(({ spanId }) => spanId),
        resource: valuesOf(resource.attributes),
      })),
    ),
  );
}

function valuesOf(attributes: readonly Values[]): Record<string, string | number | boolean> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? '']));
}
