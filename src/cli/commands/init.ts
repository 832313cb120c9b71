import { spawnSync } from 'node:child_process';
import { realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { type Client, createClient, type Status } from '../../client/client.ts';
import { askHidden, choose, consents } from '../../command-line/ask.ts';
import { type Context, type GlobalOptions, UsageError } from '../../command-line/context.ts';
import { spin } from '../../command-line/terminal.ts';
import { loadConfig } from '../../config/config.ts';
import { SubstratError } from '../../core/errors.ts';
import { startInBackground, statusOf, stopInBackground } from '../background.ts';
import { chooseRunner, NOTHING_FOUND, type Questions } from '../team/runner.ts';
import { NOTHING, type Survey, surveyProject } from '../team/survey.ts';
import { planTeam, readTeam, type Team, teamFile, writeTeam } from '../team/team-file.ts';
import { TEMPLATE_NAMES, TEMPLATES, type TemplateName } from '../team/templates.ts';
import { BIND, readBind } from './up.ts';

interface InitOptions extends GlobalOptions {
  readonly template?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly name?: string;
  readonly import: boolean;
  readonly bind?: string;
  readonly yes?: boolean;
}

export function initCommand(context: Context): Command {
  return new Command('init')
    .description(
      'Create a team for a project and start it. Looks for agent programs, .claude/agents, AGENTS.md and skills, asks three questions, and writes teams/PROJECT.toml in the home.',
    )
    .argument('[directory]', 'directory of the project', '.')
    .option('--template <template>', `the team: ${TEMPLATE_NAMES.join(', ')}`)
    .option('--provider <provider>', 'what runs the agents: a provider, or "demo" for scripted ones without a model')
    .option('--model <model>', 'model of the agents')
    .option('--name <project>', 'name of the project (default: the name of the directory)')
    .option('--bind <address>', BIND)
    .option('--no-import', 'do not take over agents, rules and skills of the project')
    .option('--yes', 'ask nothing: the template "review", the first provider that is ready, else the demo')
    .addHelpText(
      'after',
      '\nExample:\n  substrat init ~/project\n  substrat init --template pair --provider claude --yes',
    )
    .action(async (directory: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<InitOptions>();
      if (options.config !== undefined)
        throw new UsageError('`init` writes to the configuration of the home; leave --config out.');
      readBind(options.bind);
      await init(context, directory, options);
    });
}

async function init(context: Context, place: string, options: InitOptions): Promise<void> {
  const home = context.home();
  const directory = realDirectory(place);
  const project = projectName(options.name ?? basename(directory));
  const say = (line: string) => void (options.json || context.print(line));
  const ask = options.yes ? null : onTerminal();
  const earlier = readTeam(home, project);
  if (earlier !== null && !earlier.isDemo) {
    const file = teamFile(home, project);
    throw new SubstratError(
      'conflict',
      `${file} exists. Change it and run \`substrat apply\`, or give another --name.`,
    );
  }
  const survey = options.import ? await surveyProject(directory) : NOTHING;
  for (const line of describeSurvey(survey)) say(line);
  const template = await chooseTemplate(options.template, ask);
  if (template === null) return say('Nothing was changed.');
  const { status, started } = await ensureDaemon(home, options.bind);
  const giveUp = async () => {
    if (started) await stopInBackground(status.pid);
    say('Nothing was changed.');
  };
  let done = false;
  try {
    const client = createClient({ home });
    const { provider, model } = options;
    const chosen = await chooseRunner({ client, home, provider, model, questions: ask });
    if (chosen === null) return await giveUp();
    const load = () => loadConfig({ cwd: directory, home, env: process.env });
    const { runner } = chosen;
    const isDemo = runner.program !== null;
    const plan = isDemo ? { ...TEMPLATES[template], ...DEMO } : TEMPLATES[template];
    const taken = await takenNames(client, load(), earlier?.names ?? []);
    const team = planTeam({ project, directory, runner }, plan, isDemo ? NOTHING : survey, taken);
    if (earlier !== null) say(`Replacing the demo in ${teamFile(home, project)}.`);
    for (const line of describeTeam(team)) say(line);
    if (ask && !(await ask.consents(`Write ${teamFile(home, project)} and start the team?`))) return await giveUp();
    const { file } = writeTeam(home, team, load);
    done = true;
    const restarted = started && (chosen.newKey || team.source !== null);
    if (restarted) await restart(home, status, options.bind);
    const { items } = await client.apply({});
    const names = new Set(team.members.map(({ name }) => name));
    const isLeft = ({ kind, action, field }: (typeof items)[number]) =>
      kind === 'member' && action === 'left' && field === null;
    const left = items.filter((item) => isLeft(item) && names.has(item.name));
    if (left[0])
      throw new SubstratError('conflict', `${left[0].name} was not created: ${left[0].note} The team is in ${file}.`);
    if (team.source !== null) readKnowledge(home, team.source);
    if (options.json) return context.print(JSON.stringify({ file, ...team }));
    const [first] = team.members;
    say(`Wrote ${file}. The team is ready:`);
    const words = JSON.stringify(plan.example);
    say(
      team.channel === null
        ? `  substrat agent send ${first?.name} ${words} --wait`
        : `  substrat channel post ${team.channel} ${words}`,
    );
    say(team.channel === null ? `  substrat chat ${first?.name}` : `  substrat watch --channel ${team.channel}`);
    if (status.sandboxProblem !== null) say(`But ${status.sandboxProblem}`);
    if (chosen.lastResort) for (const line of ['', ...NOTHING_FOUND]) say(line);
    if (!started && (chosen.newKey || team.source !== null))
      say('Restart the daemon first: `substrat daemon stop`, then `substrat daemon start`.');
  } catch (error) {
    if (started && !done) await stopInBackground(status.pid).catch(() => {});
    throw error;
  }
}

/** The demo's program is a whole team: its lead creates the others. */
const DEMO = {
  members: [{ name: 'lead', role: 'lead', parent: null, instructions: 'Ask your two workers about this machine.' }],
  channel: false,
  knowledge: false,
  example: 'What is this machine, and how busy is it?',
} as const;

interface Asking extends Questions {
  consents(question: string): Promise<boolean>;
}

function onTerminal(): Asking {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) {
    throw new UsageError('Cannot ask without a terminal. Add --yes, or --template, --provider and --yes.');
  }
  return {
    choose: (question, options) => choose(question, options, input, output),
    secret: (question) => askHidden(question, input, output),
    consents: (question) => consents(question, input, output),
  };
}

async function chooseTemplate(named: string | undefined, ask: Asking | null): Promise<TemplateName | null> {
  if (named !== undefined) {
    const found = TEMPLATE_NAMES.find((name) => name === named);
    if (found === undefined)
      throw new UsageError(`--template takes one of ${TEMPLATE_NAMES.join(', ')}; got "${named}".`);
    return found;
  }
  if (ask === null) return 'review';
  const texts = TEMPLATE_NAMES.map((name) => `${name}: ${TEMPLATES[name].description}`);
  const n = await ask.choose('Which team?', texts);
  return n === null ? null : (TEMPLATE_NAMES[n] ?? null);
}

async function ensureDaemon(home: string, bind: string | undefined): Promise<{ status: Status; started: boolean }> {
  const running = await statusOf(home);
  if (running === null) {
    const stopSpinning = spin('Starting the daemon ...');
    return { status: await startInBackground(home, { bind }).finally(stopSpinning), started: true };
  }
  if (running.config === null || running.config === join(home, 'config.toml'))
    return { status: running, started: false };
  throw new SubstratError(
    'conflict',
    `The running daemon uses ${running.config}; \`init\` writes to ${join(home, 'config.toml')}. Stop it, and start it without --config.`,
  );
}

async function restart(home: string, { pid }: Status, bind: string | undefined): Promise<void> {
  await stopInBackground(pid);
  await startInBackground(home, { bind });
}

async function takenNames(
  client: Client,
  { members, connectors }: ReturnType<typeof loadConfig>,
  own: readonly string[],
) {
  const names = members.map(({ name }) => name);
  for (let cursor: string | undefined; ; ) {
    const page = await client.listAgents({ all: true, limit: 200, ...(cursor && { cursor }) });
    names.push(...page.items.flatMap(({ name, handle }) => [name, handle]));
    if (!page.nextCursor) break;
    cursor = page.nextCursor;
  }
  const channels = (await client.listChannels({ limit: 200 })).items.map(({ id }) => id);
  return { names: names.filter((name) => !own.includes(name)), channels, connectors };
}

/** Reads the files of the project into the knowledge base. Its progress goes to stderr. */
function readKnowledge(home: string, source: string): void {
  const program = fileURLToPath(new URL('../../../bin/ctx', import.meta.url));
  const args = ['sync', `filesystem:${source}`, '--config', join(home, 'config.toml')];
  const { status } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) process.stderr.write(`substrat: the files were not read; run \`ctx ${args.join(' ')}\`.\n`);
}

function realDirectory(path: string): string {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isDirectory) throw new UsageError(`${path} is not a directory.`);
  return realpathSync(path);
}

function projectName(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '')
    .slice(0, 40);
  return name === '' ? 'project' : name;
}

function describeSurvey({ agents, skills, rules, skipped }: Survey): string[] {
  return [
    ...agents.map(({ name, description }) => `Found the agent ${name}: ${description}`),
    ...rules.map((name) => `Found ${name}: the agents are told to read it.`),
    ...skills.map(({ name, description }) => `Found the skill ${name}: ${description}`),
    ...skipped.map(({ name, reason }) => `Left out ${name}: ${reason}.`),
  ];
}

function describeTeam({ directory, runner, members, channel, source }: Team): string[] {
  const how = [runner.provider, ...(runner.model === null ? [] : [runner.model])].join(', ');
  return [
    `The team works in ${directory} and runs with ${how}:`,
    ...members.map(({ name, role, parent }) => `  ${parent === null ? '' : '  '}${name} (${role})`),
    ...(channel === null ? [] : [`  They talk in #${channel}.`]),
    ...(source === null ? [] : ['  The files of the directory become their knowledge.']),
  ];
}
