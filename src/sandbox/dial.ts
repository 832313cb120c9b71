import { connect, isIP, type Socket } from 'node:net';
import type { AllowList } from './hosts.ts';
import { Refusal } from './refusal.ts';

export type Lookup = (host: string) => Promise<readonly { readonly address: string }[]>;

export interface DialOptions {
  readonly allowed: AllowList;
  readonly lookup: Lookup;
  /** Called with every socket before it connects. */
  readonly keep: (socket: Socket) => void;
}

const CONNECT_MS = 15_000;

/**
 * Connects to an allowed host. Resolves the name once and connects to the address that was checked, so that a DNS
 * server cannot return different addresses for the check and the connection.
 */
export async function dial({ allowed, lookup, keep }: DialOptions, host: string, port: number): Promise<Socket> {
  if (!allowed.allowsName(host, port)) {
    throw new Refusal(403, `This agent may not reach ${host}:${port} ([sandbox] network).`);
  }
  const found = isIP(host) ? [{ address: host }] : await lookup(host);
  const open = found.filter(({ address }) => allowed.allowsAddress(address, port));
  if (open.length === 0) {
    const addresses = found.map(({ address }) => address).join(', ');
    const why =
      'which is not a public address of another machine; add the address itself to [sandbox] network to allow it';
    throw new Refusal(403, `${host} is at ${addresses}, ${why}.`);
  }
  let problem: unknown;
  for (const { address } of open) {
    try {
      const socket = connect({ host: address, port });
      keep(socket);
      await connected(socket);
      return socket;
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error('it does not respond')), CONNECT_MS);
    socket.once('connect', resolve).once('error', reject);
    socket.once('close', () => reject(new Error('it closed the connection')));
    socket.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  });
}
