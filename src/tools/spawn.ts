import { mkdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import * as z from 'zod';
import { SubstratError } from '../core/errors.ts';
import { createAgent } from '../messaging/tree.ts';
import type { AgentRow } from '../store/store.ts';
import { defineTool, textField } from './tool.ts';

export const spawnAgent = defineTool({
  name: 'spawn_agent',
  description:
    'Create a subagent, your child. It has no turn until you send it a message; messages sent at once wait until it is ready.',
  input: z.strictObject({
    name: z.string().min(1).describe('Unique among your parent, siblings and children: letters, digits, "_" and "-".'),
    instructions: textField('What the agent is there for.'),
    role: z.enum(['worker', 'reviewer']).default('worker').describe('What it is in the team.'),
    workspace_subdir: z
      .string()
      .nullable()
      .optional()
      .describe('Subdirectory of your workspace for it to work in; without one it shares yours.'),
  }),
  effect: true,
  prepare: async (parent, { workspace_subdir }) => {
    if (workspace_subdir) await makeSubdirectory(parent.workspace, workspace_subdir);
  },
  run: async ({ tx, agent: parent, attempt, settings, now }, input) => {
    const heir = inheritance(parent, settings.defaultProvider);
    const child = await createAgent(
      tx,
      settings.limits,
      {
        name: input.name,
        parent,
        role: input.role,
        instructions: input.instructions,
        ...heir,
        workspace: input.workspace_subdir ? join(parent.workspace, input.workspace_subdir) : parent.workspace,
        tools: null,
        nodeId: parent.node_id,
        // An external agent's run is open-ended and never tried again: its children need not wait for its end.
        spawnedBy: attempt.external ? null : attempt.runId,
      },
      now,
    );
    return { result: { status: 'created', agent_id: child.id, name: child.name }, created: child };
  },
});

/** Provider, model and program are the parent's; what nobody here can run, the default provider does. */
function inheritance(parent: AgentRow, defaultProvider: string | null) {
  if (parent.provider === 'external' && defaultProvider !== null) {
    return { provider: defaultProvider, model: null, program: parent.program };
  }
  return { provider: parent.provider, model: parent.model, program: parent.program };
}

/** Inside the parent's workspace by its name, and still inside when every symbolic link is followed. */
async function makeSubdirectory(workspace: string, subdir: string): Promise<void> {
  const refuse = () => {
    throw new SubstratError('forbidden', 'workspace_subdir must be a directory inside your own workspace.');
  };
  if (subdir.includes('\0') || isAbsolute(subdir) || !isInside(workspace, join(workspace, subdir))) refuse();
  const root = await realpath(workspace);
  let current = root;
  for (const part of relative(workspace, join(workspace, subdir)).split(sep).filter(Boolean)) {
    const next = join(current, part);
    await mkdir(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST')
        throw new SubstratError('bad_request', `workspace_subdir cannot be made: ${error.code}.`);
    });
    current = await realpath(next);
    if (!isInside(root, current)) refuse();
  }
}

function isInside(parent: string, child: string): boolean {
  const path = relative(parent, child);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}
