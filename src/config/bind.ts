import { isIPv4, isIPv6 } from 'node:net';

/** Returns null if the text is not an address with a port. */
export function parseBind(bind: string): { host: string; port: number } | null {
  const [, v6, name, digits] = /^(?:\[([^\]]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(bind) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return null;
  if (v6 !== undefined ? !isIPv6(v6) : /^[\d.]+$/.test(host) && !isIPv4(host)) return null;
  return { host, port };
}
