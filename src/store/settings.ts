import { keyOf } from '../core/agent.ts';
import type { AgentId, ParticipantId } from '../core/ids.ts';
import type { Settings, SettingsRevision } from '../core/settings.ts';
import type { Queries } from './query.ts';
import type { RevisionView } from './views.ts';

/** Settings of agents, their history, and former names. */
export interface AgentSettings {
  /** Changes the agent from this revision to the next. */
  changeSettings(p: { id: AgentId; revision: number; settings: Settings }): Promise<void>;
  insertRevision(revision: SettingsRevision): Promise<void>;
  /** Newest first. An agent that was never changed has none. */
  listRevisions(p: { agentId: AgentId; before: number; limit: number }): Promise<RevisionView[]>;
  /** The name leads to the agent until it is terminated. */
  keepName(p: { agentId: AgentId; nameKey: string }): Promise<void>;
  listFormerNames(p: { agentId: AgentId }): Promise<{ readonly nameKey: string }[]>;
}

export function settingsQueries({ db, all, put, change }: Queries): AgentSettings {
  const update = change('agent', (p: Settings & { id: AgentId; revision: number; nameKey: string }) =>
    db
      .updateTable('agents')
      .set((eb) => ({
        name: p.name,
        nameKey: p.nameKey,
        role: p.role,
        instructions: p.instructions,
        provider: p.provider,
        model: p.model,
        program: p.program,
        maySpawn: p.maySpawn,
        fallback: p.fallback,
        workspace: p.workspace,
        workspaceId: p.workspaceId,
        tools: p.tools,
        persona: p.persona,
        personaArgs: p.personaArgs,
        revision: eb('revision', '+', 1),
      }))
      .where('id', '=', p.id)
      .where('revision', '=', p.revision),
  );
  return {
    changeSettings: ({ id, revision, settings }) =>
      update({ ...settings, nameKey: keyOf(settings.name), id, revision }),
    insertRevision: put(
      (p: { agentId: AgentId; revision: number; settings: Settings; changedBy: ParticipantId | null; at: number }) =>
        db.insertInto('agent_settings').values({
          agentId: p.agentId,
          revision: p.revision,
          settings: p.settings,
          changedBy: p.changedBy,
          at: p.at,
        }),
    ),
    listRevisions: all((p: { agentId: AgentId; before: number; limit: number }) =>
      db
        .selectFrom('agent_settings')
        .leftJoin('participants', 'participants.id', 'agent_settings.changedBy')
        .selectAll('agent_settings')
        .select('participants.handle as by')
        .where('agentId', '=', p.agentId)
        .where('revision', '<', p.before)
        .orderBy('revision', 'desc')
        .limit(p.limit),
    ),
    keepName: put((p: { agentId: AgentId; nameKey: string }) =>
      db
        .insertInto('former_names')
        .values({ agentId: p.agentId, nameKey: p.nameKey })
        .onConflict((conflict) => conflict.columns(['agentId', 'nameKey']).doNothing()),
    ),
    listFormerNames: all((p: { agentId: AgentId }) =>
      db.selectFrom('former_names').select('nameKey').where('agentId', '=', p.agentId).orderBy('nameKey'),
    ),
  };
}
