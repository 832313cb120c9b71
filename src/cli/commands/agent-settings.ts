import { resolve } from 'node:path';
import { Command } from 'commander';
import {
  type AgentSettings,
  allPages,
  type ChangedAgent,
  createClient,
  type SettingsRevision,
} from '../../client/client.ts';
import { type Context, collectArgument, type GlobalOptions, readText, UsageError } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import { shorten } from '../../core/text.ts';
import { PROVIDER_NAMES } from '../../providers/described.ts';

interface SetOptions extends GlobalOptions {
  readonly provider?: string;
  readonly model?: string | false;
  readonly program?: string;
  readonly maySpawn?: string;
  readonly fallback?: string;
  readonly instructions?: string;
  readonly instructionsFile?: string;
  readonly role?: string;
  readonly workspace?: string;
  readonly tools?: string;
  readonly persona?: string | false;
  readonly arg?: Record<string, string>;
  readonly ifRevision?: string;
  readonly now?: boolean;
}

export function setCommand(context: Context): Command {
  return new Command('set')
    .description(
      'Change settings of an agent. They apply from its next turn, fewer tools from its next call. Its handle, memory and channels stay, and so does its session unless provider or workspace change.',
    )
    .argument('<ref>', 'the agent')
    .option('--instructions <text>', "the agent's instructions")
    .option('--instructions-file <file>', 'read the instructions from a file')
    .option('--model <model>', 'model, for providers that support models')
    .option('--no-model', "use the provider's default model")
    .option('--provider <provider>', `provider that runs the agent: ${PROVIDER_NAMES.join(', ')}`)
    .option('--program <file>', 'program of a scripted agent')
    .option('--may-spawn <providers>', 'providers its children may have, separated by commas; "none" removes them')
    .option('--fallback <providers>', 'providers that take over at a limit, separated by commas; "none" removes them')
    .option('--role <role>', 'any label')
    .option('--tools <names>', 'tools the agent may use, separated by commas; "all" removes the restriction')
    .option('--workspace <workspace>', 'workspace name, or a directory path (anything containing "/")')
    .option('--persona <name>', 'configured persona that provides its instructions and tools')
    .option('--no-persona', 'use no persona')
    .option('--arg <name=value>', 'argument of the persona; may be repeated', collectArgument)
    .option('--if-revision <number>', 'change it only if its settings have this revision')
    .option('--now', 'start the turn in progress again with the new settings')
    .addHelpText(
      'after',
      '\nExample:\n  substrat agent set lead --instructions-file lead.md --model claude-sonnet-5\n  substrat agent set lead --tools send_message,search --now',
    )
    .action(async (ref: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<SetOptions>();
      const change = readChange(options);
      if (Object.keys(change).length === 0) throw new UsageError('Name at least one setting to change.');
      const revision = options.ifRevision === undefined ? undefined : Number(options.ifRevision);
      if (revision !== undefined && !(Number.isInteger(revision) && revision > 0)) {
        throw new UsageError(`--if-revision takes a number from 1; got "${options.ifRevision}".`);
      }
      const agent = await createClient({ home: context.home() }).changeAgent(ref, change, {
        ...(revision !== undefined && { ifRevision: revision }),
        ...(options.now && { now: true }),
      });
      if (options.json) return context.print(JSON.stringify(agent));
      for (const line of describeChange(agent)) context.print(line);
    });
}

export function renameCommand(context: Context): Command {
  return new Command('rename')
    .description('Rename an agent. Its handle stays, and its former name still leads to it as long as it lives.')
    .argument('<ref>', 'the agent')
    .argument('<name>', 'letters, digits, "_" and "-"')
    .addHelpText('after', '\nExample:\n  substrat agent rename worker-1 reviewer')
    .action(async (ref: string, name: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const agent = await createClient({ home: context.home() }).renameAgent(ref, name);
      const line = agent.changed.length === 0 ? `${agent.handle} has that name already.` : renamed(agent);
      context.print(json ? JSON.stringify(agent) : line);
    });
}

export function pauseCommand(context: Context): Command {
  return new Command('pause')
    .description('Pause an agent: it starts no turn, and its messages wait until `agent resume`.')
    .argument('<ref>', 'the agent')
    .option('--reason <text>', 'why; shown wherever the agent is shown')
    .option('--now', 'end the turn in progress; it does not count as an attempt and starts again after `agent resume`')
    .addHelpText('after', '\nExample:\n  substrat agent pause lead --reason "waiting for the new API key"')
    .action(async (ref: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { reason?: string; now?: boolean }>();
      const wish = { ...(options.reason && { reason: options.reason }), now: options.now ?? false };
      const agent = await createClient({ home: context.home() }).pauseAgent(ref, wish);
      const busy = agent.state === 'busy' ? ' Its turn in progress continues; `--now` ends it.' : '';
      context.print(options.json ? JSON.stringify(agent) : `Paused ${agent.handle}.${busy}`);
    });
}

export function historyCommand(context: Context): Command {
  return new Command('history')
    .description('List every revision of the settings of an agent, newest first.')
    .argument('<ref>', 'the agent')
    .addHelpText('after', '\nExample:\n  substrat agent history lead')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = createClient({ home: context.home() });
      const items: SettingsRevision[] = [];
      for await (const revision of allPages((query) => client.listSettings(ref, query))) items.push(revision);
      if (json) return context.print(JSON.stringify({ items, nextCursor: null }));
      const rows = items.map(({ revision, at, by, settings }, n) => {
        const before = items[n + 1]?.settings;
        return [String(revision), at, by ?? '', before ? differences(before, settings) : 'created'];
      });
      for (const line of table(['REVISION', 'TIME', 'BY', 'CHANGE'], rows)) context.print(line);
    });
}

function readChange(options: SetOptions): AgentSettings {
  const { instructions, instructionsFile, model, provider, program, role, tools, workspace, persona, arg } = options;
  if (instructions !== undefined && instructionsFile !== undefined) {
    throw new UsageError('Give --instructions or --instructions-file, not both.');
  }
  const text = instructionsFile === undefined ? instructions : readText(instructionsFile);
  return {
    ...(text !== undefined && { instructions: text }),
    ...(model !== undefined && { model: model === false ? null : model }),
    ...(provider !== undefined && { provider }),
    ...(program !== undefined && { program: resolve(program) }),
    ...(options.maySpawn !== undefined && { maySpawn: readChoices(options.maySpawn) }),
    ...(options.fallback !== undefined && { fallback: readChoices(options.fallback) }),
    ...(role !== undefined && { role }),
    ...(tools !== undefined && { tools: tools === 'all' ? null : readList(tools) }),
    ...(workspace !== undefined && { workspace: readWorkspace(workspace) }),
    ...(persona !== undefined && { persona: persona === false ? null : persona }),
    ...(arg !== undefined && { arguments: arg }),
  };
}

function readChoices(names: string): string[] | null {
  return names === 'none' ? null : readList(names);
}

/** Names separated by commas. */
export function readList(names: string): string[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}

/** A name or a directory, which is recognized by a slash; a worktree always needs a directory. */
export function readWorkspace(workspace: string): string {
  return workspace.includes('/') || /^\.{1,2}$/.test(workspace) ? resolve(workspace) : workspace;
}

function describeChange({ handle, changed, revision, running, interrupted }: ChangedAgent): string[] {
  if (changed.length === 0) return [`${handle} has these settings already.`];
  const lines = [`Changed ${handle}: ${changed.join(', ')} (revision ${revision}).`];
  if (interrupted !== null) lines.push('Its turn starts again with the new settings.');
  if (running && running.keeps.length > 0) {
    lines.push(`Its turn in progress keeps ${running.keeps.join(', ')} until it ends; \`--now\` starts it again.`);
  }
  return lines;
}

function renamed({ handle, name }: ChangedAgent): string {
  const stays = handle.toLowerCase() === name.toLowerCase() ? '' : ` Its handle is still ${handle}.`;
  return `Renamed to ${name}.${stays}`;
}

function differences(before: object, after: object): string {
  const changed = Object.entries(after).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify((before as Record<string, unknown>)[key]),
  );
  return changed.map(([key, value]) => `${paint('dim', key)} ${shorten(toText(value), 60)}`).join('; ');
}

function toText(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/g, ' ');
}
