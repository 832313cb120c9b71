import type { ServerResponse } from 'node:http';
import type { Dialect } from '../core/command.ts';

/** Sent to the program. Agents may know what they are not allowed to do. */
export class Refusal extends Error {
  readonly status: number;
  /** Of the service that the program asked: it reads the error as one of that service. */
  readonly dialect: Dialect | null;

  constructor(status: number, message: string, dialect: Dialect | null = null) {
    super(message);
    this.status = status;
    this.dialect = dialect;
  }
}

export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new Refusal(502, `The host cannot be reached: ${code ?? 'the connection failed'}.`);
}

/** Never throws: it runs in event handlers, where an exception would end the daemon. */
export function refuse(response: ServerResponse, error: unknown): void {
  const refusal = asRefusal(error);
  if (response.headersSent || response.destroyed) return void response.destroy();
  try {
    const type = refusal.dialect === null ? 'text/plain' : 'application/json';
    response.writeHead(refusal.status, { 'content-type': type, connection: 'close' }).end(`${textOf(refusal)}\n`);
  } catch {
    response.destroy();
  }
}

function textOf({ status, message, dialect }: Refusal): string {
  if (dialect === null) return message;
  const isForbidden = status === 403;
  if (dialect === 'gemini') {
    const name = isForbidden ? 'PERMISSION_DENIED' : 'INVALID_ARGUMENT';
    return JSON.stringify({ error: { code: status, message, status: name } });
  }
  const type = isForbidden ? 'permission_error' : 'invalid_request_error';
  if (dialect === 'anthropic') return JSON.stringify({ type: 'error', error: { type, message } });
  return JSON.stringify({ error: { message, type, param: null, code: null } });
}
