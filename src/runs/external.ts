import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { NodeRecord } from '../core/node.ts';
import { type Tracer, under } from '../core/tracing.ts';
import type { Store } from '../store/store.ts';
import { type ActiveAttempt, createAttempt, takePersona } from './attempt.ts';
import { type Correspondence, completeRun } from './endings.ts';
import type { AskPersona } from './run-turn.ts';
import { RunSpans, startRunSpan } from './spans.ts';
import { untilStored } from './until-stored.ts';

export interface ExternalOptions {
  readonly store: Store;
  readonly clock: () => number;
  readonly nodeId: string;
  /** Of this start of the daemon. */
  readonly incarnation: string;
  readonly correspondence: Correspondence;
  /** Called when the run opens; errors are reported to the joining client. */
  readonly askPersona: AskPersona;
  readonly turnTimeoutMs: number;
  /** Null if nothing is traced. */
  readonly tracer: Tracer | null;
  readonly log: Record<'warn' | 'error', (details: object, message: string) => void>;
}

interface Joined {
  readonly attempt: Promise<ActiveAttempt>;
  connections: number;
  /** The pending write that everybody has left; resolves to whether it was stored. */
  closing: Promise<boolean> | null;
}

/**
 * The open-ended runs of external agents. The first connection opens the run, further ones share it (some programs
 * start their MCP servers twice), and the last one to leave ends it. While that end cannot be stored, the run stays
 * open and new connections share it.
 */
export class ExternalRuns {
  readonly #options: ExternalOptions;
  readonly #joined = new Map<string, Joined>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: ExternalOptions) {
    this.#options = options;
  }

  async join(agentId: string): Promise<ActiveAttempt> {
    await this.#joined.get(agentId)?.closing;
    let joined = this.#joined.get(agentId);
    if (!joined) {
      joined = { attempt: this.#open(agentId), connections: 0, closing: null };
      this.#joined.set(agentId, joined);
    }
    joined.connections += 1;
    try {
      return await joined.attempt;
    } catch (error) {
      this.#forget(agentId, joined);
      throw error;
    }
  }

  /** Resolves when the end of the run is stored, or somebody has joined again. */
  async leave(agentId: string): Promise<void> {
    const joined = this.#joined.get(agentId);
    if (!joined) return;
    joined.connections -= 1;
    if (joined.connections > 0) return;
    const left = this.#leave(agentId, joined);
    this.#leaving.add(left);
    await left.finally(() => this.#leaving.delete(left));
  }

  /**
   * Resolves when the ends of all left runs are stored, or the store was unavailable so long that the next start must
   * do it.
   */
  async settled(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#leaving);
  }

  async #leave(agentId: string, joined: Joined): Promise<void> {
    const { log } = this.#options;
    const attempt = await joined.attempt;
    const close = async () => {
      if (joined.connections > 0) return;
      const closing = this.#close(attempt);
      joined.closing = closing.then(
        () => this.#forget(agentId, joined),
        () => false,
      );
      await closing.finally(() => {
        joined.closing = null;
      });
    };
    const onFailure = (error: Error) => log.warn({ agentId, error: error.message }, 'leaving could not be stored');
    try {
      await untilStored(close, { store: this.#options.store, signal: this.#stopping.signal, onFailure });
    } catch (error) {
      log.error({ agentId, error: (error as Error).message }, 'leaving failed; the next to join ends the run');
      if (joined.connections === 0) this.#forget(agentId, joined);
    }
  }

  /** Not if another run was opened meanwhile: two clients may leave at once, and the second one's end takes longer. */
  #forget(agentId: string, joined: Joined): boolean {
    return this.#joined.get(agentId) === joined && this.#joined.delete(agentId);
  }

  async #close(attempt: ActiveAttempt): Promise<void> {
    const { store, correspondence, clock } = this.#options;
    const { spans } = attempt;
    try {
      await under(spans?.run, () =>
        store.write((tx) => completeRun(tx, correspondence, attempt, { finalText: '' }, clock())),
      );
      spans?.end('completed');
    } catch (error) {
      // Terminated or cancelled meanwhile: the end is already stored.
      if (!(error instanceof SubstratError && error.code === 'fenced')) throw error;
      spans?.end('cancelled');
    }
  }

  async #open(agentId: string): Promise<ActiveAttempt> {
    const { store, clock, nodeId, incarnation, tracer, askPersona, turnTimeoutMs, correspondence } = this.#options;
    const joining = (await store.read((tx) => tx.agents.getAgent({ id: agentId }))) as Agent;
    const persona = await askPersona(joining, { timeoutMs: turnTimeoutMs });
    const { run, agent, scope } = await store.write(async (tx) => {
      const agent = (await tx.agents.getAgent({ id: agentId })) as Agent;
      if (agent.terminatedAt !== null) throw new SubstratError('terminated', `${agent.handle} is terminated.`);
      if (agent.pausedAt !== null) {
        const message = `${agent.handle} is paused. Join again after \`substrat agent resume ${agent.handle}\`.`;
        throw new SubstratError('conflict', message);
      }
      checkSeat(agent, await tx.nodes.getNode({ id: agent.nodeId }), { nodeId, incarnation });
      // A run whose end could not be stored, or whose opening had an unknown outcome.
      const open = await tx.runs.getLiveRun({ agentId });
      if (open) await completeRun(tx, correspondence, createAttempt(open, agent), { finalText: '' }, clock());
      const run = await tx.runs.insertOpenRun({ agentId, treeId: agent.treeId, nodeId, incarnation, now: clock() });
      await tx.events.appendEvent({
        type: 'run_started',
        at: clock(),
        agentId,
        data: { runId: run.id, agentId, attempt: 1 },
      });
      return { run, agent, scope: await tx.agents.getScope({ id: agentId }) };
    });
    const spans = tracer && new RunSpans(startRunSpan(tracer, run, agent, { parent: null }));
    const attempt = createAttempt(run, agent, { spans, scope });
    takePersona(attempt, persona);
    return attempt;
  }
}

/** A run opens only on the agent's own node, by the daemon that is this node, and not while it drains. */
function checkSeat(agent: Agent, node: NodeRecord | null, here: { nodeId: string; incarnation: string }): void {
  if (agent.nodeId !== here.nodeId) {
    const where = node ? `the node ${node.name} on ${node.host}` : 'another node';
    const message = `${agent.handle} was moved to ${where}. Start its program there; \`substrat agent mcp ${agent.handle}\` prints the configuration.`;
    throw new SubstratError('conflict', message);
  }
  if (!node || node.incarnation === null) return;
  if (node.incarnation !== here.incarnation) {
    const message = `This daemon is no longer the node ${node.name}: another daemon has its id.`;
    throw new SubstratError('conflict', message);
  }
  if (node.drainingAt === null) return;
  const message = `The node ${node.name} drains and ${agent.handle} stays on it. Join again after \`substrat node undrain ${node.name}\`.`;
  throw new SubstratError('conflict', message);
}
