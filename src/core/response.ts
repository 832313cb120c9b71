import { SubstratError } from './errors.ts';

/** Reads the body of an HTTP response, which the server may stream forever. Throws `too_large` beyond `maxBytes`. */
export async function readBytes(response: Response, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxBytes) throw new SubstratError('too_large', `the server sent more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
