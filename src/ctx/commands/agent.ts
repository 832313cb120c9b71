import { Command } from 'commander';
import { type Context, collectArgument, isJson } from '../../command-line/context.ts';
import { paint } from '../../command-line/terminal.ts';
import type { PersonaInfo, PersonaPrompt } from '../../core/persona.ts';

/** `ctx agent`, also available as `substrat persona`. Its dependencies are loaded when a command runs. */
export function agentCommand(context: Context, called = 'ctx agent'): Command {
  return new Command(called.split(' ').at(-1))
    .description('Manage the configured personas.')
    .addCommand(listCommand(context, called))
    .addCommand(testCommand(context, called))
    .addCommand(initCommand(context, called))
    .addCommand(importCommand(context, called));
}

function listCommand(context: Context, called: string): Command {
  return new Command('list')
    .description('List the personas and their tools.')
    .addHelpText('after', `\nExample:\n  ${called} list`)
    .action(async (_: unknown, command: Command) => {
      const [{ openReader }, { withExtensions }] = await Promise.all([
        import('../open-reader.ts'),
        import('../extended.ts'),
      ]);
      const agents = await withExtensions(openReader(context, command), undefined, async ({ personas }) =>
        personas.list(),
      );
      if (isJson(command)) return context.print(JSON.stringify({ agents }));
      if (agents.length === 0) return context.print(`No agents. Run \`${called} init NAME\` to create one.`);
      for (const line of describeList(agents)) context.print(line);
    });
}

function testCommand(context: Context, called: string): Command {
  return new Command('test')
    .description('Resolve the prompt of a persona and show it.')
    .argument('<name>')
    .option('--arg <name=value>', 'argument of the persona; may be repeated', collectArgument)
    .addHelpText(
      'after',
      `\nExample:\n  ${called} test incident-responder --arg service=payments-api --arg severity=P1`,
    )
    .action(async (name: string, { arg = {} }: { arg?: Record<string, string> }, command: Command) => {
      const [{ withStore }, { counted, plural, withExtensions }, { shownPath }] = await Promise.all([
        import('../context.ts'),
        import('../extended.ts'),
        import('../../scripting/open.ts'),
      ]);
      await withStore(context, command, async ({ reader, knowledge: base }) => {
        const { knowledge, searches, gets } = counted(base);
        await withExtensions(reader, knowledge, async ({ personas }) => {
          const start = performance.now();
          const prompt = await personas.resolve(name, arg);
          const ms = Math.round(performance.now() - start);
          const found = personas.find(name);
          if (isJson(command)) {
            const usage = { ms, searches: searches(), documents: gets() };
            return context.print(JSON.stringify({ agent: found?.name, source: found?.source, result: prompt, usage }));
          }
          const resolved = `Resolved in ${ms}ms (${plural(searches(), 'search query', 'search queries')}, ${plural(gets(), 'document fetch', 'document fetches')})`;
          if (found)
            for (const line of describePrompt(found, found.path && shownPath(found.path), prompt)) context.print(line);
          context.print(paint('dim', resolved));
        });
      });
    });
}

function initCommand(context: Context, called: string): Command {
  return new Command('init')
    .description('Create a Lua script for a new persona.')
    .argument('<name>')
    .addHelpText('after', `\nExample:\n  ${called} init sre-helper`)
    .action(async (name: string, _: unknown, command: Command) => {
      const { describeScaffold, scaffold } = await import('../scaffold.ts');
      const made = scaffold('agent', name);
      if (isJson(command)) return context.print(JSON.stringify({ created: made.path, config: made.config.join('\n') }));
      for (const line of describeScaffold(made)) context.print(line);
    });
}

function importCommand(context: Context, called: string): Command {
  return new Command('import')
    .description('Import .claude/agents/*.md, AGENTS.md or a folder of skills as personas into the configuration file.')
    .argument('<path>', 'file, or a directory that contains such files')
    .option('--dry-run', 'print what would be added and change nothing')
    .addHelpText('after', `\nExample:\n  ${called} import .claude/agents`)
    .action(async (path: string, options: { dryRun?: boolean }, command: Command) => {
      const { importPersonas } = await import('../import.ts');
      const { shownPath } = await import('../../scripting/open.ts');
      const { file, added, skipped, text } = await importPersonas(context, command, path, options.dryRun ?? false);
      if (isJson(command)) return context.print(JSON.stringify({ file, added, skipped }));
      if (options.dryRun) return context.print(text.trim());
      for (const name of added) context.print(`Added: [agents.inline.${name}] to ${shownPath(file)}`);
      for (const { name, reason } of skipped) context.print(`Skipped: ${name} (${reason})`);
    });
}

/** As printed in the specification; the longest name and description set the column widths. */
function describeList(agents: readonly PersonaInfo[]): string[] {
  const width = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length)) + 3;
  const name = width(agents.map((agent) => agent.name));
  const description = width(agents.map((agent) => oneLine(agent.description)));
  return agents.map((agent) => {
    const tools = `(tools: ${agent.tools.join(', ') || 'none'})`;
    const kind = agent.source === 'toml' ? '' : `  ${paint('cyan', `[${agent.source}]`)}`;
    const padding = ' '.repeat(name - agent.name.length);
    return `  ${paint('bold', agent.name)}${padding}${oneLine(agent.description).padEnd(description)}${paint('dim', tools)}${kind}`;
  });
}

function describePrompt(
  { name, source }: PersonaInfo,
  path: string | null,
  { system, tools, messages }: PersonaPrompt,
): string[] {
  const indented = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`.trimEnd());
  return [
    '',
    `Agent: ${paint('bold', name)}`,
    `Source: ${source}${path === null ? '' : ` (${path})`}`,
    `Tools: ${tools.join(', ') || 'none'}`,
    '',
    `System prompt (${system.length} chars):`,
    ...indented(system),
    '',
    `Messages (${messages.length}):`,
    ...messages.flatMap(({ role, content }) => indented(`${paint('cyan', `[${role}]`)} ${content}`)),
    '',
  ];
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
