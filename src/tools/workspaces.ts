import * as z from 'zod';
import type { Agent } from '../core/agent.ts';
import { NAME } from '../core/agent.ts';
import { checkLine } from '../core/line.ts';

import type { Caller } from '../workspaces/access.ts';
import { checkWorkspace, createWorkspace } from '../workspaces/create.ts';
import { addLink, checkLink, removeLink } from '../workspaces/links.ts';
import { checkRemoval, deleteWorkspace } from '../workspaces/remove.ts';
import { directory, inside, name, referring, workspace } from './references.ts';
import { defineTool, referenceField } from './tool.ts';

const mode = z.enum(['ro', 'rw']).default('ro');
const workspaceField = referenceField('Name of one of your workspaces.').max(200);
const path = (description: string) => referenceField(description).max(4096);
const target = path('Path in the workspace: relative, without "..".');

export const createWorkspaceTool = defineTool({
  name: 'create_workspace',
  description:
    'Create a workspace that you own: an empty directory, or a view of one of your workspaces. Link it into the workspace you work in to use it.',
  input: z.strictObject({
    name: z
      .string()
      .regex(NAME, 'must have 1 to 64 letters, digits, "_" or "-", the first a letter or a digit')
      .describe('Name, unique among all workspaces: letters, digits, "_" and "-".'),
    view_of: workspaceField
      .nullable()
      .optional()
      .describe('Name of the workspace to view. Default: none; the new workspace is empty.'),
    subdir: z.string().max(500).nullable().optional().describe('Subdirectory of that workspace to view.'),
    mode: mode.describe('For a view: read-only, or read-write if you have read-write access.'),
  }),
  refers: referring({ name, view_of: workspace, subdir: inside }),
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
    'Link a directory into one of your workspaces. Takes effect at your next turn. The directory must be inside one of the configured [sandbox] roots or one of your workspaces.',
  input: z.strictObject({
    workspace: workspaceField,
    source: path('The directory: an absolute path, or a path relative to your workspace.'),
    target,
    mode: mode.describe('Read-only, or read-write if you have read-write access.'),
  }),
  refers: referring({ workspace, source: directory, target: inside }),
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
  description:
    'Remove a link from one of your workspaces. Takes effect at your next turn. The linked directory is not changed.',
  input: z.strictObject({ workspace: workspaceField, target }),
  refers: referring({ workspace, target: inside }),
  effect: true,
  run: async ({ tx, agent }, input) => {
    await removeLink(tx, callerOf(agent), input);
    return { result: { status: 'unlinked' } };
  },
});

export const listWorkspaces = defineTool({
  name: 'list_workspaces',
  description: 'List the workspaces you own, which you may change, and the one you work in.',
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
  description: 'Delete one of your workspaces and everything in its directory. No agent may work in it or link to it.',
  input: z.strictObject({ name: workspaceField }),
  refers: referring({ name: workspace }),
  effect: true,
  annotations: { destructiveHint: true },
  prepare: async ({ agent, store, settings }, { name }) => {
    await checkRemoval(store, settings.workspaces, callerOf(agent), name);
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
