import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { allPages, createClient, type Workspace } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';

const NOT_IN_FORCE = 'Not enforced: [sandbox] mode is "none". Links, modes and networks are stored but have no effect.';

export function workspaceCommand(context: Context): Command {
  return new Command('workspace')
    .description('Manage the directories agents work in, the links in them, and the hosts they can reach.')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(inspectCommand(context))
    .addCommand(linkCommand(context))
    .addCommand(unlinkCommand(context))
    .addCommand(deleteCommand(context));
}

interface CreateOptions extends GlobalOptions {
  readonly viewOf?: string;
  readonly subdir?: string;
  readonly mode: 'ro' | 'rw';
  readonly network?: string;
}

const modeOption = () => new Option('--mode <mode>', 'read-only or read-write').choices(['ro', 'rw']).default('ro');

function createCommand(context: Context): Command {
  return new Command('create')
    .description('Create a workspace: an existing directory, a view of another workspace, or an empty directory.')
    .argument('<name>', 'letters, digits, "_" and "-"')
    .argument('[directory]', 'existing directory (default: a new empty one in the home)')
    .option('--view-of <workspace>', 'make it a view of another workspace')
    .option('--subdir <path>', 'only this subdirectory of it')
    .addOption(modeOption())
    .option('--network <hosts>', 'allowed hosts, separated by commas; "" for none')
    .addHelpText(
      'after',
      '\nExamples:\n  substrat workspace create site ~/site --network api.example.com\n  substrat workspace create review --view-of site --subdir src',
    )
    .action(async (name: string, directory: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CreateOptions>();
      if (options.subdir !== undefined && options.viewOf === undefined) {
        throw new UsageError('--subdir requires --view-of.');
      }
      const workspace = await createClient({ home: context.home() }).createWorkspace({
        name,
        path: directory === undefined ? null : resolve(directory),
        viewOf: options.viewOf ?? null,
        subdir: options.subdir ?? null,
        mode: options.mode,
        network: options.network === undefined ? null : words(options.network),
      });
      context.print(
        options.json ? JSON.stringify(workspace) : `Created workspace ${workspace.name} at ${workspace.path}.`,
      );
    });
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List workspaces.')
    .addHelpText('after', '\nExample:\n  substrat workspace list')
    .action(async (_: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = createClient({ home: context.home() });
      const items = [];
      for await (const workspace of allPages((query) => client.listWorkspaces(query))) items.push(workspace);
      if (json) return context.print(JSON.stringify({ items, nextCursor: null }));
      if (items.length === 0) return context.print('No workspaces yet. Every new agent gets its own.');
      const rows = items.map((one) => [one.name, one.owner, one.mode, one.agents.join(', '), one.path]);
      for (const line of table(['NAME', 'OWNER', 'MODE', 'AGENTS', 'PATH'], rows)) context.print(line);
    });
}

function inspectCommand(context: Context): Command {
  return new Command('inspect')
    .description('Show a workspace and its links.')
    .argument('<workspace>', 'workspace name or id')
    .addHelpText('after', '\nExample:\n  substrat workspace inspect site')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const workspace = await createClient({ home: context.home() }).getWorkspace(ref);
      if (json) return context.print(JSON.stringify(workspace));
      for (const line of describeWorkspace(workspace)) context.print(line);
    });
}

function linkCommand(context: Context): Command {
  return new Command('link')
    .description('Link a directory into a workspace. Takes effect at the next turn.')
    .argument('<workspace>', 'workspace name or id')
    .argument('<source>', 'directory to link')
    .argument('<target>', 'path in the workspace')
    .addOption(modeOption())
    .addHelpText(
      'after',
      '\nExample:\n  substrat workspace link site ~/docs docs\n  substrat workspace link site ~/data data --mode rw',
    )
    .action(async (ref: string, source: string, target: string, _: unknown, command: Command) => {
      const { json, mode } = command.optsWithGlobals<GlobalOptions & { mode: 'ro' | 'rw' }>();
      const client = createClient({ home: context.home() });
      const link = await client.linkDirectory(ref, { source: resolve(source), target, mode });
      if (json) return context.print(JSON.stringify(link));
      context.print(`${link.target} shows ${link.source} (${link.mode}).`);
      if (!link.inForce) context.print(NOT_IN_FORCE);
    });
}

function unlinkCommand(context: Context): Command {
  return new Command('unlink')
    .description('Remove a link from a workspace. The linked directory is not changed.')
    .argument('<workspace>', 'workspace name or id')
    .argument('<target>', 'path of the link in the workspace')
    .addHelpText('after', '\nExample:\n  substrat workspace unlink site docs')
    .action(async (ref: string, target: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const unlinked = await createClient({ home: context.home() }).unlinkDirectory(ref, target);
      context.print(json ? JSON.stringify(unlinked) : `Removed the link ${target}.`);
    });
}

function deleteCommand(context: Context): Command {
  return new Command('delete')
    .description('Delete an unused workspace. Directories that Substrat created are deleted; your own are kept.')
    .argument('<workspace>', 'workspace name or id')
    .addHelpText('after', '\nExample:\n  substrat workspace delete site')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const deleted = await createClient({ home: context.home() }).deleteWorkspace(ref);
      context.print(json ? JSON.stringify(deleted) : `Deleted ${ref}.`);
    });
}

function describeWorkspace(workspace: Workspace): string[] {
  const { name, owner, path, viewOf, subdir, mode, network, repository, links, agents } = workspace;
  const facts: [string, string][] = [
    ['owner', owner],
    ['path', path],
    ['mode', mode],
    ['view of', viewOf === null ? '' : [viewOf, subdir].filter(Boolean).join('/')],
    ['worktree of', repository ?? ''],
    ['network', network.join(', ') || 'none'],
    ['agents', agents.join(', ')],
  ];
  const rows = links.map((link) => [link.target, link.mode, link.source]);
  return [
    paint('bold', name),
    ...table(
      ['', ''],
      facts.filter(([, fact]) => fact !== ''),
    ).slice(1),
    ...(rows.length > 0 ? table(['LINK', 'MODE', 'SOURCE'], rows) : []),
    ...(workspace.inForce ? [] : [NOT_IN_FORCE]),
  ];
}

function words(list: string): string[] {
  return list
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);
}
