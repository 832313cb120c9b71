import type { Turn } from './provider.ts';

/** What a program is started with. */
export type Variables = Readonly<Record<string, string>>;

const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ'];

/**
 * What every program of a turn finds in its environment, and never more of the daemon's: keys and tokens are there.
 * By the run's id a starting daemon knows the processes that a dead one left behind.
 */
export function turnEnvironment(turn: Turn, daemon: Variables, configured: Variables = {}): Variables {
  return {
    ...Object.fromEntries(Object.entries(daemon).filter(([name]) => inherited.includes(name))),
    ...configured,
    SUBSTRAT_RUN_ID: turn.runId,
    SUBSTRAT_AGENT_ID: turn.agentId,
  };
}
