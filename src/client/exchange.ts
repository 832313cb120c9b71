import type { ClientRequest, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type ErrorCode, SubstratError } from '../core/errors.ts';
import type { Exchange } from './calls.ts';

// A static import would touch every export, including WebSocket, and load Node's whole fetch: half of a command's
// time.
const { request } = process.getBuiltinModule('node:http');

/** Where the daemon is: its home, or its URL with a token. */
export type Address = { readonly home: string } | { readonly url: string; readonly token: string };

export function createExchange(address: Address): Exchange {
  return <T>(method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    new Promise<T>((resolve, reject) => {
      const type: Record<string, string> = body ? { 'content-type': 'application/json' } : {};
      const outgoing = openRequest(address, method, path, { ...headers, ...type });
      outgoing.on('error', (error) => reject(unreachable(error, address)));
      outgoing.on('response', (response) => {
        readAnswer(response).then(resolve as (value: unknown) => void, (error: Error) =>
          reject(unreachable(error, address)),
        );
      });
      outgoing.end(body && JSON.stringify(body));
    });
}

export function openRequest(
  address: Address,
  method: string,
  path: string,
  headers: Record<string, string>,
): ClientRequest {
  if ('home' in address) return request({ socketPath: join(address.home, 'daemon.sock'), method, path, headers });
  const authorization = `Bearer ${address.token}`;
  return request(new URL(path, address.url), { method, headers: { ...headers, authorization } });
}

export async function readAnswer(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const value = parseAnswer(Buffer.concat(chunks).toString());
  if ((response.statusCode ?? 500) < 400) return value;
  const error = (value as { error?: { code?: ErrorCode; message?: string } } | null)?.error;
  if (error?.message === undefined) throw notOurs(response, error?.code);
  throw new SubstratError(error.code ?? 'internal', error.message);
}

/** The error for a response that is not from a daemon: another program listens there. */
export function notOurs({ statusCode }: IncomingMessage, code: ErrorCode = 'internal'): SubstratError {
  return new SubstratError(code, `The daemon returned status ${statusCode} with an unexpected body.`);
}

export function unreachable(error: Error, address: Address): SubstratError {
  if (error instanceof SubstratError) return error;
  const { code } = error as NodeJS.ErrnoException;
  const gone = code === 'ENOENT' || code === 'ECONNREFUSED';
  const where = 'home' in address ? address.home : address.url;
  const message = gone
    ? `No daemon is running on ${where}. Run \`substrat daemon start\` or \`substrat up\`.`
    : `The daemon on ${where} does not respond: ${error.message}.`;
  return new SubstratError('not_running', message, { cause: error });
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
