import * as z from 'zod';
import { parseBind } from '../bind.ts';
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
  origins: z
    .array(text.refine(isOrigin, 'must be an origin such as "https://app.example.com", without a path').toLowerCase())
    .default([]),
  public_url: maybe(text.refine(isWebAddress, 'must be an address such as "https://team.example.com/substrat"')),
})
  .prefault({})
  .describe(
    'Where the daemon serves its API and page, and `ctx serve mcp` its endpoints; port 0 picks a free one. `public_url` is the address that people use, if a proxy forwards it; pages of `origins` may use it, too.',
  );

/** Exact origins only: a wildcard would let every page in a browser read the documents. */
function isOrigin(text: string): boolean {
  return URL.parse(text)?.origin === text.toLowerCase() && /^https?:/i.test(text);
}

function isWebAddress(url: string): boolean {
  return /^https?:\/\/[^?#\s@]+$/.test(url) && URL.canParse(url);
}
