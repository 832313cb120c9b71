import { Command } from 'commander';
import { type Context, isJson } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import { makeHome } from '../../config/home.ts';
import { SubstratError } from '../../core/errors.ts';
import { openReader } from '../open-reader.ts';
import { addExtension, addRegistry, overrideExtension } from '../registry/add.ts';
import { extensionsOf, idOf } from '../registry/extensions.ts';
import { cloneOf, fetchRegistry, readPin, writePin } from '../registry/pins.ts';
import { findExtension, type OpenedRegistry, openRegistries } from '../registry/registries.ts';
import { commitTree } from '../registry/tree.ts';
import { updateRegistry } from '../registry/update.ts';

const COMMUNITY = { name: 'community', url: 'https://github.com/parallax-labs/ctx-registry.git' };
const SHORT = 12;

export function registryCommand(context: Context): Command {
  return new Command('registry')
    .description('Use scripts of others: git repositories and directories of connectors, tools and personas.')
    .addCommand(listCommand(context))
    .addCommand(installCommand(context))
    .addCommand(updateCommand(context))
    .addCommand(searchCommand(context))
    .addCommand(infoCommand(context))
    .addCommand(addCommand(context))
    .addCommand(overrideCommand(context))
    .addCommand(initCommand(context));
}

function open(context: Context, command: Command) {
  const reader = openReader(context, command);
  const config = reader.load();
  return { reader, config, home: context.home() };
}

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List the registries of the configuration and what they offer.')
    .addHelpText('after', '\nExample:\n  ctx registry list')
    .action(async (_: unknown, command: Command) => {
      const { config, home } = open(context, command);
      const registries = await openRegistries(config, home);
      if (isJson(command)) return context.print(JSON.stringify({ registries: registries.map(shown) }));
      if (registries.length === 0)
        return context.print('No registries. Add [registries.NAME] with `url` or `path` to the configuration.');
      const rows = registries.map((one) => [one.name, one.from, stateOf(one), String(one.extensions.length)]);
      for (const line of table(['NAME', 'FROM', 'COMMIT', 'SCRIPTS'], rows)) context.print(line);
      printExtensions(context, registries, () => true);
    });
}

function searchCommand(context: Context): Command {
  return new Command('search')
    .description('Search the scripts of the registries by name, description and tag.')
    .argument('<query>')
    .addHelpText('after', '\nExample:\n  ctx registry search jira')
    .action(async (query: string, _: unknown, command: Command) => {
      const { config, home } = open(context, command);
      const registries = await openRegistries(config, home);
      const wanted = query.toLowerCase();
      const fits = (texts: readonly string[]) => texts.some((text) => text.toLowerCase().includes(wanted));
      const isMeant: Filter = (one) => fits([one.name, one.description, ...one.tags]);
      if (isJson(command)) {
        const found = registries.flatMap(
          (one) => shown({ ...one, extensions: one.extensions.filter(isMeant) }).scripts,
        );
        return context.print(JSON.stringify({ scripts: found }));
      }
      if (printExtensions(context, registries, isMeant) === 0) context.print(`No script matches "${query}".`);
    });
}

function infoCommand(context: Context): Command {
  return new Command('info')
    .description('Show a script of a registry: its description, settings, README and source.')
    .argument('<script>', 'such as tools/summarize, or REGISTRY/tools/summarize')
    .addHelpText('after', '\nExample:\n  ctx registry info connectors/jira')
    .action(async (wanted: string, _: unknown, command: Command) => {
      const { config, home } = open(context, command);
      const { registry, tree, extension } = findExtension(await openRegistries(config, home), wanted);
      const source = await tree.read(extension.path);
      const near = extension.path.replace(/[^/]+$/, 'README.md');
      const readme = /\/.+\//.test(near) && (await tree.list()).includes(near) ? await tree.read(near) : null;
      const { required, tags, description } = extension;
      const about = { script: idOf(extension), registry: registry.name, from: registry.from, commit: tree.commit };
      if (isJson(command))
        return context.print(JSON.stringify({ ...about, description, tags, required, readme, source }));
      context.print(`${paint('bold', about.script)}  ${description}`);
      context.print(`Registry: ${registry.name} (${registry.from}${tree.commit ? `, commit ${tree.commit}` : ''})`);
      if (tags.length > 0) context.print(`Tags: ${tags.join(', ')}`);
      if (required.length > 0) context.print(`Required settings: ${required.join(', ')}`);
      if (readme !== null) context.print(`\n${readme.trimEnd()}`);
      context.print(`\n${paint('dim', extension.path)}\n${source.trimEnd()}`);
    });
}

function installCommand(context: Context): Command {
  return new Command('install')
    .description('Fetch registries and pin each to its current commit. Nothing is run.')
    .argument('[name]', 'one registry (default: all)')
    .addHelpText('after', '\nExample:\n  ctx registry install team')
    .action(async (name: string | undefined, _: unknown, command: Command) => {
      const { config, home } = open(context, command);
      const results: { name: string; commit: string; installed: boolean; scripts: number }[] = [];
      for (const git of chosen(config, name)) {
        const before = readPin(home, git);
        makeHome(home);
        const commit = before?.commit ?? (await fetchRegistry(home, git));
        if (before === null) writePin(home, git, commit);
        const scripts = (await extensionsOf(commitTree(cloneOf(home, git.name), git.url, commit))).length;
        results.push({ name: git.name, commit, installed: before === null, scripts });
      }
      if (isJson(command)) return context.print(JSON.stringify({ registries: results }));
      for (const one of results) {
        const did = one.installed ? 'installed' : 'is installed already';
        context.print(`${one.name}: ${did} at commit ${one.commit.slice(0, SHORT)}, ${one.scripts} scripts`);
      }
    });
}

function updateCommand(context: Context): Command {
  return new Command('update')
    .description(
      'Move registries to their newest commit, and the configured scripts with them, after showing the changes.',
    )
    .argument('[name]', 'one registry (default: all)')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', '\nExample:\n  ctx registry update team')
    .action(async (name: string | undefined, { yes = false }: { yes?: boolean }, command: Command) => {
      const { reader, config, home } = open(context, command);
      const print = (line: string) => void (isJson(command) || context.print(line));
      const results = [];
      for (const git of chosen(config, name)) results.push(await updateRegistry({ git, config, home, yes, print }));
      if (isJson(command)) return context.print(JSON.stringify({ registries: results }));
      if (reader.record !== null && results.some(({ moved }) => moved.length > 0)) {
        context.print('The configuration changed. Run `ctx trust` to see the difference and trust it.');
      }
    });
}

function addCommand(context: Context): Command {
  return new Command('add')
    .description('Add a script of a registry to the configuration, pinned to its commit.')
    .argument('<script>', 'such as tools/summarize, or REGISTRY/tools/summarize')
    .addHelpText('after', '\nExample:\n  ctx registry add tools/summarize')
    .action(async (wanted: string, _: unknown, command: Command) => {
      const { reader, config, home } = open(context, command);
      const found = findExtension(await openRegistries(config, home), wanted);
      const added = await addExtension(found, config, { home, env: process.env });
      if (isJson(command)) return context.print(JSON.stringify(added));
      context.print(`Added ${added.table} to ${added.file}: ${added.path}`);
      if (added.required.length > 0) context.print(`Set there: ${added.required.join(', ')}`);
      if (reader.record !== null) context.print('Read the script, then run `ctx trust`.');
    });
}

function overrideCommand(context: Context): Command {
  return new Command('override')
    .description('Copy a script of a registry into this directory, to change it.')
    .argument('<script>', 'such as tools/summarize, or REGISTRY/tools/summarize')
    .addHelpText('after', '\nExample:\n  ctx registry override tools/summarize')
    .action(async (wanted: string, _: unknown, command: Command) => {
      const { config, home } = open(context, command);
      const found = findExtension(await openRegistries(config, home), wanted);
      const made = await overrideExtension(found, process.cwd());
      if (isJson(command)) return context.print(JSON.stringify({ created: made.path, config: made.config.join('\n') }));
      context.print(`Created: ${made.path}`);
      context.print(['In the configuration:', '', ...made.config.map((line) => `  ${line}`)].join('\n'));
    });
}

function initCommand(context: Context): Command {
  return new Command('init')
    .description("Add a registry to the configuration; without arguments, Context Harness's community registry.")
    .argument('[name]', 'its name in the configuration', COMMUNITY.name)
    .argument('[url]', 'URL or path of a git repository', COMMUNITY.url)
    .addHelpText(
      'after',
      '\nExample:\n  ctx registry init team https://github.com/acme/scripts.git && ctx registry install',
    )
    .action(async (name: string, url: string, _: unknown, command: Command) => {
      const { reader, config, home } = open(context, command);
      const file = addRegistry({ name, url }, config, { home, env: process.env });
      if (isJson(command)) return context.print(JSON.stringify({ name, url, file }));
      context.print(`Added [registries.${name}] to ${file}`);
      const isFound = reader.record !== null || config.file === null;
      context.print(`Next: ${isFound ? '`ctx trust`, then ' : ''}\`ctx registry install ${name}\``);
    });
}

type Filter = (extension: OpenedRegistry['extensions'][number]) => boolean;

/** Returns the number of lines. */
function printExtensions(context: Context, registries: readonly OpenedRegistry[], isMeant: Filter): number {
  const rows = registries.flatMap(({ name, extensions }) =>
    extensions.filter(isMeant).map((one) => [idOf(one), name, one.tags.join(', '), one.description]),
  );
  if (rows.length === 0) return 0;
  for (const line of table(['SCRIPT', 'REGISTRY', 'TAGS', 'DESCRIPTION'], rows)) context.print(line);
  return rows.length;
}

function stateOf({ git, tree }: OpenedRegistry): string {
  if (git === null) return '(directory)';
  return tree?.commit?.slice(0, SHORT) ?? 'not installed';
}

function shown({ name, from, tree, extensions }: OpenedRegistry) {
  const scripts = extensions.map(({ description, tags, required, ...one }) => ({
    ...{ script: idOf(one), registry: name, path: one.path, description, tags, required },
  }));
  return { name, from, commit: tree?.commit ?? null, installed: tree !== null, scripts };
}

/** The git registries that a command is about. */
function chosen(
  { registries }: { readonly registries: ReturnType<typeof open>['config']['registries'] },
  name?: string,
) {
  if (name !== undefined && registries[name] === undefined) {
    throw new SubstratError('not_found', `There is no [registries.${name}] in the configuration.`);
  }
  const found = Object.entries(registries).flatMap(([one, { url, branch }]) =>
    url === null || (name !== undefined && name !== one) ? [] : [{ name: one, url, branch }],
  );
  if (found.length > 0) return found;
  const why = name === undefined ? 'No [registries.NAME] has a url.' : `[registries.${name}] is a directory.`;
  throw new SubstratError('not_configured', `${why} There is nothing to fetch.`);
}
