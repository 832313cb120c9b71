import { Command } from 'commander';
import { type Agent, allPages, type Client, createClient, type Run } from '../../client/client.ts';
import type { Context, GlobalOptions } from '../../command-line/context.ts';
import { paint, table } from '../../command-line/terminal.ts';
import { ago, span } from '../../command-line/time.ts';
import { showCount } from '../../core/counts.ts';
import { shortId } from '../../core/short-id.ts';
import { counted, shorten } from '../../core/text.ts';
import { asTree, describeState, type Surroundings } from '../agent-words.ts';
import { describeNotices } from '../describe.ts';
import { agentsIn, projectOf } from '../project-agents.ts';
import { describeBudget } from './budget.ts';

export function listCommand(context: Context): Command {
  return new Command('list')
    .description('List agents as a tree, with what each one does or waits for.')
    .option('--all', 'include terminated agents')
    .option('--here', 'only agents that work in the repository of the current directory, and those below them')
    .addHelpText('after', '\nExample:\n  substrat agent list --here')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { all?: boolean; here?: boolean }>();
      const client = createClient({ home: context.home() });
      const found: Agent[] = [];
      const { all = false, here = false } = options;
      for await (const agent of allPages((query) => client.listAgents({ ...query, all }))) found.push(agent);
      const project = projectOf(process.cwd());
      const items = here ? agentsIn(found, project) : found;
      if (options.json) return context.print(JSON.stringify({ items, nextCursor: null }));
      if (items.length === 0 && here)
        return context.print(`No agents work in ${project}. Run \`substrat init\` to create a team.`);
      if (items.length === 0)
        return context.print('No agents yet. Run `substrat agent create --help` to see how to create one.');
      const around = await surroundings(client);
      const nodes = new Set(items.map(({ node }) => node));
      const noted = items.some(({ metadata }) => Object.keys(metadata).length > 0);
      const rows = asTree(items).map(({ agent, depth }) => [
        `${'  '.repeat(depth)}${agent.handle}`,
        describeState(agent, around),
        agent.role,
        agent.provider,
        ...(nodes.size > 1 ? [agent.node] : []),
        agent.pending === 0 ? '' : showCount(agent.pending),
        ...(noted ? [shorten(pairsOf(agent.metadata), 60)] : []),
      ]);
      const head = [
        'AGENT',
        'STATE',
        'ROLE',
        'PROVIDER',
        ...(nodes.size > 1 ? ['NODE'] : []),
        'PENDING',
        ...(noted ? ['METADATA'] : []),
      ];
      for (const line of table(head, rows)) context.print(line);
      for (const line of describeNotices(await client.getStatus())) context.print(line);
    });
}

export function inspectCommand(context: Context): Command {
  return new Command('inspect')
    .description('Show an agent: what it does now, its last turns, and its settings.')
    .argument('<ref>', 'the agent')
    .addHelpText('after', '\nExample:\n  substrat agent inspect lead/worker-1')
    .action(async (ref: string, _: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>();
      const client = createClient({ home: context.home() });
      const agent = await client.getAgent(ref);
      const { items: runs } = await client.listRuns({ agent: agent.id, limit: 10 });
      if (json) return context.print(JSON.stringify({ ...agent, runs }));
      const around = await surroundings(client);
      context.print(`${paint('bold', agent.handle)} is ${describeState(agent, around)}`);
      if (agent.pending > 0) context.print(`${counted(agent.pending, 'message')} not delivered yet`);
      if (runs.length > 0) {
        context.print('');
        for (const line of table(['RUN', 'STATE', 'STARTED', 'TOOK', 'RESULT'], runs.map(runRow))) context.print(line);
      }
      context.print('');
      const facts = [...factsOf(agent), ...(await budgetFacts(client, agent))];
      for (const line of table(['', ''], facts).slice(1)) context.print(line);
      if (agent.instructions) context.print(`instructions\n${agent.instructions.replace(/^/gm, '  ')}`);
      for (const line of describeNotices(await client.getStatus())) context.print(line);
    });
}

/** Id, state, start, duration and outcome of a run. */
export function runRow(run: Run): string[] {
  const { startedAt, endedAt } = run;
  const took = startedAt === null ? '' : span((endedAt ? Date.parse(endedAt) : Date.now()) - Date.parse(startedAt), 1);
  const result = shorten((run.error ?? run.finalText ?? '').replace(/\s+/g, ' '), 200);
  return [shortId(run.id), run.state, ago(startedAt ?? run.createdAt), took, result];
}

async function surroundings(client: Client): Promise<Surroundings> {
  const requests = [];
  for await (const request of allPages((query) => client.listRequests(query))) requests.push(request);
  const { items: running } = await client.listRuns({ state: 'running', limit: 500 });
  return { requests, running, now: Date.now() };
}

const PORTABILITY = {
  portable: 'portable: another node takes it over with its session',
  not_yet: 'not portable yet: its last turn is not stored',
  local: 'local: it stays on its node',
} as const;

/** What executes its turns at the moment in place of its own provider or login. */
function describeSeat({ provider, model, account }: NonNullable<Agent['acting']>): string {
  return [provider, model && `(${model})`, account && `with the account ${account}`].filter(Boolean).join(' ');
}

/** What its parent noted about it. */
function pairsOf(metadata: Agent['metadata']): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

/** The limits of the agent itself, and of it and all below it. */
async function budgetFacts(client: Client, agent: Agent): Promise<string[][]> {
  const { items } = await client.listBudgets();
  const own = items.filter(({ scope, of }) => scope !== 'person' && of === agent.handle);
  return own.map((budget) => ['budget', describeBudget(budget)]);
}

/** The settings that are set, in words. */
function factsOf(agent: Agent): string[][] {
  const { persona, arguments: args, tools } = agent;
  const given = Object.entries(args).map(([key, value]) => `${key}=${value}`);
  const facts: [string, string | null][] = [
    ['id', agent.id],
    ['name', agent.name],
    ['role', agent.role],
    ['provider', agent.model === null ? agent.provider : `${agent.provider} (${agent.model})`],
    ['now run by', agent.acting && describeSeat(agent.acting)],
    ['program', agent.program],
    ['persona', persona === null ? null : [persona, ...given].join(' ')],
    ['workspace', agent.workspace],
    ['node', agent.node],
    ['portability', agent.portability && PORTABILITY[agent.portability]],
    ['not pushed', agent.work?.problem ?? null],
    ['left out', agent.work && agent.work.leftOut.length > 0 ? agent.work.leftOut.join(', ') : null],
    ['tools', tools === null ? 'all' : tools.join(', ') || 'none'],
    ['metadata', pairsOf(agent.metadata) || null],
    ['paused', agent.paused && `${ago(agent.paused.at)}: ${agent.paused.reason}`],
    ['created', ago(agent.createdAt)],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}
