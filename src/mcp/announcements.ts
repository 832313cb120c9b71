export type Announcement = 'notifications/prompts/list_changed' | 'notifications/tools/list_changed';

export interface Announcements {
  /** The stream that a client of the era of sessions listens on; it is told what it may want to ask again. */
  open(): Response;
  announce(method: Announcement): void;
  close(): void;
}

const MAX_STREAMS = 256;
/** A client that is gone without a word is noticed when it is written to. */
const HEARTBEAT_MS = 30_000;

/**
 * The messages that a server sends unasked over streamable HTTP, to clients of the protocol before 2026: they get them on
 * a GET of the endpoint. Newer ones subscribe, which is the library's to serve.
 */
export function createAnnouncements(): Announcements {
  const encoder = new TextEncoder();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let heartbeat: NodeJS.Timeout | null = null;

  const send = (text: string) => {
    const bytes = encoder.encode(text);
    // Who has not read the last one will ask again anyway: nothing grows behind a slow reader.
    for (const stream of streams) if ((stream.desiredSize ?? 0) > 0) stream.enqueue(bytes);
  };
  const leave = (stream: ReadableStreamDefaultController<Uint8Array>) => {
    streams.delete(stream);
    if (streams.size > 0 || heartbeat === null) return;
    clearInterval(heartbeat);
    heartbeat = null;
  };

  return {
    open: () => {
      if (streams.size >= MAX_STREAMS) return new Response('Too many clients listen already.', { status: 503 });
      let own: ReadableStreamDefaultController<Uint8Array>;
      const body = new ReadableStream<Uint8Array>(
        {
          start: (stream) => {
            own = stream;
            streams.add(stream);
            heartbeat ??= setInterval(() => send(':\n\n'), HEARTBEAT_MS).unref();
            // So that the headers leave at once.
            stream.enqueue(encoder.encode(':\n\n'));
          },
          cancel: () => leave(own),
        },
        { highWaterMark: 8 },
      );
      return new Response(body, {
        headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
      });
    },
    announce: (method) => send(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method })}\n\n`),
    close: () => {
      for (const stream of [...streams]) {
        leave(stream);
        stream.close();
      }
    },
  };
}
