import type { Turn } from './provider.ts';

/** The environment of a started program. */
export type Variables = Readonly<Record<string, string>>;

const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TZ'];

/**
 * The environment of every program of a turn. Nothing else of the daemon's environment is passed on, because it
 * contains keys and tokens. By the run's id, a starting daemon recognizes processes that a dead one left behind.
 */
export function turnEnvironment(turn: Turn, daemon: Variables, configured: Variables = {}): Variables {
  return {
    ...Object.fromEntries(Object.entries(daemon).filter(([name]) => inherited.includes(name))),
    ...configured,
    SUBSTRAT_RUN_ID: turn.runId,
    SUBSTRAT_AGENT_ID: turn.agentId,
  };
}
