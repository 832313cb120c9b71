import type { WorkspaceRules } from '../workspaces/access.ts';
import type { Node, Stored } from './node.ts';
import { tidyWorktree } from './workspaces.ts';

interface TidyingParts extends Pick<Node, 'store' | 'clock' | 'log'> {
  readonly stored: Stored;
  readonly workspaces: WorkspaceRules;
  /** Resolves when the agent has no turn in progress. */
  readonly settled: (agentId: string) => Promise<void>;
}

/** Removes the worktrees of terminated agents, each after its agent's last turn has ended. */
export class Tidying {
  readonly #parts: TidyingParts;
  readonly #works = new Set<Promise<void>>();

  constructor(parts: TidyingParts) {
    this.#parts = parts;
  }

  begin(agentId: string): void {
    const { settled, log } = this.#parts;
    const work = settled(agentId)
      .then(() => tidyWorktree(this.#parts, agentId))
      .catch((error) => log.error({ error: error.message }, 'a worktree could not be tidied'))
      .finally(() => this.#works.delete(work));
    this.#works.add(work);
  }

  /** Resolves when no removal is in progress. */
  async close(): Promise<void> {
    await Promise.all(this.#works);
  }
}
