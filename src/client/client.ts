import { request } from 'node:http';
import { join } from 'node:path';
import { type ErrorCode, SubstratError } from '../core/errors.ts';
import type { AgentShown } from '../http/app.ts';

export interface AgentCreation {
  readonly name: string;
  readonly parent?: string | null;
  readonly role?: string | null;
  readonly instructions?: string;
  readonly provider?: string | null;
  readonly model?: string | null;
  readonly program?: string | null;
  readonly workspace?: string | null;
  readonly tools?: readonly string[] | null;
}

export interface Reply {
  readonly messageId: string;
  readonly from: string;
  readonly text: string;
  readonly kind: 'reply' | 'error' | 'message' | 'notice';
  readonly late: boolean;
}

export interface Status {
  readonly pid: number;
  readonly home: string;
  readonly version: string;
  readonly sandbox: string;
}

export type Client = ReturnType<typeof createClient>;

/** The API of the daemon that owns `home`, over its socket. */
export function createClient({ home }: { readonly home: string }) {
  const call = <T>(method: string, path: string, body?: object): Promise<T> =>
    exchange(join(home, 'daemon.sock'), method, path, body) as Promise<T>;
  const agent = (ref: string) => `/api/agents/${encodeURIComponent(ref)}`;
  return {
    getStatus: () => call<Status>('GET', '/api/status'),
    createAgent: (creation: AgentCreation) => call<AgentShown>('POST', '/api/agents', creation),
    getAgent: (ref: string) => call<AgentShown>('GET', agent(ref)),
    listAgents: ({ cursor, limit, all }: { cursor?: string; limit?: number; all?: boolean } = {}) => {
      const query = new URLSearchParams({ limit: String(limit ?? 100), all: String(all ?? false) });
      if (cursor) query.set('cursor', cursor);
      return call<{ items: AgentShown[]; nextCursor: string | null }>('GET', `/api/agents?${query}`);
    },
    sendMessage: (ref: string, message: { text: string; inReplyTo?: string }) =>
      call<{ messageId: string }>('POST', `${agent(ref)}/messages`, message),
    /** Null while the request is open. */
    awaitReply: async (messageId: string, waitSeconds: number): Promise<Reply | null> => {
      const path = `/api/messages/${encodeURIComponent(messageId)}/replies?wait=${waitSeconds}`;
      const { items, state } = await call<{ state: string; items: Reply[] }>('GET', path);
      return state === 'closed' ? (items.find((reply) => !reply.late) ?? null) : null;
    },
    terminateAgent: (ref: string) => call<{ agentId: string }>('POST', `${agent(ref)}/terminate`),
    getMcpConfig: (ref: string) => call<{ agentId: string; path: string }>('GET', `${agent(ref)}/mcp`),
    getRun: (id: string) =>
      call<{ id: string; state: string; error: string | null }>('GET', `/api/runs/${encodeURIComponent(id)}`),
    cancelRun: (id: string) => call<{ runId: string }>('POST', `/api/runs/${encodeURIComponent(id)}/cancel`),
  };
}

function exchange(socketPath: string, method: string, path: string, body?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = body ? { 'content-type': 'application/json' } : {};
    const outgoing = request({ socketPath, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', (error) => reject(unreachable(error, socketPath)));
      response.on('end', () => {
        const value = parseAnswer(Buffer.concat(chunks).toString());
        if ((response.statusCode ?? 500) < 400) resolve(value);
        else reject(toError(value));
      });
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => reject(unreachable(error, socketPath)));
    outgoing.end(body && JSON.stringify(body));
  });
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function toError(value: unknown): SubstratError {
  const error = (value as { error?: { code?: ErrorCode; message?: string } } | null)?.error;
  return new SubstratError(
    error?.code ?? 'internal',
    error?.message ?? 'The daemon gave an answer that is none of ours.',
  );
}

function unreachable(error: NodeJS.ErrnoException, socketPath: string): SubstratError {
  const gone = error.code === 'ENOENT' || error.code === 'ECONNREFUSED';
  const message = gone
    ? 'No daemon runs on this home. Start one with `substrat up` or `substrat daemon start`.'
    : `The daemon at ${socketPath} does not answer: ${error.message}.`;
  return new SubstratError('not_running', message, { cause: error });
}
