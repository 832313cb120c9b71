import type { ServerResponse } from 'node:http';

/** Sent to the program. Agents may know what they are not allowed to do. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new Refusal(502, `The host cannot be reached: ${code ?? 'the connection failed'}.`);
}

/** Never throws: it runs in event handlers, where an exception would end the daemon. */
export function refuse(response: ServerResponse, error: unknown): void {
  const { status, message } = asRefusal(error);
  if (response.headersSent || response.destroyed) return void response.destroy();
  try {
    response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`);
  } catch {
    response.destroy();
  }
}
