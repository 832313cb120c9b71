import { Command } from 'commander';
import { createClient, type Passage } from '../../client/client.ts';
import { type Context, type GlobalOptions, readArgument, readCount, UsageError } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import { ago } from '../../command-line/time.ts';
import { shortId } from '../../core/short-id.ts';

export function memoryCommand(context: Context): Command {
  return new Command('memory')
    .description(
      "View and edit agents' memory: blocks, which are always in the prompt, and passages, which agents search.",
    )
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(setCommand(context))
    .addCommand(deleteCommand(context))
    .addCommand(historyCommand(context))
    .addCommand(restoreCommand(context))
    .addCommand(shareCommand(context))
    .addCommand(searchCommand(context))
    .addCommand(saidCommand(context))
    .addCommand(passagesCommand(context))
    .addCommand(storeCommand(context))
    .addCommand(forgetCommand(context));
}

const BLOCKS_OF = 'the agent; "user" for your own blocks';

function listCommand(context: Context): Command {
  return new Command('list')
    .description('List the blocks an agent can see: its own and those shared with it.')
    .argument('<ref>', BLOCKS_OF)
    .addHelpText('after', '\nExample:\n  substrat memory list lead')
    .action(async (ref: string, _: unknown, command: Command) => {
      const page = await createClient({ home: context.home() }).listBlocks(ref);
      if (isJson(command)) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print('No blocks.');
      const rows = page.items.map((block) => [
        block.label,
        String(block.version),
        block.owner,
        block.sharedWith.join(', ') + (block.open ? ' (may change it)' : ''),
        block.text,
      ]);
      for (const line of table(['LABEL', 'VERSION', 'OWNER', 'SHARED WITH', 'TEXT'], rows)) context.print(line);
    });
}

function showCommand(context: Context): Command {
  return blockCommand('show', 'Print the text of a block.')
    .addHelpText('after', '\nExample:\n  substrat memory show lead personality')
    .action(async (ref: string, label: string, _: unknown, command: Command) => {
      const block = await createClient({ home: context.home() }).getBlock(ref, label);
      context.print(isJson(command) ? JSON.stringify(block) : block.text);
    });
}

function setCommand(context: Context): Command {
  return blockCommand('set', 'Set the text of a block. A new label creates a block.')
    .argument('<text>', 'the complete new text; "-" reads stdin')
    .option('--if-version <n>', 'only if the block has this version; 0: only if it does not exist')
    .addHelpText('after', '\nExample:\n  substrat memory set lead current_state "Waiting for the review."')
    .action(async (ref: string, label: string, text: string, _: unknown, command: Command) => {
      const ifVersion = readVersion(command);
      const block = await createClient({ home: context.home() }).setBlock(ref, label, readArgument(text), {
        ifVersion,
      });
      context.print(isJson(command) ? JSON.stringify(block) : `Saved ${label} (version ${block.version}).`);
    });
}

function deleteCommand(context: Context): Command {
  return blockCommand('delete', 'Delete a block. Its history is kept and the block can be restored.')
    .option('--if-version <n>', 'only if the block has this version')
    .addHelpText('after', '\nExample:\n  substrat memory delete lead current_state')
    .action(async (ref: string, label: string, _: unknown, command: Command) => {
      const ifVersion = readVersion(command);
      const deleted = await createClient({ home: context.home() }).deleteBlock(ref, label, { ifVersion });
      context.print(isJson(command) ? JSON.stringify(deleted) : `Deleted ${label}.`);
    });
}

function historyCommand(context: Context): Command {
  return blockCommand('history', 'Show every version of a block, newest first.')
    .option('--limit <n>', 'maximum number', '100')
    .addHelpText('after', '\nExample:\n  substrat memory history lead personality')
    .action(async (ref: string, label: string, _: unknown, command: Command) => {
      const limit = readCount('--limit', command.opts<{ limit: string }>().limit);
      const page = await createClient({ home: context.home() }).listBlockChanges(ref, label, { limit });
      if (isJson(command)) return context.print(JSON.stringify(page));
      const rows = page.items.map(({ version, by, at, text }) => [String(version), ago(at), by, text ?? '(deleted)']);
      for (const line of table(['VERSION', 'AT', 'BY', 'TEXT'], rows)) context.print(line);
    });
}

function restoreCommand(context: Context): Command {
  return blockCommand('restore', 'Restore an earlier version of a block.')
    .argument('<version>', 'version number, as shown by `memory history`')
    .addHelpText('after', '\nExample:\n  substrat memory restore lead personality 3')
    .action(async (ref: string, label: string, version: string, _: unknown, command: Command) => {
      const block = await createClient({ home: context.home() }).restoreBlock(
        ref,
        label,
        readWhole('<version>', version),
      );
      context.print(isJson(command) ? JSON.stringify(block) : `Saved ${label} (version ${block.version}).`);
    });
}

function shareCommand(context: Context): Command {
  return blockCommand('share', 'Share a block with other agents. Without --with, the block becomes private again.')
    .option('--with <refs>', 'agents, separated by commas', '')
    .option('--open', 'let them change it')
    .addHelpText(
      'after',
      '\nExample:\n  substrat memory set user plan "Ship on Friday."\n  substrat memory share user plan --with lead,lead/worker-1',
    )
    .action(async (ref: string, label: string, _: unknown, command: Command) => {
      const options = command.opts<{ with: string; open?: boolean }>();
      const sharing = { with: splitNames(options.with), open: options.open ?? false };
      const block = await createClient({ home: context.home() }).shareBlock(ref, label, sharing);
      const readers = block.sharedWith.length === 0 ? 'nobody else' : block.sharedWith.join(', ');
      context.print(isJson(command) ? JSON.stringify(block) : `${label} is visible to ${block.owner} and ${readers}.`);
    });
}

function searchCommand(context: Context): Command {
  return filtered('search', "Search an agent's passages, as the agent does with search_memory.", '20')
    .argument('<query>', 'words, or any text')
    .addHelpText('after', '\nExample:\n  substrat memory search lead "deploy failed" --tag ops --since 2026-01-31')
    .action(async (ref: string, query: string, _: unknown, command: Command) => {
      const page = await createClient({ home: context.home() }).listPassages(ref, { ...readFilter(command), q: query });
      context.print(isJson(command) ? JSON.stringify(page) : passageLines(page.items));
    });
}

function saidCommand(context: Context): Command {
  return new Command('said')
    .description("Search what was said in an agent's channels and DMs, and its runs' texts, as search_messages does.")
    .argument('<ref>', 'the agent')
    .argument('<query>', 'words, or any text')
    .option('--since <time>', 'only from this date (2026-01-31) or time on')
    .option('--until <time>', 'only before this date or time')
    .option('--limit <n>', 'maximum number', '20')
    .addHelpText('after', '\nExample:\n  substrat memory said lead "release date" --since 2026-01-31')
    .action(async (ref: string, query: string, _: unknown, command: Command) => {
      const { since, until, limit } = command.opts<{ since?: string; until?: string; limit: string }>();
      const page = await createClient({ home: context.home() }).searchMessages(ref, {
        q: query,
        limit: readCount('--limit', limit),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
      });
      if (isJson(command)) return context.print(JSON.stringify(page));
      if (page.items.length === 0) return context.print('Nothing found.');
      const lines = page.items.map(({ channelId, runId, from, text, createdAt }) => {
        const where = channelId === null ? `run ${runId}` : `#${channelId}`;
        return `${paint('dim', [createdAt, where, from].join(' '))}\n${text}`;
      });
      context.print(lines.join('\n\n'));
    });
}

function passagesCommand(context: Context): Command {
  return filtered('passages', "List an agent's passages, newest first.", '100')
    .option('--cursor <cursor>', 'continue after the previous page')
    .addHelpText('after', '\nExample:\n  substrat memory passages lead --tag ops')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { cursor } = command.opts<{ cursor?: string }>();
      const page = await createClient({ home: context.home() }).listPassages(ref, { ...readFilter(command), cursor });
      context.print(isJson(command) ? JSON.stringify(page) : passageLines(page.items));
    });
}

function storeCommand(context: Context): Command {
  return new Command('store')
    .description('Store a passage for an agent.')
    .argument('<ref>', 'the agent')
    .argument('<text>', 'text of the passage; "-" reads stdin')
    .option('--tags <tags>', 'tags, separated by commas', '')
    .addHelpText(
      'after',
      '\nExample:\n  substrat memory store lead "The staging server is called otter." --tags ops,names',
    )
    .action(async (ref: string, text: string, _: unknown, command: Command) => {
      const passage = { content: readArgument(text), tags: splitNames(command.opts<{ tags: string }>().tags) };
      const stored = await createClient({ home: context.home() }).storePassage(ref, passage);
      context.print(isJson(command) ? JSON.stringify(stored) : `Stored (${shortId(stored.passageId)}).`);
    });
}

function forgetCommand(context: Context): Command {
  return new Command('forget')
    .description('Delete a passage.')
    .argument('<ref>', 'the agent')
    .argument('<passage>', 'its id, as shown by `memory passages`')
    .addHelpText('after', '\nExample:\n  substrat memory forget lead 3f9a1c')
    .action(async (ref: string, id: string, _: unknown, command: Command) => {
      const deleted = await createClient({ home: context.home() }).deletePassage(ref, id);
      context.print(isJson(command) ? JSON.stringify(deleted) : 'Deleted the passage.');
    });
}

function blockCommand(name: string, description: string): Command {
  return new Command(name).description(description).argument('<ref>', BLOCKS_OF).argument('<label>', 'the block');
}

function filtered(name: string, description: string, limit: string): Command {
  return new Command(name)
    .description(description)
    .argument('<ref>', 'the agent')
    .option('--tag <tag>', 'only passages with this tag; several, separated by commas: with all of them')
    .option('--since <time>', 'only from this date (2026-01-31) or time on')
    .option('--until <time>', 'only before this date or time')
    .option('--limit <n>', 'maximum number', limit);
}

function readFilter(command: Command) {
  const { tag, since, until, limit } = command.opts<{ tag?: string; since?: string; until?: string; limit: string }>();
  return { tag, since, until, limit: readCount('--limit', limit) };
}

function readVersion(command: Command): number | undefined {
  const { ifVersion } = command.opts<{ ifVersion?: string }>();
  return ifVersion === undefined ? undefined : readWhole('--if-version', ifVersion);
}

function readWhole(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${option} takes a whole number; got "${text}".`);
}

function splitNames(text: string): string[] {
  return text.split(',').filter((name) => name !== '');
}

function passageLines(passages: readonly Passage[]): string {
  if (passages.length === 0) return 'No passages found.';
  return passages
    .map(
      ({ id, content, tags, createdAt }) =>
        `${paint('dim', [shortId(id), ago(createdAt), ...tags].join(' · '))}\n${content}`,
    )
    .join('\n\n');
}

function isJson(command: Command): boolean {
  return command.optsWithGlobals<GlobalOptions>().json ?? false;
}
