import { isIPv4, isIPv6 } from 'node:net';
import * as z from 'zod';
import { maybe, table, text } from '../fields.ts';

export const server = table({
  bind: text
    .transform((bind, context) => {
      const address = parseBind(bind);
      if (address !== null) return address;
      context.addIssue('must be an address and a port such as "127.0.0.1:7331" or "[::1]:7331"');
      return z.NEVER;
    })
    .prefault('127.0.0.1:7331'),
  public_url: maybe(text.refine(isWebAddress, 'must be an address such as "https://team.example.com/substrat"')),
})
  .prefault({})
  .describe(
    'Where the daemon serves its API and page, and `ctx serve mcp` its endpoints; port 0 picks a free one. `public_url` is the address that people use, if a proxy forwards it.',
  );

function isWebAddress(url: string): boolean {
  return /^https?:\/\/[^?#\s@]+$/.test(url) && URL.canParse(url);
}

/** Returns null if the text is not an address with a port. */
export function parseBind(bind: string): { host: string; port: number } | null {
  const [, v6, name, digits] = /^(?:\[([^\]]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(bind) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return null;
  if (v6 !== undefined ? !isIPv6(v6) : /^[\d.]+$/.test(host) && !isIPv4(host)) return null;
  return { host, port };
}
