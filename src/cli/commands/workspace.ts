import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { allPages, createClient, type Workspace } from '../../client/client.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';

const NOT_IN_FORCE = 'Not in force: [sandbox] mode is "none", so links, modes and networks are only remembered.';

export function workspaceCommand(context: Context): Command {
  return new Command('workspace')
    .description('The directories that agents work in, what is linked into them, and the hosts that they reach.')
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
    .description('Make a workspace: a directory of yours, a part of another workspace, or an empty one.')
    .argument('<name>', 'letters, digits, "_" and "-"')
    .argument('[directory]', 'a directory that is there; an empty one in the home when not given')
    .option('--view-of <workspace>', 'show another workspace')
    .option('--subdir <path>', 'only this part of it')
    .addOption(modeOption())
    .option('--network <hosts>', 'hosts that may be reached, separated by commas; "" for none')
    .addHelpText(
      'after',
      '\nExamples:\n  substrat workspace create site ~/site --network api.example.com\n  substrat workspace create review --view-of site --subdir src',
    )
    .action(async (name: string, directory: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CreateOptions>();
      if (options.subdir !== undefined && options.viewOf === undefined) {
        throw new UsageError('--subdir is a part of another workspace: give --view-of, too.');
      }
      const workspace = await createClient({ home: context.home() }).createWorkspace({
        name,
        path: directory === undefined ? null : resolve(directory),
        viewOf: options.viewOf ?? null,
        subdir: options.subdir ?? null,
        mode: options.mode,
        network: options.network === undefined ? null : words(options.network),
      });
      context.print(options.json ? JSON.stringify(workspace) : `${workspace.name} is at ${workspace.path}.`);
    });
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('Show the workspaces.')
    .addHelpText('after', '\nExample:\n  substrat workspace list')
    .action(async (_: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = createClient({ home: context.home() });
      const items = [];
      for await (const workspace of allPages((query) => client.listWorkspaces(query))) items.push(workspace);
      if (json) return context.print(JSON.stringify({ items, nextCursor: null }));
      if (items.length === 0) return context.print('There are no workspaces yet; every new agent brings its own.');
      const rows = items.map((one) => [one.name, one.owner, one.mode, one.agents.join(', '), one.path]);
      for (const line of table(['NAME', 'OWNER', 'MODE', 'AGENTS', 'PATH'], rows)) context.print(line);
    });
}

function inspectCommand(context: Context): Command {
  return new Command('inspect')
    .description('Show one workspace with its links.')
    .argument('<workspace>', 'its name or id')
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
    .description('Show a directory inside a workspace, from the next turn on.')
    .argument('<workspace>', 'its name or id')
    .argument('<source>', 'the directory')
    .argument('<target>', 'where in the workspace it appears')
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
    .description('Take a link out of a workspace. What it led to stays as it is.')
    .argument('<workspace>', 'its name or id')
    .argument('<target>', 'where in the workspace it is')
    .addHelpText('after', '\nExample:\n  substrat workspace unlink site docs')
    .action(async (ref: string, target: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const unlinked = await createClient({ home: context.home() }).unlinkDirectory(ref, target);
      context.print(json ? JSON.stringify(unlinked) : `${target} is not linked any more.`);
    });
}

function deleteCommand(context: Context): Command {
  return new Command('delete')
    .description('Delete a workspace that nobody uses. Directories of yours stay; those that Substrat made go with it.')
    .argument('<workspace>', 'its name or id')
    .addHelpText('after', '\nExample:\n  substrat workspace delete site')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const deleted = await createClient({ home: context.home() }).deleteWorkspace(ref);
      context.print(json ? JSON.stringify(deleted) : `${ref} is deleted.`);
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
