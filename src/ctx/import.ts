import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../command-line/context.ts';
import { makeHome } from '../config/home.ts';
import { tomlString, tomlText } from '../config/toml-text.ts';
import { keyOf } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { toolsInScope } from '../tools/catalog.ts';
import { appendText } from './config-text.ts';
import { type FoundAgent, findAgents } from './found-agents.ts';
import { openReader } from './open-reader.ts';
import { trustOwn } from './own-config.ts';

interface Imported {
  readonly file: string;
  readonly added: readonly string[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly text: string;
}

const KNOWLEDGE_TOOLS = ['search', 'get', 'sources'];

/** Adds other programs' agents, instructions and skills to the configuration, as texts. */
export async function importPersonas(
  context: Context,
  command: Command,
  path: string,
  dryRun: boolean,
): Promise<Imported> {
  const reader = openReader(context, command);
  const config = reader.load();
  const file = config.file ?? (context.program === 'ctx' ? resolve('ctx.toml') : join(context.home(), 'config.toml'));
  const taken = new Set(config.agents.map(({ name }) => keyOf(name)));
  const known = [
    ...KNOWLEDGE_TOOLS,
    ...toolsInScope(null).map(({ name }) => name),
    ...config.tools.map(({ name }) => name),
  ];
  const { found: agents, skipped } = await findAgents(resolve(path));
  if (agents.length + skipped.length === 0) {
    throw new SubstratError('not_found', `${path} does not contain agents/*.md, AGENTS.md or SKILL.md.`);
  }
  const added: string[] = [];
  let text = '';
  for (const found of agents) {
    if (taken.has(keyOf(found.name))) skipped.push({ name: found.name, reason: 'an agent with this name exists' });
    else {
      taken.add(keyOf(found.name));
      added.push(found.name);
      // Tools of another program are not Substrat's tools.
      text += toToml({ ...found, tools: found.tools?.filter((tool) => known.includes(tool)) ?? KNOWLEDGE_TOOLS });
    }
  }
  if (dryRun || text === '') return { file, added, skipped, text };
  if (dirname(file) === context.home()) makeHome(context.home());
  const own = reader.trusted || (config.file === null && context.program === 'ctx');
  appendText(file, text, () => {
    if (own) trustOwn(context, file);
    openReader(context, command, { quiet: true }).load();
  });
  return { file, added, skipped, text };
}

function toToml({
  name,
  description,
  tools,
  system,
}: Omit<FoundAgent, 'file'> & { readonly tools: readonly string[] }): string {
  return [
    '',
    `[agents.inline.${name}]`,
    `description = ${tomlString(description)}`,
    `tools = [${tools.map(tomlString).join(', ')}]`,
    `system_prompt = ${tomlText(system)}`,
    '',
  ].join('\n');
}
