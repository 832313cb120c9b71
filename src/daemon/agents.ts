import { existsSync } from 'node:fs';
import { SubstratError } from '../core/errors.ts';
import { newId } from '../core/id.ts';
import type { AgentWish, WriteOnce } from '../http/api.ts';
import { resolveReference } from '../messaging/reference.ts';
import { createAgent } from '../messaging/tree.ts';
import type { AgentView } from '../store/store.ts';
import { checkScope } from '../tools/catalog.ts';
import { makeWorkspace } from '../workspaces/directories.ts';
import type { Daemon } from './daemon.ts';
import { EXTERNAL } from './providers.ts';

/** Makes an agent for a person: what is not said comes from the parent, then from the configuration. */
export async function addAgent(daemon: Daemon, wish: AgentWish, write: WriteOnce): Promise<AgentView> {
  const { config, home, clock } = daemon;
  if (wish.tools) checkScope(wish.tools);
  const undo = wish.workspace === null ? async () => {} : await makeWorkspace(wish.workspace);
  const made = write(async (tx) => {
    const parent = wish.parent === null ? null : await resolveReference(tx, wish.parent);
    if (parent && parent.terminated_at !== null) {
      throw new SubstratError('terminated', `${parent.handle} is terminated; it cannot have children.`);
    }
    const id = newId();
    // Whoever names a program wants it to run, whatever runs the parent.
    const said = wish.provider ?? (wish.program === null ? null : 'scripted');
    const provider = said ?? parent?.provider ?? config.daemon.defaultProvider;
    const program = wish.program ?? parent?.program ?? null;
    checkProvider(daemon, provider, program);
    await createAgent(
      tx,
      config.limits,
      {
        id,
        name: wish.name,
        parent,
        role: wish.role ?? 'worker',
        instructions: wish.instructions,
        provider: provider as string,
        model: wish.model ?? parent?.model ?? null,
        program,
        workspace: wish.workspace ?? parent?.workspace ?? home.workspace(id),
        tools: wish.tools,
        nodeId: home.nodeId,
        spawnedBy: null,
      },
      clock(),
    );
    return (await tx.getAgentView({ id })) as AgentView;
  });
  const { value: agent, fresh } = await made.catch(async (error) => {
    await undo();
    throw error;
  });
  if (fresh) await daemon.prepareAgent(agent);
  return agent;
}

function checkProvider(daemon: Daemon, provider: string | null, program: string | null): void {
  if (provider === null) {
    throw new SubstratError(
      'bad_request',
      'Say what runs the agent: a provider (scripted, external) or a program. [daemon] default_provider can say it for all.',
    );
  }
  if (provider === EXTERNAL) return;
  if (provider !== 'scripted') {
    throw new SubstratError('unsupported', `There is no provider "${provider}"; there are scripted and external.`);
  }
  const command = program ?? daemon.config.providers.scripted?.command ?? null;
  if (command === null) {
    throw new SubstratError('bad_request', 'A scripted agent is a program: name it with --program FILE.');
  }
  if (program !== null && !existsSync(program)) {
    throw new SubstratError('bad_request', `There is no program ${program}.`);
  }
}
