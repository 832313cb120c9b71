import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

/**
 * `open` passes everything. `hole` accepts connections and drops everything, both ways. `closed` refuses connections.
 * The others cut a connection at its next commit: before the server gets it, or after the server has responded and
 * before the client gets the response.
 */
type Mode = 'open' | 'hole' | 'closed' | 'cut before commit' | 'cut after commit';

export interface PostgresProxy extends AsyncDisposable {
  /** The URL of the same database, through the proxy. */
  readonly url: string;
  mode: Mode;
  /** The mode after a commit was cut. */
  afterCut: Mode;
  /** If not null, only the commit of a transaction that has sent this text is cut. */
  about: string | null;
  /** The number of commits cut. */
  readonly cuts: number;
  /** The number of connected clients. */
  readonly clients: number;
  /** Cuts connections, at most this many, chosen at random. Returns how many. */
  cut(most?: number, random?: () => number): number;
  /** Drops all data on current connections; new ones work. */
  hush(): void;
  /** Holds back what goes in this direction, on all connections, until `flow()`. */
  stall(direction: 'to server' | 'to client'): void;
  flow(): void;
}

/** A TCP proxy in front of a PostgreSQL server on a Unix socket. */
export async function startPostgresProxy(database: string): Promise<PostgresProxy> {
  const target = new URL(database);
  const path = join(target.searchParams.get('host') ?? '', '.s.PGSQL.5432');
  const pairs = new Set<Pair>();
  const server = createServer((client) => {
    if (proxy.mode === 'closed') return void client.destroy();
    const pair: Pair = { client, server: createConnection(path), hushed: false, armed: false };
    if (stalled) sourceOf(pair, stalled).pause();
    pairs.add(pair);
    const end = () => {
      pair.client.destroy();
      pair.server.destroy();
      pairs.delete(pair);
    };
    const cutAtCommit = () => {
      proxy.mode = proxy.afterCut;
      cuts += 1;
      end();
    };
    for (const socket of [pair.client, pair.server]) {
      socket.on('error', end);
      socket.on('close', () => {
        // In a hole nobody notices that the other side has gone.
        if (!swallows(pair)) end();
      });
    }
    pair.client.on('data', (chunk) => {
      if (swallows(pair)) return;
      if (proxy.about !== null && chunk.includes(proxy.about)) pair.armed = true;
      if (proxy.mode === 'cut before commit' && isCommit(chunk) && isMeant(pair)) return cutAtCommit();
      pair.server.write(chunk);
    });
    pair.server.on('data', (chunk) => {
      if (swallows(pair)) return;
      if (proxy.mode === 'cut after commit' && chunk.includes('COMMIT\0') && isMeant(pair)) return cutAtCommit();
      pair.client.write(chunk);
    });
  });
  let cuts = 0;
  let stalled: Direction | null = null;
  const isMeant = (pair: Pair) => proxy.about === null || pair.armed;
  const swallows = (pair: Pair) => pair.hushed || proxy.mode === 'hole';
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(database);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);

  const cut = (most = Number.POSITIVE_INFINITY, random = Math.random) => {
    const chosen = [...pairs].map((pair) => ({ pair, place: random() })).sort((a, b) => a.place - b.place);
    for (const { pair } of chosen.slice(0, most)) {
      pair.client.resetAndDestroy();
      pair.server.destroy();
      pairs.delete(pair);
    }
    return Math.min(most, chosen.length);
  };
  const proxy: PostgresProxy = {
    url: url.href,
    mode: 'open',
    afterCut: 'open',
    about: null,
    get cuts() {
      return cuts;
    },
    get clients() {
      return [...pairs].filter(({ client }) => !client.closed && !client.readableEnded).length;
    },
    cut,
    hush: () => {
      for (const pair of pairs) pair.hushed = true;
    },
    stall: (direction) => {
      stalled = direction;
      for (const pair of pairs) sourceOf(pair, direction).pause();
    },
    flow: () => {
      for (const { client, server } of pairs) for (const socket of [client, server]) socket.resume();
      stalled = null;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
  return proxy;
}

type Direction = Parameters<PostgresProxy['stall']>[0];

function sourceOf({ client, server }: Pair, direction: Direction): Socket {
  return direction === 'to server' ? client : server;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  hushed: boolean;
  armed: boolean;
}

function isCommit(chunk: Buffer): boolean {
  return chunk.includes('commit\0');
}
