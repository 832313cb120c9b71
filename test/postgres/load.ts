import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/client/client.ts';
import { type ConnectedAgent, connectAgent } from '../helpers/mcp.ts';
import { createLedger, judge, type Ledger, request } from './ledger.ts';

export interface Load {
  readonly messages: Ledger;
  readonly blocks: Ledger;
  /** Requests to the agent that echoes, by message id, with the expected answer. */
  readonly requests: Map<string, string>;
  /** The event numbers that a reader saw. */
  readonly seen: number[];
  /** The longest duration of a request. */
  readonly slowest: () => number;
  /** Ends the reader once it has seen the event with that number. */
  finish(last: number): Promise<void>;
}

const PAUSE_MS = 20;

export interface LoadOptions {
  readonly home: string;
  /** An external agent, which also has the block that is changed. */
  readonly agent: { readonly id: string; readonly name: string };
  /** The agent that is asked; it answers `echo` and the question. */
  readonly echo: string;
  /** Begins every text, so that several loads differ. */
  readonly prefix?: string;
  /** Whether the daemon may be gone for a while; what was sent to it then has an unknown outcome. */
  readonly mayDie?: boolean;
  readonly more: () => boolean;
}

/**
 * Posts with and without a key, MCP calls, writes with If-Match, awaited requests and an event reader, as long as
 * `more` returns true.
 */
export async function work({ home, agent, echo, prefix = '', mayDie = false, more }: LoadOptions): Promise<Load> {
  const load = {
    messages: createLedger(mayDie),
    blocks: createLedger(mayDie),
    requests: new Map<string, string>(),
  };
  const seen: number[] = [];
  let slowest = 0;
  const send: Send = async (ledger, path, options) => {
    const answer = await request(ledger, home, path, options);
    if (!path.includes('wait=')) slowest = Math.max(slowest, answer.ms);
    return answer;
  };
  const stop = new AbortController();
  const reading = follow(home, seen, stop.signal);
  await Promise.all([
    post(send, load.messages, `${prefix}keyed`, more),
    post(send, load.messages, `${prefix}plain`, more),
    post(send, load.messages, `${prefix}second`, more),
    call(home, agent.id, load.messages, prefix, more),
    remember(send, load.blocks, { name: agent.name, prefix }, more),
    askEcho(send, load, { echo, prefix }, more),
  ]);
  return {
    ...load,
    seen,
    slowest: () => slowest,
    finish: async (last) => {
      for (const giveUp = Date.now() + 30_000; (seen.at(-1) ?? 0) < last && Date.now() < giveUp; )
        await sleep(PAUSE_MS);
      stop.abort();
      await reading;
    },
  };
}

type Send = (ledger: Ledger, path: string, options?: Parameters<typeof request>[3]) => ReturnType<typeof request>;

/** With a key it is retried until it is acknowledged; without one, never. */
async function post(send: Send, ledger: Ledger, kind: string, more: () => boolean): Promise<void> {
  const keyed = kind.endsWith('keyed');
  for (let n = 0; more(); n += 1) {
    const text = `${kind} ${n}`;
    const options = {
      method: 'POST',
      body: { text },
      ...(keyed && { headers: { 'idempotency-key': text } }),
    };
    for (;;) {
      const verdict = judge(ledger, text, await send(ledger, '/api/channels/general/messages', options));
      ledger.told.set(text, verdict);
      if (verdict === 'acknowledged' || !keyed) break;
      await sleep(PAUSE_MS);
    }
    await sleep(PAUSE_MS);
  }
}

/** An external agent over MCP; it joins again when its connection is refused or ends. */
async function call(home: string, agentId: string, ledger: Ledger, prefix: string, more: () => boolean): Promise<void> {
  let agent: ConnectedAgent | null = null;
  for (let n = 0; more(); n += 1) {
    const text = `${prefix}mcp ${n}`;
    try {
      agent ??= await connectAgent({ home, agentId });
      ledger.told.set(text, 'unknown');
      const { isError, value } = await agent.call('send_message', { recipient: 'USER', text });
      const status = isError ? (value.error?.code === 'store' ? 503 : 504) : 200;
      ledger.told.set(text, judge(ledger, text, { status, json: value }));
    } catch {
      await agent?.close().catch(() => {});
      agent = null;
    }
    await sleep(PAUSE_MS);
  }
  await agent?.close();
}

/** Changes a block, each time with the version that it read. */
async function remember(
  send: Send,
  ledger: Ledger,
  { name, prefix }: { readonly name: string; readonly prefix: string },
  more: () => boolean,
): Promise<void> {
  const path = `/api/agents/${name}/memory/counter`;
  for (let n = 0; more(); n += 1) {
    const text = `${prefix}block ${n}`;
    const block = await send(ledger, path);
    await sleep(PAUSE_MS);
    if (block.status !== 200 && block.status !== 404) continue;
    const headers: Record<string, string> =
      block.status === 404 ? { 'if-none-match': '*' } : { 'if-match': String(block.headers.etag) };
    ledger.told.set(text, judge(ledger, text, await send(ledger, path, { method: 'PUT', body: { text }, headers })));
  }
}

async function askEcho(
  send: Send,
  load: { readonly messages: Ledger; readonly requests: Map<string, string> },
  { echo, prefix }: { readonly echo: string; readonly prefix: string },
  more: () => boolean,
): Promise<void> {
  for (let n = 0; more(); n += 1) {
    const text = `${prefix}question ${n}`;
    const options = { method: 'POST', body: { text }, headers: { 'idempotency-key': text } };
    let id: string | undefined;
    while (id === undefined) {
      const answer = await send(load.messages, `/api/agents/${echo}/messages`, options);
      if (judge(load.messages, text, answer) === 'acknowledged') id = answer.json.messageId as string;
      else await sleep(PAUSE_MS);
    }
    load.requests.set(id, `echo ${text}`);
    for (let state = 'open'; state === 'open'; ) {
      const answer = await send(load.messages, `/api/messages/${id}/replies?wait=20`);
      if (judge(load.messages, `waiting for ${text}`, answer) === 'acknowledged') state = answer.json.state as string;
      else await sleep(PAUSE_MS);
    }
  }
}

async function follow(home: string, seen: number[], signal: AbortSignal): Promise<void> {
  for await (const { seq } of createClient({ home }).followEvents({ after: 0, signal })) seen.push(seq);
}
