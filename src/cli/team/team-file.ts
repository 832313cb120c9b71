import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Config } from '../../config/config.ts';
import { tomlString, tomlText } from '../../config/toml-text.ts';
import { keyOf } from '../../core/agent.ts';
import { SubstratError } from '../../core/errors.ts';
import type { Survey } from './survey.ts';
import type { Template } from './templates.ts';

export interface Runner {
  readonly provider: string;
  readonly model: string | null;
  /** The program of a scripted agent. */
  readonly program: string | null;
}

export interface Team {
  readonly project: string;
  readonly directory: string;
  readonly runner: Runner;
  readonly members: readonly Member[];
  readonly channel: string | null;
  readonly source: string | null;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly parent: string | null;
  readonly instructions: string;
}

export interface Taken {
  /** Names, handles and members of other teams. */
  readonly names: readonly string[];
  readonly channels: readonly string[];
  readonly connectors: Config['connectors'];
}

const PATTERN = 'teams/*.toml';
const DEMO_MARK = '# The scripted demo. `substrat init` replaces it.';

/** The members of a template and the agents that were found, with names that nobody has. */
export function planTeam(
  { project, directory, runner }: Pick<Team, 'project' | 'directory' | 'runner'>,
  template: Template,
  survey: Survey,
  taken: Taken,
): Team {
  const used = new Set(taken.names.map(keyOf));
  const nameFor = (wanted: string) => freeName(wanted, project, used);
  const names = new Map(template.members.map(({ name }) => [name, nameFor(name)]));
  const [first] = template.members;
  const leader = (first && names.get(first.name)) ?? null;
  const found = survey.agents.map((agent) => ({ ...agent, name: nameFor(agent.name) }));
  const know = knowledgeOf(survey);
  const team = found.map(({ name, description }) => `- ${name}: ${description}`);
  const own = template.members.map((member, i) => ({
    name: names.get(member.name) ?? member.name,
    role: member.role,
    parent: member.parent === null ? null : (names.get(member.parent) ?? null),
    instructions: [
      withNames(member.instructions, project, names),
      ...(i === 0 && team.length > 0 ? [`Other members whom you can ask with send_message:\n${team.join('\n')}`] : []),
      ...know,
    ].join('\n\n'),
  }));
  const others = found.map(({ name, system }) => ({
    name,
    role: 'specialist',
    parent: template.channel ? null : leader,
    instructions: [system, ...know].join('\n\n'),
  }));
  return {
    project,
    directory,
    runner,
    members: [...own, ...others],
    channel: template.channel ? freeName(project, 'team', new Set(taken.channels.map(keyOf))).toLowerCase() : null,
    source: template.knowledge
      ? freeName(project, 'project', new Set(Object.keys(taken.connectors.filesystem).map(keyOf)))
      : null,
  };
}

/** The text of `teams/PROJECT.toml`. */
function renderTeam({ directory, runner, members, channel, source }: Team): string {
  const lines = [
    `# Written by \`substrat init\` in ${directory.replace(/\p{Cc}/gu, ' ')}.`,
    '# Change it and run `substrat apply`; docs/agents.md says what a change means.',
    ...(runner.program === null ? [] : [DEMO_MARK]),
  ];
  for (const { name, role, parent, instructions } of members) {
    lines.push('', `[members.${name}]`);
    if (parent !== null) lines.push(`parent = ${tomlString(parent)}`);
    lines.push(`provider = ${tomlString(runner.provider)}`);
    if (runner.model !== null) lines.push(`model = ${tomlString(runner.model)}`);
    if (runner.program !== null) lines.push(`program = ${tomlString(runner.program)}`);
    lines.push(`role = ${tomlString(role)}`, `workspace = ${tomlString(directory)}`);
    lines.push(`instructions = ${tomlText(instructions)}`);
  }
  if (channel !== null) {
    const names = members.map(({ name }) => tomlString(name)).join(', ');
    lines.push('', `[channels.${channel}]`, `topic = ${tomlString(`Work on ${channel}`)}`, `members = [${names}]`);
  }
  if (source !== null) lines.push('', `[connectors.filesystem.${source}]`, `root = ${tomlString(directory)}`);
  return `${lines.join('\n')}\n`;
}

/**
 * Writes the team and makes `config.toml` include it, first: a pattern without files changes nothing. `check` reads the
 * configuration; if it fails, both files are as they were.
 */
export function writeTeam(home: string, team: Team, check: () => Pick<Config, 'members'>): { readonly file: string } {
  const file = teamFile(home, team.project);
  const config = join(home, 'config.toml');
  const [before, earlier] = [config, file].map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : null)) as [
    string | null,
    string | null,
  ];
  mkdirSync(join(home, 'teams'), { recursive: true, mode: 0o700 });
  const undo = () => {
    for (const [path, text] of [[file, earlier] as const, [config, before] as const]) {
      if (text === null) rmSync(path, { force: true });
      else replace(path, text);
    }
  };
  try {
    // Keys before the first table belong to no table.
    if (!includes(before ?? ''))
      replace(config, `include = ["${PATTERN}"]\n${before === null ? '' : '\n'}${before ?? ''}`);
    replace(file, renderTeam(team));
    const names = new Set(check().members.map(({ name }) => name));
    if (team.members.every(({ name }) => names.has(name))) return { file };
    throw new SubstratError(
      'config',
      `${config} has an \`include\` of its own, which does not include ${relative(home, file)}. Add "${PATTERN}" to it, then run \`substrat init\` again.`,
    );
  } catch (error) {
    undo();
    throw error;
  }
}

/** The file of a project's team, if it exists: the names in it, and whether it is the demo. */
export function readTeam(home: string, project: string): { names: string[]; isDemo: boolean } | null {
  const file = teamFile(home, project);
  if (!existsSync(file)) return null;
  const text = readFileSync(file, 'utf8');
  const names = [...text.matchAll(/^\[members\.([^\]]+)\]$/gm)].map(([, name]) => name as string);
  return { names, isDemo: text.split('\n').includes(DEMO_MARK) };
}

export function teamFile(home: string, project: string): string {
  return join(home, 'teams', `${project}.toml`);
}

/** A top-level `include`, before the first table. */
function includes(source: string): boolean {
  const [head = ''] = source.split(/^\s*\[/m, 1);
  return /^\s*include\s*=/m.test(head);
}

function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The name itself, with the project's before it, or with a number. */
function freeName(wanted: string, prefix: string, used: Set<string>): string {
  const cut = (name: string) => name.slice(0, 60);
  const numbered = Array.from({ length: 100 }, (_, n) => `${cut(`${prefix}-${wanted}`)}-${n + 2}`);
  const name = [wanted, cut(`${prefix}-${wanted}`), ...numbered].find((one) => !used.has(keyOf(one)));
  if (name === undefined) throw new SubstratError('name_taken', `There are too many agents called ${wanted}.`);
  used.add(keyOf(name));
  return name;
}

/** The other members by the names that they got. */
function withNames(text: string, project: string, names: ReadonlyMap<string, string>): string {
  const renamed = [...names].filter(([wanted, name]) => wanted !== name);
  const note = renamed.map(([wanted, name]) => `The ${wanted} is called ${name}.`).join(' ');
  return [text.replaceAll('{project}', () => project), ...(note === '' ? [] : [note])].join('\n');
}

function knowledgeOf({ rules, skills }: Survey): string[] {
  const list = skills.map(({ name, description, path }) => `- ${name}: ${description} (${path})`);
  return [
    ...(rules.length === 0 ? [] : [`Before you start, read ${rules.join(' and ')} in your workspace.`]),
    ...(list.length === 0 ? [] : [`Skills of this project. Read the file of one when it fits:\n${list.join('\n')}`]),
  ];
}
