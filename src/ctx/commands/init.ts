import { realpathSync, writeFileSync } from 'node:fs';
import { dirname, parse, resolve } from 'node:path';
import { Command } from 'commander';
import { type Context, type GlobalOptions, isJson } from '../../command-line/context.ts';
import { findConfig } from '../../config/find-config.ts';
import { userHome } from '../../config/home.ts';
import { SubstratError } from '../../core/errors.ts';
import { counted } from '../../core/text.ts';
import { type OpenedStore, withStore } from '../context.ts';
import { untilInterrupted } from '../interrupt.ts';
import { describeMcp, mcpStart } from '../mcp-snippet.ts';
import { openReader } from '../open-reader.ts';
import { trustOwn } from '../own-config.ts';
import { createSync, type Report } from '../sync-sources.ts';

const EXAMPLE = `# docs/configuration.md lists every key with its default; \`ctx config check\` shows the effective values.

[db]
path = "./data/ctx.sqlite"

[chunking]
max_tokens = 700

[retrieval]
final_limit = 12

# Every file that can be read, except for what .gitignore names. To index less: include = ["**/*.md", "**/*.txt"]
[connectors.filesystem.docs]
root = "."
exclude = ["**/node_modules/**", "**/package-lock.json", "**/*.lock", "**/*.min.*", "ctx.toml"]

# [connectors.git.platform]
# url = "https://github.com/acme/platform.git"
# branch = "main"
# root = "docs/"
`;

const SERVER = 'docs';
const MOST_EXAMPLES = 3;

type Skipped = ReadonlyMap<string, readonly string[]>;

export function initCommand(context: Context): Command {
  return new Command('init')
    .description('Create a first ctx.toml and index this directory. An existing configuration only gets its store.')
    .option('--no-sync', 'do not index')
    .addHelpText('after', '\nExample:\n  ctx init')
    .action(async ({ sync }: { sync: boolean }, command: Command) => {
      const existing = ownConfig(context, command);
      const isNew = existing === null;
      if (existing !== null) openReader(context, command, { quiet: true }).load();
      const file = existing ?? resolve('ctx.toml');
      if (isNew) {
        writeExample(file);
        trustOwn(context, file);
      }
      const isWide = isWholeDisk(process.cwd(), process.env);
      const { store, done } = await withStore(context, command, async (opened) => {
        const { db } = opened.config;
        if (!isJson(command)) context.print(`${isNew ? 'Created' : 'Configuration'}: ${file}`);
        const name = 'path' in db ? db.path : 'PostgreSQL';
        if (!isJson(command)) context.print(`Store: ${name}`);
        return { store: name, done: isNew && sync && !isWide ? await index(context, command, opened) : null };
      });
      const mcp = mcpStart(file);
      if (isJson(command)) {
        const skipped = done && Object.fromEntries(done.skipped);
        const result = { config: file, created: isNew, store, sources: done?.reports ?? null, skipped, mcp };
        return context.print(JSON.stringify(result));
      }
      for (const line of done === null ? [] : describeSkipped(done.skipped)) context.print(line);
      if (isNew && isWide) {
        context.print('Nothing was indexed: this is a whole home or disk. Set `root` in ctx.toml to the directory.');
      }
      context.print(['', 'Next:', `  ${done === null ? 'ctx sync' : 'ctx search "what you want to know"'}`].join('\n'));
      for (const line of describeMcp(SERVER, mcp, process.env.PATH)) context.print(line);
    });
}

async function index(context: Context, command: Command, opened: OpenedStore) {
  const skipped = new Map<string, string[]>();
  const interrupted = untilInterrupted(
    new SubstratError('not_running', 'Interrupted. The next `ctx sync` continues from here.'),
  );
  const onSkip = (sourceId: string, reason: string) =>
    void skipped.set(reason, [...(skipped.get(reason) ?? []), sourceId]);
  const onOther = (sourceId: string) => onSkip(sourceId, 'this kind of file has no text');
  const sync = createSync(context, command, opened, {}, interrupted, { onSkip, onOther });
  try {
    const reports: Report[] = [];
    for (const source of opened.sources) reports.push(await sync.run(source));
    return { reports, skipped };
  } finally {
    await sync.close();
  }
}

/** The configuration that was named or is in this directory. That of the home belongs to the daemon and has other documents. */
function ownConfig({ home }: Context, command: Command): string | null {
  const { config: named } = command.optsWithGlobals<GlobalOptions>();
  const cwd = process.cwd();
  const { file, how } = findConfig({ named, cwd, home: home(), env: process.env });
  return how === 'home' && file !== null && dirname(file) !== resolve(cwd) ? null : file;
}

/** The reasons, each with a few examples. */
function describeSkipped(skipped: Skipped): string[] {
  return [...skipped].map(([reason, names]) => {
    const rest = names.length - MOST_EXAMPLES;
    const shown = `${names.slice(0, MOST_EXAMPLES).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
    return `Skipped ${counted(names.length, 'file')}: ${reason} (${shown})`;
  });
}

/** A person who runs `ctx init` there hardly wants everything to be read. */
function isWholeDisk(cwd: string, env: NodeJS.ProcessEnv): boolean {
  const here = realpathSync(cwd);
  return here === parse(here).root || here === resolve(userHome(env));
}

/** Does not follow a dangling symlink. */
function writeExample(file: string): void {
  try {
    writeFileSync(file, EXAMPLE, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new SubstratError('config', `${file} cannot be written: ${(error as Error).message}.`, { cause: error });
  }
}
