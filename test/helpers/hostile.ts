import { join } from 'node:path';
import { type DaemonSetup, startDaemon, type TestDaemon } from './daemon.ts';

export const hostile = join(import.meta.dirname, '../fixtures/hostile.ts');

export interface HostileDaemon extends AsyncDisposable {
  readonly running: TestDaemon;
  readonly workspace: string;
  readonly agentId: string;
  /** Runs the body in a turn of the agent, inside its sandbox; returns its result, or the code of its error. */
  attempt(body: string, agent?: string): Promise<unknown>;
}

/** A real daemon with bwrap and one agent, `hostile`, that does what it is told. */
export async function startHostile(setup: DaemonSetup = {}): Promise<HostileDaemon> {
  const running = await startDaemon({ ...setup, sandbox: 'bwrap' });
  const { id, workspace } = await running.client.createAgent({ name: 'hostile', program: hostile });
  return {
    running,
    workspace,
    agentId: id,
    attempt: async (body, agent = 'hostile') => {
      const { messageId } = await running.client.sendMessage(agent, { text: body });
      const reply = await running.client.awaitReply(messageId, 25);
      if (reply?.kind !== 'reply') return { failed: reply?.text };
      try {
        return JSON.parse(reply.text);
      } catch {
        return reply.text;
      }
    },
    [Symbol.asyncDispose]: () => running.stop(),
  };
}
