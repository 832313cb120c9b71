import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import { NAME } from '../core/agent.ts';
import { checkLine } from '../core/line.ts';

import type { Caller } from '../workspaces/access.ts';
import { checkWorkspace, createWorkspace } from '../workspaces/create.ts';
import { addLink, checkLink, removeLink } from '../workspaces/links.ts';
import { checkRemoval, deleteWorkspace } from '../workspaces/remove.ts';
import { defineTool, referenceField } from './tool.ts';

const mode = z.enum(['ro', 'rw']).default('ro');
const workspace = referenceField('Name of a workspace of yours.').max(200);
const path = (description: string) => referenceField(description).max(4096);
const target = path('Where in the workspace it appears: a relative path without "..".');

export const createWorkspaceTool = defineTool({
  name: 'create_workspace',
  description:
    'Create a workspace of your own: an empty directory, or a view of a workspace that you have. Link it into yours to use it.',
  input: z.strictObject({
    name: z
      .string()
      .regex(NAME, 'must have 1 to 64 letters, digits, "_" or "-", the first a letter or a digit')
      .describe('Unique among all workspaces: letters, digits, "_" and "-".'),
    view_of: workspace.nullable().optional().describe('Name of the workspace to show; without one it is empty.'),
    subdir: z.string().max(500).nullable().optional().describe('The part of that workspace to show.'),
    mode: mode.describe('For a view: read-only, or read-write where you have it so.'),
  }),
  effect: true,
  prepare: async ({ agent, store, settings }, input) => {
    await store.read((tx) => checkWorkspace(tx, settings.workspaces, callerOf(agent), wishOf(input)));
  },
  run: async ({ tx, agent, settings, now }, input) => {
    const made = await createWorkspace(tx, settings.workspaces, callerOf(agent), wishOf(input), now);
    return { result: { status: 'created', name: made.name }, workspace: made };
  },
});

export const linkDir = defineTool({
  name: 'link_dir',
  description:
    'Show a directory inside a workspace of yours, from your next turn on. It must lie in a directory that the configuration opens to agents, or in a workspace of yours.',
  input: z.strictObject({
    workspace,
    source: path('The directory: an absolute path, or one relative to your own workspace.'),
    target,
    mode: mode.describe('Read-only, or read-write where you have it so.'),
  }),
  effect: true,
  prepare: async ({ agent, store, settings }, input) => {
    checkLine('The target', input.target);
    await store.read((tx) => checkLink(tx, settings.workspaces, callerOf(agent), input));
  },
  run: async ({ tx, agent, settings, now }, input) => {
    await addLink(tx, settings.workspaces, callerOf(agent), input, now);
    return { result: { status: 'linked' } };
  },
});

export const unlinkDir = defineTool({
  name: 'unlink_dir',
  description: 'Take a link out of a workspace of yours, from your next turn on. What it led to stays as it is.',
  input: z.strictObject({ workspace, target }),
  effect: true,
  run: async ({ tx, agent }, input) => {
    await removeLink(tx, callerOf(agent), input);
    return { result: { status: 'unlinked' } };
  },
});

export const listWorkspaces = defineTool({
  name: 'list_workspaces',
  description: 'List the workspaces that you own, which you may change, and the one that you work in.',
  input: z.strictObject({}),
  effect: false,
  run: async ({ tx, agent }) => {
    const own = await tx.workspaces.listWorkspacesOf({ ownerId: agent.id });
    const current = agent.workspaceId === null ? null : await tx.workspaces.getWorkspace({ id: agent.workspaceId });
    const shared = current && current.ownerId !== agent.id ? [current] : [];
    const workspaces = [...shared, ...own].map(({ name, owner, ownerId }) => {
      return { name, owner, mutable: ownerId === agent.id };
    });
    return { result: { workspaces } };
  },
});

export const deleteWorkspaceTool = defineTool({
  name: 'delete_workspace',
  description: 'Delete a workspace of yours that nobody works in or links to, with everything in its own directory.',
  input: z.strictObject({ name: workspace }),
  effect: true,
  prepare: async ({ agent, store }, { name }) => {
    await checkRemoval(store, callerOf(agent), name);
  },
  run: async ({ tx, agent, settings, now }, { name }) => {
    const deleted = await deleteWorkspace(tx, settings.workspaces, callerOf(agent), name, now);
    return { result: { status: 'deleted' }, workspace: deleted };
  },
});

function callerOf(agent: Agent): Caller {
  return { id: agent.id, agent };
}

function wishOf(input: {
  readonly name: string;
  readonly view_of?: string | null | undefined;
  readonly subdir?: string | null | undefined;
  readonly mode: 'ro' | 'rw';
}) {
  const { name, view_of, subdir, mode: wanted } = input;
  return { name, path: null, viewOf: view_of || null, subdir: subdir || null, mode: wanted, network: null };
}
