import { SubstratError } from '../core/errors.ts';
import { type Tracer, under } from '../core/tracing.ts';
import type { AgentRow, Store } from '../store/store.ts';
import { type Attempt, createAttempt, takePersona } from './attempt.ts';
import { type Correspondence, completeRun } from './endings.ts';
import type { AskPersona } from './run-turn.ts';
import { RunSpans, startRunSpan } from './spans.ts';

export interface ExternalOptions {
  readonly store: Store;
  readonly clock: () => number;
  readonly nodeId: string;
  readonly correspondence: Correspondence;
  /** Asked when the run opens; whoever wants to join is told what is wrong. */
  readonly askPersona: AskPersona;
  readonly turnTimeoutMs: number;
  /** Null where nothing is traced. */
  readonly tracer: Tracer | null;
}

interface Joined {
  readonly attempt: Promise<Attempt>;
  connections: number;
}

/**
 * The open-ended runs of agents that somebody else runs. The first connection opens the run, further ones share it (some
 * programs start their MCP servers twice), and the last one to leave ends it.
 */
export class ExternalRuns {
  readonly #options: ExternalOptions;
  readonly #joined = new Map<string, Joined>();
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(options: ExternalOptions) {
    this.#options = options;
  }

  async join(agentId: string): Promise<Attempt> {
    let joined = this.#joined.get(agentId);
    if (!joined) {
      joined = { attempt: this.#open(agentId), connections: 0 };
      this.#joined.set(agentId, joined);
    }
    joined.connections += 1;
    try {
      return await joined.attempt;
    } catch (error) {
      this.#joined.delete(agentId);
      throw error;
    }
  }

  async leave(agentId: string): Promise<void> {
    const joined = this.#joined.get(agentId);
    if (!joined) return;
    joined.connections -= 1;
    if (joined.connections > 0) return;
    this.#joined.delete(agentId);
    const left = joined.attempt.then((attempt) => this.#close(attempt)).finally(() => this.#leaving.delete(agentId));
    this.#leaving.set(agentId, left);
    await left;
  }

  /** Resolves when everybody who has left is out. */
  async settled(): Promise<void> {
    await Promise.all(this.#leaving.values());
  }

  async #close(attempt: Attempt): Promise<void> {
    const { store, correspondence, clock } = this.#options;
    const { spans } = attempt;
    try {
      await under(spans?.run, () =>
        store.write((tx) => completeRun(tx, correspondence, attempt, { finalText: '' }, clock())),
      );
      spans?.end('completed');
    } catch (error) {
      spans?.end('cancelled');
      // Terminated or cancelled meanwhile: the end is written already.
      if (!(error instanceof SubstratError && error.code === 'fenced')) throw error;
    }
  }

  async #open(agentId: string): Promise<Attempt> {
    await this.#leaving.get(agentId);
    const { store, clock, nodeId, tracer, askPersona, turnTimeoutMs } = this.#options;
    const joining = (await store.read((tx) => tx.getAgent({ id: agentId }))) as AgentRow;
    const persona = await askPersona(joining, { timeoutMs: turnTimeoutMs });
    const { run, agent } = await store.write(async (tx) => {
      const agent = (await tx.getAgent({ id: agentId })) as AgentRow;
      if (agent.terminated_at !== null) throw new SubstratError('terminated', `${agent.handle} is terminated.`);
      const run = await tx.insertOpenRun({ agentId, treeId: agent.tree_id, nodeId, now: clock() });
      await tx.appendEvent({ type: 'run_started', at: clock(), agentId, data: { runId: run.id, agentId, attempt: 1 } });
      return { run, agent };
    });
    const spans = tracer && new RunSpans(startRunSpan(tracer, run, agent, { parent: null }));
    const attempt = createAttempt(run, agent, { spans });
    takePersona(attempt, agent, persona);
    return attempt;
  }
}
