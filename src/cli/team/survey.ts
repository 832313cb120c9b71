import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { checkName } from '../../core/agent.ts';
import { shorten } from '../../core/text.ts';
import { findAgents } from '../../ctx/found-agents.ts';

/** What a project has for agents already. Only names, descriptions and instructions: no commands, hooks or servers. */
export interface Survey {
  readonly agents: readonly { readonly name: string; readonly description: string; readonly system: string }[];
  readonly skills: readonly { readonly name: string; readonly description: string; readonly path: string }[];
  /** Files with rules of the project. */
  readonly rules: readonly string[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

const RULES = ['AGENTS.md', 'CLAUDE.md'];
const MAX_DESCRIPTION = 300;

export const NOTHING: Survey = { agents: [], skills: [], rules: [], skipped: [] };

export async function surveyProject(directory: string): Promise<Survey> {
  const { found, skipped } = await findAgents(directory);
  const rules = RULES.filter((name) => existsSync(join(directory, name)));
  const short = (text: string) => shorten(text.replace(/\s+/g, ' ').trim(), MAX_DESCRIPTION);
  const agents = found.filter(({ file }) => !isRules(file) && !isSkill(file));
  const usable = agents.filter(({ name }) => problemOf(name) === null);
  return {
    agents: usable.map(({ name, description, system }) => ({ name, description: short(description), system })),
    skills: found
      .filter(({ file }) => isSkill(file))
      .map(({ name, description, file }) => ({
        name,
        description: short(description),
        path: relative(directory, file),
      })),
    rules,
    skipped: [
      ...skipped.map(({ name, reason }) => ({ name: relative(directory, name), reason })),
      ...agents.flatMap(({ name }) => {
        const reason = problemOf(name);
        return reason === null ? [] : [{ name, reason }];
      }),
    ],
  };
}

function isRules(file: string): boolean {
  return basename(file) === 'AGENTS.md';
}

function isSkill(file: string): boolean {
  return basename(file) === 'SKILL.md';
}

function problemOf(name: string): string | null {
  try {
    checkName(name);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
