import type { WorkspaceRules } from '../workspaces/access.ts';
import type { Node, Stored } from './node.ts';
import { tidyWorktree } from './workspaces.ts';

interface TidyingParts extends Pick<Node, 'store' | 'clock' | 'log'> {
  readonly stored: Stored;
  readonly workspaces: WorkspaceRules;
  /** Resolves when nothing of the agent's turns is under way. */
  readonly settled: (agentId: string) => Promise<void>;
}

/** Removes the worktrees of agents that may have ended, each when its agent's last turn is over. */
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

  /** Resolves when nothing is being tidied. */
  async close(): Promise<void> {
    await Promise.all(this.#works);
  }
}
