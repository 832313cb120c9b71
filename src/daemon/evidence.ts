import { USER_ID } from '../core/agent.ts';
import { checksIn, type Evidence, type Finding } from '../core/evidence.ts';
import type { AgentId } from '../core/ids.ts';
import { cleanText, shorten } from '../core/text.ts';
import type { Watch } from '../sandbox/watch.ts';
import type { Tx } from '../store/store.ts';
import type { WorkspaceRules } from '../workspaces/access.ts';
import type { AgentGit } from '../workspaces/agent-git.ts';
import { checkClaim } from '../workspaces/evidence.ts';
import { filesOf } from '../workspaces/reach.ts';
import type { Node, Stored } from './node.ts';

interface EvidenceParts extends Pick<Node, 'store' | 'clock' | 'config' | 'home' | 'log'> {
  readonly stored: Stored;
  readonly git: AgentGit;
  readonly watch: Watch;
  readonly workspaces: WorkspaceRules;
  /** Resolves when the agent has no turn in progress. */
  readonly settled: (agentId: string) => Promise<void>;
}

/** Checks what agents of this node claim, each after the turn in which it was claimed. */
export class EvidenceChecks {
  readonly #parts: EvidenceParts;
  readonly #works = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(parts: EvidenceParts) {
    this.#parts = parts;
  }

  /** Checks what was left when the last daemon ended. */
  async start(): Promise<void> {
    const { store, home } = this.#parts;
    const left = await store.read((tx) => tx.evidence.listUncheckedAgents({ nodeId: home.nodeId }));
    for (const { agentId } of left) this.begin(agentId);
  }

  begin(agentId: AgentId): void {
    const before = this.#works.get(agentId) ?? Promise.resolve();
    const work = before
      .then(() => this.#parts.settled(agentId))
      .then(() => this.#checkAll(agentId))
      .catch((error) => this.#parts.log.error({ agentId, error: error.message }, 'evidence could not be checked'))
      .finally(() => {
        if (this.#works.get(agentId) === work) this.#works.delete(agentId);
      });
    this.#works.set(agentId, work);
  }

  /** Resolves when everything that the agent has claimed so far was checked. */
  async settled(agentId: string): Promise<void> {
    await this.#works.get(agentId);
  }

  /** What is not checked yet is checked after the next start. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#works.values());
  }

  async #checkAll(agentId: AgentId): Promise<void> {
    const { store } = this.#parts;
    for (const evidence of await store.read((tx) => tx.evidence.listUnchecked({ agentId }))) {
      if (this.#stopping.signal.aborted) return;
      const finding = await this.#check(evidence);
      if (this.#stopping.signal.aborted) return;
      await this.#keep(evidence, finding);
    }
  }

  async #check(evidence: Evidence): Promise<Finding> {
    const { store, home, config, git, watch, workspaces } = this.#parts;
    const agent = await store.read((tx) => tx.agents.getAgent({ id: evidence.agentId }));
    if (!agent) return unchecked('The agent does not exist any more.');
    const [files, isWanted] = await store.read(async (tx) => [
      await filesOf(tx, workspaces, agent),
      evidence.kind === 'command' && (await isNamed(tx, config.daemon.checks, evidence)),
    ]);
    const watched = watch.open([files.root]);
    const signal = AbortSignal.any([this.#stopping.signal, watched.exceeded]);
    const limits = { timeoutMs: config.daemon.turnTimeoutMs, maxBytes: 1024 * 1024, signal, onConfined: watched.add };
    try {
      const place = { ...files, agentDirectory: home.agentDirectory(agent.id) };
      return await checkClaim({ git, place, isWanted, limits }, evidence);
    } catch (error) {
      return unchecked(shorten(cleanText((error as Error).message), 300));
    } finally {
      watched.close();
    }
  }

  async #keep({ messageId, position, agentId, runId, kind, subject }: Evidence, finding: Finding): Promise<void> {
    const { store, clock, stored } = this.#parts;
    await stored(() =>
      store.write(async (tx) => {
        const at = clock();
        if (!(await tx.evidence.trySetFinding({ messageId, position, ...finding, at }))) return;
        const message = await tx.messages.getMessage({ id: messageId });
        if (!message) return;
        const data = { agentId, runId, messageId, kind, subject, state: finding.state, detail: finding.detail };
        await tx.events.appendEvent({ type: 'evidence_checked', at, agentId, channelId: message.channelId, data });
      }),
    );
  }
}

/**
 * Whether the configuration, or the owner's request that the message answers, named the command. Other people cannot: it runs
 * where the agent works, also for agents whose policies deny commands.
 */
async function isNamed(tx: Tx, configured: readonly string[], { messageId, subject }: Evidence): Promise<boolean> {
  if (configured.includes(subject)) return true;
  const reply = await tx.messages.getMessage({ id: messageId });
  const request = reply?.inReplyTo ? await tx.messages.getMessage({ id: reply.inReplyTo }) : null;
  return request?.authorId === USER_ID && checksIn(request.text).includes(subject);
}

function unchecked(detail: string): Finding {
  return { state: 'claimed', detail: `Not checked: ${detail}`, tree: null };
}
