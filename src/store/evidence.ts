import type { Evidence, Finding } from '../core/evidence.ts';
import type { AgentId, NodeId, RunId } from '../core/ids.ts';
import type { Queries } from './query.ts';

/** What agents claim about their work. */
export interface EvidenceQueries {
  insertEvidence(evidence: Evidence): Promise<void>;
  /** In the order of the messages given, then as the agent gave them. */
  listEvidence(p: { messageIds: readonly string[] }): Promise<Evidence[]>;
  listEvidenceOfRun(p: { runId: RunId }): Promise<Evidence[]>;
  /** Claimed since a time, newest first, with the agent's handle. */
  listEvidenceSince(p: { since: number; limit: number }): Promise<(Evidence & { readonly handle: string })[]>;
  /** Of an agent, oldest first. */
  listUnchecked(p: { agentId: AgentId }): Promise<Evidence[]>;
  /** Agents of a node with evidence that was not checked. */
  listUncheckedAgents(p: { nodeId: NodeId }): Promise<{ agentId: AgentId }[]>;
  /** False if it was checked already, or is gone. */
  trySetFinding(p: Pick<Evidence, 'messageId' | 'position'> & Finding & { readonly at: number }): Promise<boolean>;
}

export function evidenceQueries({ db, all, put, attempt, fetch }: Queries): EvidenceQueries {
  const evidence = () => db.selectFrom('evidence').selectAll('evidence');
  return {
    insertEvidence: put((p: Evidence) =>
      db.insertInto('evidence').values({
        messageId: p.messageId,
        position: p.position,
        agentId: p.agentId,
        runId: p.runId,
        kind: p.kind,
        subject: p.subject,
        expected: p.expected,
        state: p.state,
        detail: p.detail,
        tree: p.tree,
        createdAt: p.createdAt,
        checkedAt: p.checkedAt,
      }),
    ),
    listEvidence: async ({ messageIds }) =>
      messageIds.length === 0
        ? []
        : fetch(
            evidence()
              .where('messageId', 'in', [...messageIds])
              .orderBy('messageId')
              .orderBy('position'),
          ),
    listEvidenceOfRun: all((p: { runId: RunId }) =>
      evidence().where('runId', '=', p.runId).orderBy('createdAt').orderBy('messageId').orderBy('position'),
    ),
    listEvidenceSince: all((p: { since: number; limit: number }) =>
      evidence()
        .innerJoin('agents', 'agents.id', 'evidence.agentId')
        .select('agents.handle')
        .where('evidence.createdAt', '>=', p.since)
        .orderBy('evidence.createdAt', 'desc')
        .orderBy('evidence.messageId')
        .orderBy('evidence.position')
        .limit(p.limit),
    ),
    listUnchecked: all((p: { agentId: AgentId }) =>
      evidence()
        .where('agentId', '=', p.agentId)
        .where('checkedAt', 'is', null)
        .orderBy('createdAt')
        .orderBy('messageId')
        .orderBy('position'),
    ),
    listUncheckedAgents: all((p: { nodeId: NodeId }) =>
      db
        .selectFrom('evidence')
        .innerJoin('agents', 'agents.id', 'evidence.agentId')
        .select('evidence.agentId')
        .distinct()
        .where('evidence.checkedAt', 'is', null)
        .where('agents.nodeId', '=', p.nodeId),
    ),
    trySetFinding: attempt((p: Pick<Evidence, 'messageId' | 'position'> & Finding & { readonly at: number }) =>
      db
        .updateTable('evidence')
        .set({ state: p.state, detail: p.detail, tree: p.tree, checkedAt: p.at })
        .where('messageId', '=', p.messageId)
        .where('position', '=', p.position)
        .where('checkedAt', 'is', null),
    ),
  };
}
