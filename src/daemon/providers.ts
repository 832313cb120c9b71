import { accessSync, constants } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { acpProviders, type Config } from '../config/config.ts';
import type { Agent } from '../core/agent.ts';
import { SubstratError } from '../core/errors.ts';
import type { Thresholds } from '../core/progress.ts';
import type { Prices, Pricing } from '../core/usage.ts';
import { acp } from '../providers/acp/acp.ts';
import { acpStart } from '../providers/acp/describe.ts';
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
import { LIBRARY } from './own-files.ts';

type Settings = Config['providers'];

/** Limits, prices and accounts of each provider. */
export type ProviderLimits = Readonly<
  Record<
    string,
    | (Pick<NonNullable<Settings[ProviderName]>, 'slots' | 'prices' | 'quietAfter' | 'stalledAfter'> & {
        readonly assumePrice?: Prices | null;
      } & {
        readonly env?: Variables;
        readonly accounts?: Readonly<Record<string, { readonly env: Variables }>>;
      })
    | undefined
  >
>;
type Variables = Readonly<Record<string, string>>;

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
      library: LIBRARY,
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
  const make = <Name extends ProviderName>(about: Describes<Name>, settings: Settings[Name]): Provider =>
    makers[about.name as Name](place, settings, about);
  const agents = acpProviders(config.providers).flatMap(([name, { env, accounts, ...settings }]) => {
    const start = acpStart(name, settings) ?? { command: name, args: [] };
    const all = Object.entries({ '': { env: {} }, ...accounts });
    return all.map(([account, own]): [string, Provider] => {
      return [keyOf(name, account), acp({ ...place, ...settings, ...start, name, extraEnv: { ...env, ...own.env } })];
    });
  });
  const made = described.flatMap((about) => {
    const settings = config.providers[about.name];
    const own: [string, Provider] = [about.name, make(about, settings)];
    if (!settings || !('accounts' in settings)) return [own];
    const accounts = Object.entries(settings.accounts).map(([account, { env }]): [string, Provider] => {
      return [keyOf(about.name, account), make(about, { ...settings, env: { ...settings.env, ...env } })];
    });
    return [own, ...accounts];
  });
  return new Map([...made, ...agents]);
}

/** The name of a provider's account among the providers. */
export function keyOf(provider: string, account: string): string {
  return account === '' ? provider : `${provider}/${account}`;
}

/** The providers that can run agents here: their program is installed, or they do not need one. */
export function foundProviders(config: Config, { PATH = '' }: NodeJS.ProcessEnv): string[] {
  const directories = PATH.split(delimiter);
  const isFound = (command: string) => directories.some((directory) => isExecutable(resolve(directory, command)));
  const agents = acpProviders(config.providers).filter(([name, settings]) =>
    isFound(acpStart(name, settings)?.command ?? name),
  );
  return [
    ...described.flatMap((about) => {
      if (!('program' in about)) return [about.name];
      return isFound(config.providers[about.name]?.command ?? about.program.command) ? [about.name] : [];
    }),
    ...agents.map(([name]) => name),
  ];
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

/** Prices per million tokens: the model's, else the provider's, else what the configuration assumes. */
export function pricesOf(
  { providers }: { readonly providers: ProviderLimits },
  provider: string,
  model: string | null,
): Prices | null {
  const { prices = null, assumePrice = null } = providers[provider] ?? {};
  const own = model !== null && prices && Object.hasOwn(prices.models, model) ? prices.models[model] : null;
  return own ?? prices?.every ?? assumePrice;
}

/** How the costs of a provider are known. */
export function pricingOf(
  { providers }: { readonly providers: ProviderLimits },
  { name, reportsCost }: Pick<Provider['about'], 'name' | 'reportsCost'>,
): Pricing {
  const { prices = null, assumePrice = null } = providers[name] ?? {};
  if (reportsCost) return { ...UNPRICED, kind: 'reported' };
  const assumed = prices?.every ? null : assumePrice;
  if (prices) return { kind: 'configured', ...prices, assumed };
  return { ...UNPRICED, kind: assumed ? 'assumed' : 'unknown', assumed };
}

const UNPRICED: Pricing = { kind: 'unknown', every: null, models: {}, assumed: null, source: null, asOf: null };

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

/** After how long without a sign of life a turn is quiet or stalled. */
export function thresholdsOf(
  {
    daemon,
    providers,
  }: { readonly daemon: Pick<Config['daemon'], 'quietAfterMs' | 'stalledAfterMs'> } & {
    readonly providers: ProviderLimits;
  },
  name: string,
): Thresholds {
  const own = providers[name];
  const quietMs = own?.quietAfter ?? daemon.quietAfterMs;
  return { quietMs, stalledMs: Math.max(quietMs, own?.stalledAfter ?? daemon.stalledAfterMs) };
}
