import { isAbsolute } from 'node:path';
import { z } from '@hono/zod-openapi';
import { asLine } from '../core/line.ts';
import { label, path, time, uuid } from './fields.ts';

const mode = z.enum(['ro', 'rw']);
const inForce = z.boolean().openapi({
  description:
    'Whether a sandbox enforces it. With `[sandbox] mode = "none"`, links, modes and networks are stored but have no effect.',
});
const host = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[^\s/@]+$/, 'must be a host such as api.example.com')
  .superRefine(asLine);

export const Link = z.strictObject({ target: z.string(), source: z.string(), mode, inForce }).openapi('Link');

export const LinkCreation = z
  .strictObject({
    source: path.refine(isAbsolute, 'must be an absolute path').openapi({ example: '/srv/docs' }),
    target: path.superRefine(asLine).openapi({ example: 'docs', description: 'Path inside the workspace.' }),
    mode: mode.default('ro'),
  })
  .openapi('LinkCreation');

export const Workspace = z
  .strictObject({
    id: uuid,
    name: z.string(),
    owner: z.string().openapi({ description: 'Handle of the participant that may change it.' }),
    path: z.string(),
    viewOf: z.string().nullable().openapi({ description: 'For a view, the workspace it shows.' }),
    subdir: z.string().nullable(),
    mode,
    network: z.array(z.string()).openapi({ description: 'Hosts its agents may reach.' }),
    repository: z.string().nullable().openapi({ description: 'For a git worktree, the path of its repository.' }),
    links: z.array(Link),
    agents: z.array(z.string()).openapi({ description: 'Handles of the active agents that use it.' }),
    inForce,
    createdAt: time,
  })
  .openapi('Workspace');

export const WorkspaceCreation = z
  .strictObject({
    name: z.string().max(200).openapi({ example: 'site' }),
    path: path
      .refine(isAbsolute, 'must be an absolute path')
      .nullable()
      .default(null)
      .openapi({ description: 'An existing directory. Default: a new one.' }),
    viewOf: label.nullable().default(null),
    subdir: path.nullable().default(null),
    mode: mode.default('ro').openapi({ description: 'Mode of a view; other workspaces are always read-write.' }),
    network: z.array(host).max(100).nullable().default(null).openapi({
      description: "Hosts its agents may reach. Default: the configuration's.",
    }),
  })
  .openapi('WorkspaceCreation');
