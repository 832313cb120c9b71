import { SubstratError } from './errors.ts';
import { shorten } from './text.ts';

export type AgentState = 'idle' | 'busy' | 'waiting' | 'terminated';

/** How agents write to the owner. */
export const USER = 'USER';
export const USER_ID = 'user';
export const SYSTEM_ID = 'system';

export const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const RESERVED = new Set(['user', 'system', 'substrat']);

/**
 * terminated: it ended; nothing of it runs again.
 * busy: a run of it is running.
 * waiting: it asked and not all answers are there. While it waits for an agent, news does not wake it.
 * idle: none of these.
 */
export function agentState(agent: { terminated_at: number | null; running: number; asking: number }): AgentState {
  if (agent.terminated_at !== null) return 'terminated';
  if (agent.running > 0) return 'busy';
  return agent.asking > 0 ? 'waiting' : 'idle';
}

export function checkName(name: string): void {
  if (!NAME.test(name)) {
    throw new SubstratError(
      'bad_request',
      `"${shorten(name)}" cannot be a name: 1 to 64 letters, digits, "_" or "-", the first a letter or a digit.`,
    );
  }
  if (RESERVED.has(name.toLowerCase())) {
    throw new SubstratError('bad_request', `"${name}" is reserved; choose another name.`);
  }
}

/** Names and handles are compared without case. */
export function keyOf(name: string): string {
  return name.toLowerCase();
}
