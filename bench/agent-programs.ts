import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../src/client/client.ts';
import { configArguments } from '../src/providers/codex/config.ts';
import { findInstalled, type Pinned } from '../test/clis/installed.ts';
import { CLAUDE, CODEX } from '../test/clis/pinned.ts';
import { startDaemon } from './daemon.ts';
import { startProgram } from './load.ts';
import { type Bench, median, type Round, type Row } from './measure.ts';

const PAIRS = 24;
const MODEL = 'mock-model';
const PROMPT = 'Say something.';

interface BareProgram {
  readonly name: string;
  readonly pinned: Pinned;
  /** The variables for the model and its key. */
  env(url: string): Record<string, string>;
  /** How a person would run it without a terminal, with the settings that agents have. */
  args(url: string, mcpConfig: string): readonly string[];
}

const PROGRAMS: readonly BareProgram[] = [
  {
    name: 'claude',
    pinned: CLAUDE,
    env: (url) => ({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }),
    args: () => [
      ...['-p', '--output-format', 'stream-json', '--verbose', '--include-partial-messages', '--model', MODEL],
      ...['--setting-sources', '', '--tools', 'Bash,Read,Edit,Write,Glob,Grep,NotebookEdit'],
    ],
  },
  {
    name: 'codex',
    pinned: CODEX,
    env: (url) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${url}/v1` }),
    args: (url, mcpConfig) => {
      const settings = configArguments(
        { model: MODEL, mcpConfig },
        { ownTools: true, confined: false, guarded: false, address: `${url}/v1` },
      );
      return ['exec', '--json', '--skip-git-repo-check', ...settings, '-'];
    },
  },
];

/** What agents' programs are told, so that they send nothing else. */
const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  DISABLE_AUTOUPDATER: '1',
};

/**
 * A turn of a real program in the sandbox, from the person's post to the reply, against the program run bare with the
 * same prompt: from its start to its exit. Each time with a new home. The model is a process of its own.
 */
export default async function agentPrograms({ scratch, defer }: Bench): Promise<Row[]> {
  const found = PROGRAMS.flatMap((program) => {
    const command = findInstalled(program.pinned);
    if (command === null) console.error(`  ${program.name}: skipped, not installed; \`npm run test:clis\` installs it`);
    return command === null ? [] : [{ program, command }];
  });
  if (found.length === 0) return [];
  const file = join(scratch, 'url');
  const model = await startProgram('fake-model.ts', [file, '1']);
  defer(() => model.kill());
  const url = readFileSync(file, 'utf8');
  const tables = found.map(({ program, command }) => {
    const env = Object.entries(program.env(url)).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    return `[providers.${program.name}]\ncommand = ${JSON.stringify(command)}\nenv = { ${env.join(', ')} }\n`;
  });
  const { client, stop } = await startDaemon(join(scratch, 'home'), {}, `mode = "bwrap"\n${tables.join('')}`);
  defer(() => stop());
  const rows: Row[] = [];
  for (const { program, command } of found) rows.push(await compare(client, program, { command, url, scratch }));
  return rows;
}

async function compare(
  client: Client,
  { name, env, args }: BareProgram,
  { command, url, scratch }: { command: string; url: string; scratch: string },
): Promise<Row> {
  const servers = join(scratch, 'mcp.json');
  writeFileSync(servers, '{"mcpServers":{}}');
  const bare = async (n: number): Promise<number> => {
    const home = join(scratch, `${name}-home-${n}`);
    mkdirSync(home);
    const begin = performance.now();
    const variables = { PATH: process.env.PATH, HOME: home, ...QUIET, ...env(url) };
    const child = spawn(command, args(url, servers), {
      cwd: home,
      env: variables,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.stdin?.end(PROMPT);
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`${name} exited with ${code}`);
    return performance.now() - begin;
  };
  const ours = async (n: number): Promise<number> => {
    const agent = await client.createAgent({ name: `${name}-${n}`, provider: name, model: MODEL });
    const begin = performance.now();
    const { messageId } = await client.sendMessage(agent.id, { text: PROMPT });
    const reply = await client.awaitReply(messageId, 60);
    if (reply?.kind !== 'reply') throw new Error(`no reply of ${name} but ${JSON.stringify(reply)}`);
    return performance.now() - begin;
  };
  await bare(PAIRS);
  await ours(PAIRS);
  const rounds: Round[] = [];
  for (let n = 0; n < PAIRS; n += 1) {
    // In turns first and second, so that neither profits from the other's warm files.
    if (n % 2 === 0) rounds.push({ yardstick: await bare(n), ours: await ours(n) });
    else rounds.push({ ours: await ours(n), yardstick: await bare(n) });
  }
  const yardstick = median(rounds.map((round) => round.yardstick));
  const difference = median(rounds.map((round) => round.ours - round.yardstick));
  return {
    name: `a turn of ${name}, against it run bare`,
    unit: 'ms',
    yardstick,
    result: yardstick + difference,
    goalOf: 'difference',
    atMost: 60,
    rounds,
  };
}
