import type { Agent } from './agent.ts';
import type { AgentId, ParticipantId } from './ids.ts';

/** What people can change about an agent. A turn uses the settings that it began with. */
export const SETTINGS = [
  'name',
  'role',
  'instructions',
  'provider',
  'model',
  'program',
  'maySpawn',
  'fallback',
  'workspace',
  'workspaceId',
  'tools',
  'persona',
  'personaArgs',
] as const satisfies readonly (keyof Agent)[];

export type Setting = (typeof SETTINGS)[number];
export type Settings = Pick<Agent, Setting>;

/** The settings from one change to the next. */
export interface SettingsRevision {
  readonly agentId: AgentId;
  /** Counts from 1, the settings that the agent was created with. */
  readonly revision: number;
  readonly settings: Settings;
  /** Null for the first revision. */
  readonly changedBy: ParticipantId | null;
  readonly at: number;
}

export function settingsOf(agent: Settings): Settings {
  return Object.fromEntries(SETTINGS.map((name) => [name, agent[name]])) as unknown as Settings;
}

/** The settings that differ, in the order of `SETTINGS`. */
export function changedSettings(before: Settings, after: Settings): Setting[] {
  return SETTINGS.filter((name) => JSON.stringify(sorted(before[name])) !== JSON.stringify(sorted(after[name])));
}

/** The order of tools and of arguments has no meaning. */
function sorted(value: Settings[Setting]): unknown {
  if (Array.isArray(value)) return [...value].sort();
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
