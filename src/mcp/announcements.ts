export type Announcement = 'notifications/prompts/list_changed' | 'notifications/tools/list_changed';

export interface Announcements {
  /** Opens the notification stream of a session-era client, which is told when to list again. */
  open(): Response;
  announce(method: Announcement): void;
  close(): void;
}

const MAX_STREAMS = 256;
/** A client that disappeared silently is detected at the next write. */
const HEARTBEAT_MS = 30_000;

/**
 * Server notifications over streamable HTTP for clients of the protocol before 2026, which receive them on a GET of
 * the endpoint. Newer clients subscribe; the library serves those.
 */
export function createAnnouncements(): Announcements {
  const encoder = new TextEncoder();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let heartbeat: NodeJS.Timeout | null = null;

  const send = (text: string) => {
    const bytes = encoder.encode(text);
    // A client that has not read the last notification will list again anyway, so nothing is buffered for slow
    // readers.
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
      if (streams.size >= MAX_STREAMS) return new Response('Too many clients are listening.', { status: 503 });
      let own: ReadableStreamDefaultController<Uint8Array>;
      const body = new ReadableStream<Uint8Array>(
        {
          start: (stream) => {
            own = stream;
            streams.add(stream);
            heartbeat ??= setInterval(() => send(':\n\n'), HEARTBEAT_MS).unref();
            // Sends the headers immediately.
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
