import { setTimeout as sleep } from 'node:timers/promises';
import { createExchange } from '../client/exchange.ts';
import { type ErrorCode, SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import { type NodeRequest, nodeState } from '../core/node.ts';
import type { NodeCall } from '../http/api.ts';
import type { Node } from './node.ts';

/** A node takes a request within this time, or it is taken back. */
const TAKEN_WITHIN_MS = 2_000;
/** How long an answer may take once the request was taken. */
const ANSWERED_WITHIN_MS = 30_000;
/** How often to look without a hint. */
const LOOK_MS = 1_000;

type Answer = { readonly value: unknown } | { readonly error: { readonly code: ErrorCode; readonly message: string } };

interface DeskOptions extends Pick<Node, 'store' | 'home' | 'clock' | 'log'> {
  /** Other nodes have changed something about agents of this one. */
  readonly look: (agentIds: readonly string[]) => Promise<void>;
}

/**
 * What nodes ask of each other. They do not connect to each other: a request is a row that its node takes, answers and
 * that the asker deletes. A call of the API is executed by the asked daemon as a request of the owner to itself.
 */
export class NodeDesk {
  readonly #options: DeskOptions;
  readonly #works = new Set<Promise<void>>();
  #unsubscribe: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Begins to answer. With SQLite there is no other node. */
  open(): void {
    const { store } = this.#options;
    if (store.engine === 'sqlite') return;
    this.#unsubscribe = store.onChange(({ runnable }) => {
      if (runnable) this.#poke();
    });
    this.#timer = setInterval(() => this.#poke(), LOOK_MS);
    this.#poke();
  }

  /** Resolves when nothing is being answered. */
  async close(): Promise<void> {
    this.#unsubscribe?.();
    if (this.#timer) clearInterval(this.#timer);
    await this.#looking;
    await Promise.all(this.#works);
  }

  /** Asks a node to answer a call of the API. Throws what it throws, or that it does not answer. */
  async ask(nodeId: string, call: NodeCall): Promise<unknown> {
    const { store, clock } = this.#options;
    await this.#checkAlive(nodeId);
    const id = newId();
    const request = { id, nodeId, kind: 'http', asked: call, createdAt: clock() } as const;
    await store.write((tx) => tx.nodes.insertNodeRequest(request));
    const answer = (await this.#answerTo(id, nodeId)) as Answer;
    await store.write((tx) => tx.nodes.deleteNodeRequest({ id }));
    if ('error' in answer) throw new SubstratError(answer.error.code, answer.error.message);
    return answer.value;
  }

  /** Tells a node that something about its agents has changed. Nobody waits for it. */
  async tell(nodeId: string, agentIds: readonly string[]): Promise<void> {
    const { store, clock } = this.#options;
    const request = { id: newId(), nodeId, kind: 'look', asked: { agentIds }, createdAt: clock() } as const;
    await store.write((tx) => tx.nodes.insertNodeRequest(request));
  }

  async #checkAlive(nodeId: string): Promise<void> {
    const { store, clock } = this.#options;
    const { node, now } = await store.read(async (tx) => ({
      node: await tx.nodes.getNode({ id: nodeId }),
      now: await tx.nodes.readClock({ now: clock() }),
    }));
    const state = node === null ? 'dead' : nodeState(node, now);
    if (state === 'alive' || state === 'draining') return;
    const message = `The node ${node?.name ?? nodeId} is ${state}, and only it can do this. Start its daemon, or move its agents with \`substrat agent move --without-workspace\`.`;
    throw new SubstratError('node_silent', message);
  }

  async #answerTo(id: string, nodeId: string): Promise<unknown> {
    const { store } = this.#options;
    const since = performance.now();
    const read = () => store.read((tx) => tx.nodes.getNodeRequest({ id }));
    let changed = Promise.withResolvers<void>();
    const unsubscribe = store.onChange(() => changed.resolve());
    try {
      for (;;) {
        const request = await read();
        if (request?.state === 'answered') return request.answer;
        const waited = performance.now() - since;
        if (waited > TAKEN_WITHIN_MS && (await store.write((tx) => tx.nodes.tryTakeNodeRequest({ id })))) {
          await store.write((tx) => tx.nodes.deleteNodeRequest({ id }));
          throw new SubstratError('node_silent', `${await this.#nameOf(nodeId)} did not answer within 2 seconds.`);
        }
        if (request === null || waited > ANSWERED_WITHIN_MS) {
          const message = `${await this.#nameOf(nodeId)} began and did not finish. Look before you repeat the call.`;
          throw new SubstratError('outcome_unknown', message);
        }
        await Promise.race([changed.promise, sleep(200)]);
        changed = Promise.withResolvers<void>();
      }
    } finally {
      unsubscribe();
    }
  }

  async #nameOf(nodeId: string): Promise<string> {
    const node = await this.#options.store.read((tx) => tx.nodes.getNode({ id: nodeId }));
    return `The node ${node?.name ?? nodeId}`;
  }

  #poke(): void {
    this.#again = true;
    this.#looking ??= this.#lookAround();
  }

  async #lookAround(): Promise<void> {
    const { store, home, log } = this.#options;
    while (this.#again) {
      this.#again = false;
      try {
        const open = await store.read((tx) => tx.nodes.listOpenNodeRequests({ nodeId: home.nodeId }));
        for (const request of open) {
          if (await store.write((tx) => tx.nodes.tryTakeNodeRequest({ id: request.id }))) this.#begin(request);
        }
      } catch (error) {
        log.warn({ error: (error as Error).message }, 'requests of other nodes could not be read');
      }
    }
    this.#looking = null;
  }

  #begin(request: NodeRequest): void {
    const { log } = this.#options;
    const work = this.#serve(request)
      .catch((error: Error) => log.warn({ error: error.message }, 'a request of another node was not answered'))
      .finally(() => this.#works.delete(work));
    this.#works.add(work);
  }

  async #serve({ id, kind, asked }: NodeRequest): Promise<void> {
    const { store, look } = this.#options;
    if (kind === 'http') {
      const answer = await this.#execute(asked as NodeCall);
      return store.write((tx) => tx.nodes.answerNodeRequest({ id, answer }));
    }
    await look((asked as { agentIds: readonly string[] }).agentIds);
    await store.write((tx) => tx.nodes.deleteNodeRequest({ id }));
  }

  async #execute({ method, path, body, key, match = null }: NodeCall): Promise<Answer> {
    const exchange = createExchange({ home: this.#options.home.path });
    try {
      const headers = { ...(key !== null && { 'idempotency-key': key }), ...(match !== null && { 'if-match': match }) };
      return { value: await exchange(method, path, body ?? undefined, headers) };
    } catch (error) {
      const { code, message } = error as SubstratError;
      return { error: { code, message } };
    }
  }
}
