import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

const WEB_PORTS = [80, 443];

/** Allowed destinations: names, `*.` names and addresses, each with an optional port. */
export interface AllowList {
  allowsName(host: string, port: number): boolean;
  /**
   * Allows private addresses and those of this machine only if they are listed themselves, because anybody who
   * controls a name could point it at them.
   */
  allowsAddress(address: string, port: number): boolean;
}

export function createAllowList(
  entries: readonly string[],
  ownAddresses: () => readonly string[] = addressesOfThisMachine,
): AllowList {
  const rules = entries.map(toRule);
  const matches = (port: number, test: (pattern: string) => boolean) =>
    rules.some(({ pattern, ports }) => ports.includes(port) && test(pattern));
  return {
    allowsName: (host, port) => matches(port, (pattern) => covers(pattern, normalName(host))),
    allowsAddress: (address, port) =>
      (isPublic(address) && !isOwn(address, ownAddresses())) ||
      matches(port, (pattern) => pattern === normalName(address)) ||
      (isLoopback(address) && matches(port, (pattern) => pattern === 'localhost')),
  };
}

/** Lower case, without the brackets of an address or the trailing dot. */
export function normalName(host: string): string {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  const name = bare.toLowerCase().replace(/\.$/, '');
  return isIP(name) === 6 ? new URL(`http://[${name}]`).hostname.slice(1, -1) : name;
}

function toRule(entry: string): { pattern: string; ports: readonly number[] } {
  if (isIP(entry) === 6) return { pattern: normalName(entry), ports: WEB_PORTS };
  const [, host = entry, port] = /^(.*):(\d+)$/.exec(entry) ?? [];
  return { pattern: normalName(host), ports: port === undefined ? WEB_PORTS : [Number(port)] };
}

function covers(pattern: string, host: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) && isIP(host) === 0 : host === pattern;
}

/** Read for every request, because addresses change. */
function addressesOfThisMachine(): string[] {
  return Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
}

function isOwn(address: string, own: readonly string[]): boolean {
  return own.some((one) => normalName(one) === normalName(address));
}

const elsewhere = blockList([
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  // The ranges in 2000::/3 with another meaning, such as embedded IPv4 addresses.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]);
const global = blockList([['2000::', 3]]);
const loopback = blockList([
  ['127.0.0.0', 8],
  ['::1', 128],
]);

function isPublic(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !elsewhere.check(address, 'ipv4');
  return family === 6 && global.check(address, 'ipv6') && !elsewhere.check(address, 'ipv6');
}

function isLoopback(address: string): boolean {
  return loopback.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

function blockList(subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  return list;
}
