import { accessSync, constants } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import { claude } from '../providers/claude/claude.ts';
import type { CodingOptions } from '../providers/cli.ts';
import { codex } from '../providers/codex/codex.ts';
import { copilot } from '../providers/copilot/copilot.ts';
import { cursorAgent } from '../providers/cursor-agent/cursor-agent.ts';
import { type Describes, described, type InstalledProgram, type ProviderName } from '../providers/described.ts';
import { gemini } from '../providers/gemini/gemini.ts';
import { llmDefaults } from '../providers/llm/describe.ts';
import { llm } from '../providers/llm/llm.ts';
import { opencode } from '../providers/opencode/opencode.ts';
import { pi } from '../providers/pi/pi.ts';
import type { Provider } from '../providers/provider.ts';
import { qwen } from '../providers/qwen/qwen.ts';
import { scripted } from '../providers/scripted/scripted.ts';
import type { Prices } from '../runs/run-turn.ts';

type Settings = Config['providers'];

/** Limits and prices of each provider. */
export type ProviderLimits = Readonly<
  Record<string, Pick<NonNullable<Settings[ProviderName]>, 'slots' | 'prices'> | undefined>
>;

/** What every provider gets. */
interface ProviderHost {
  readonly env: Readonly<Record<string, string>>;
  readonly confined: boolean;
}

type Makers = {
  readonly [Name in ProviderName]: (place: ProviderHost, settings: Settings[Name], about: Describes<Name>) => Provider;
};

/** A program with tools of its own for a shell and files. */
function coding(make: (options: CodingOptions) => Provider) {
  type Given = Started & { readonly ownTools: boolean };
  return (place: ProviderHost, settings: Given | undefined, { program }: { readonly program: InstalledProgram }) =>
    make({ ...place, ...started(program, settings), ownTools: settings?.ownTools ?? true });
}

/** One entry per description; the compiler reports a missing one. */
const makers: Makers = {
  scripted: ({ env }, settings) =>
    scripted({
      nodePath: process.execPath,
      env,
      extraEnv: settings?.env ?? {},
      ...(settings?.command && { command: settings.command, args: settings.args }),
    }),
  claude: coding(claude),
  codex: coding(codex),
  opencode: coding(opencode),
  gemini: coding(gemini),
  copilot: coding(copilot),
  qwen: coding(qwen),
  pi: (place, settings, { program }) =>
    pi({
      ...place,
      ...started(program, settings),
      ownTools: settings?.ownTools ?? true,
      mcpAdapter: settings?.mcpAdapter ?? null,
    }),
  'cursor-agent': (place, settings, { program }) =>
    cursorAgent({ ...place, ...started(program, settings), force: settings?.force ?? false }),
  llm: ({ env }, settings) => {
    const { idleTimeout, ...given } = settings ?? llmDefaults;
    return llm({ ...given, env, idleMs: idleTimeout * 1_000 });
  },
};

/** The providers that this daemon executes. `external` is not among them: other programs run those agents. */
export function createProviders(config: Config, daemonEnv: NodeJS.ProcessEnv): ReadonlyMap<string, Provider> {
  const place = { env: daemonEnv as Record<string, string>, confined: config.sandbox.mode !== 'none' };
  const make = <Name extends ProviderName>(about: Describes<Name>): Provider =>
    makers[about.name as Name](place, config.providers[about.name as Name], about);
  return new Map(described.map((about) => [about.name, make(about)]));
}

/** The providers that can run agents here: their program is installed, or they do not need one. */
export function foundProviders(config: Config, { PATH = '' }: NodeJS.ProcessEnv): string[] {
  const directories = PATH.split(delimiter);
  return described.flatMap((about) => {
    if (!('program' in about)) return [about.name];
    const command = config.providers[about.name]?.command ?? about.program.command;
    return directories.some((directory) => isExecutable(resolve(directory, command))) ? [about.name] : [];
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

type Started = Pick<NonNullable<Settings['cursor-agent']>, 'command' | 'args' | 'env'>;

/** The command, arguments and environment of a program, from the configuration. */
function started({ command }: InstalledProgram, settings: Started | undefined) {
  return { command: settings?.command ?? command, args: settings?.args ?? [], extraEnv: settings?.env ?? {} };
}

/** The slots of providers that have their own limit. */
export function providerSlots({ providers }: { readonly providers: ProviderLimits }): Record<string, number> {
  const limited = Object.entries(providers).map(([name, settings]) => [name, settings?.slots ?? null] as const);
  return Object.fromEntries(limited.filter((entry): entry is [string, number] => entry[1] !== null));
}

/** Prices per million tokens: the model's, or else the provider's. */
export function pricesOf(
  { providers }: { readonly providers: ProviderLimits },
  provider: string,
  model: string | null,
): Prices | null {
  const prices = providers[provider]?.prices;
  if (!prices) return null;
  return model !== null && Object.hasOwn(prices.models, model) ? (prices.models[model] ?? null) : prices.every;
}

/** Throws if the agent would have more tools than the provider's program supports. */
export async function checkTools(
  provider: Provider | undefined,
  agent: Pick<Agent, 'workspace' | 'tools'>,
  custom: readonly { readonly name: string }[],
): Promise<void> {
  if (provider?.about.maxTools === undefined) return;
  const { name, maxTools, toolServers } = provider.about;
  // Imported lazily: callers that create agents have it loaded, a starting daemon does not need it.
  const { countTools } = await import('../tools/catalog.ts');
  const ours = countTools(agent.tools, custom);
  const others = provider.otherTools?.(agent.workspace) ?? 0;
  if (ours + others <= maxTools) return;
  const servers = toolServers === undefined ? '' : `, or remove servers from ${toolServers}`;
  throw new SubstratError(
    'cap_reached',
    `${name} supports at most ${maxTools} tools. The agent's scope has ${ours}, and the MCP servers of its workspace have at least ${others}. Limit its tools with --tools${servers}.`,
  );
}
