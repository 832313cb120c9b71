import { PassThrough } from 'node:stream';
import * as z from 'zod';
import type { Said } from './cli.ts';
import { readEvent } from './lines.ts';

const id = z.union([z.number(), z.string()]);
const problem = z.object({ code: z.number().optional(), message: z.string(), data: z.unknown().optional() });
const message = z.looseObject({
  id: id.nullish(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: problem.optional(),
});

export type RpcError = z.infer<typeof problem>;

/** What an answer means for the turn. */
type Answered = (answer: { readonly result: unknown; readonly error: RpcError | undefined }) => readonly Said[];

/** A notification, or a request, which has an `id` and must be answered. */
export interface Incoming {
  readonly id: z.infer<typeof id> | null;
  readonly method: string;
  readonly params: unknown;
}

/** JSON-RPC with a program over its stdin and stdout, one message per line. */
export function createRpc(version: object = {}) {
  const input = new PassThrough();
  const waiting = new Map<unknown, Answered>();
  let last = 0;
  const send = (body: object): void => {
    if (!input.writableEnded) input.write(`${JSON.stringify({ ...version, ...body })}\n`);
  };
  return {
    input,
    notify: (method: string, params?: object): void => send({ method, ...(params && { params }) }),
    request: (method: string, params: object, answered: Answered): void => {
      waiting.set(++last, answered);
      send({ id: last, method, params });
    },
    answer: ({ id }: Incoming, result: object): void => send({ id, result }),
    refuse: ({ id }: Incoming, code: number, text: string): void => send({ id, error: { code, message: text } }),
    /** Handles a line of the program: the answer to a request of ours, or a message that `heard` handles. */
    read: (line: string, heard: (incoming: Incoming) => readonly Said[]): readonly Said[] => {
      const read = readEvent(message, line);
      if (!read) return [];
      if (read.method !== undefined) return heard({ id: read.id ?? null, method: read.method, params: read.params });
      const answered = waiting.get(read.id);
      waiting.delete(read.id);
      return answered?.({ result: read.result, error: read.error }) ?? [];
    },
    /** The program gets no more input. */
    close: (): void => void input.end(),
  };
}
