import { createHash } from 'node:crypto';
import type { Agent } from '../core/agent.ts';
import type { AgentId } from '../core/ids.ts';
import type { Store } from '../store/store.ts';
import type { Correspondence } from './endings.ts';
import type { Started } from './start.ts';

/** After so many turns with the same message and the same answer, the person gets a message. */
const ECHOES = 10;

export interface EchoOptions {
  readonly store: Store;
  readonly clock: () => number;
  readonly correspondence: Pick<Correspondence, 'tellPerson'>;
}

/**
 * Recognizes agents that echo each other: an agent gets the same message from another one again and again and always
 * gives the same answer. The person gets one message; nothing is ended. What was seen is forgotten at a restart.
 */
export class EchoWatch {
  readonly #options: EchoOptions;
  readonly #last = new Map<string, { readonly key: string; times: number }>();

  constructor(options: EchoOptions) {
    this.#options = options;
  }

  /** Called after each completed turn. */
  async completed({ agent, run, messages }: Started, finalText: string): Promise<void> {
    const said = messages.map(({ from, text, kind }) => [from, text, kind]);
    const key = createHash('sha256')
      .update(JSON.stringify([said, finalText]))
      .digest('base64url');
    const last = this.#last.get(agent.id);
    const times = last?.key === key ? last.times + 1 : 1;
    this.#last.set(agent.id, { key, times });
    if (times === ECHOES) await this.#tell(agent, run.id);
  }

  async #tell(agent: Agent, runId: string): Promise<void> {
    const { store, clock, correspondence } = this.#options;
    await store.write(async (tx) => {
      const { triggerId = null } = (await tx.runs.getRun({ id: runId })) ?? {};
      const trigger = triggerId === null ? null : await tx.messages.getMessage({ id: triggerId });
      const author = trigger && (await tx.agents.getAgent({ id: trigger.authorId as AgentId }));
      // A person or a reminder may ask the same as often as they like.
      if (!author) return;
      const text = [
        `${agent.handle} and ${author.handle} seem to echo each other: the last ${ECHOES} turns of ${agent.handle} had the same message from ${author.handle} and the same answer. They continue; nothing was ended.`,
        `\`substrat agent inspect ${agent.handle}\` shows what they say, \`substrat agent pause ${agent.handle}\` stops it.`,
      ];
      await correspondence.tellPerson(tx, agent, text.join('\n'), clock());
    });
  }
}
