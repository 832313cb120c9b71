import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import type { ShownProvider } from '../http/api.ts';
import type { Provider } from '../providers/provider.ts';
import type { Node } from './node.ts';
import { loginOf } from './provider-choice.ts';
import { foundProviders, type ProviderLimits, pricingOf } from './providers.ts';

/** How long a list waits for the versions that it does not know yet. */
const PATIENCE_MS = 2_000;
/** A program that has not answered by then is ended. */
const PROBE_MS = 10_000;

interface Listing extends Pick<Node, 'store' | 'clock' | 'home'> {
  readonly config: Config;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Everything that is known of the providers without asking a service. Versions are asked once; a program that is slow
 * to answer has none for now, and the next list shows it.
 */
export function createProviderList({ store, clock, home, config, providers, env }: Listing) {
  const versions = new Map<string, string | null>();
  const asking = new Map<string, Promise<void>>();
  const settings: ProviderLimits = config.providers;

  const ask = (name: string, command: string): Promise<void> => {
    const known = asking.get(name);
    if (known !== undefined) return known;
    const asked = versionOf(command, env).then((version) => {
      if (version === null) asking.delete(name);
      else versions.set(name, version);
    });
    asking.set(name, asked);
    return asked;
  };

  return async (): Promise<ShownProvider[]> => {
    const found = foundProviders(config, env);
    const abouts = [...providers].filter(([name]) => !name.includes('/')).map(([, { about }]) => about);
    const asked = abouts.flatMap(({ name, program }) => {
      // Some programs do not have a version, and start instead of telling it.
      if (!program?.versionProblem || !found.includes(name)) return [];
      const { command } = { command: null, ...settings[name] };
      return [ask(name, command ?? program.command)];
    });
    const waiting = new AbortController();
    await Promise.race([Promise.all(asked), sleep(PATIENCE_MS, null, { signal: waiting.signal }).catch(() => {})]);
    waiting.abort();
    const now = clock();
    const { limits, handles } = await store.read(async (tx) => {
      const limits = await tx.limits.listLimits({ nodeId: home.nodeId, now });
      const agents = await Promise.all(limits.map(({ agentId }) => tx.agents.getAgent({ id: agentId })));
      return { limits, handles: agents.map((agent) => agent?.handle ?? null) };
    });
    return abouts.map((about) => {
      const { name, program } = about;
      const version = versions.get(name) ?? null;
      const isFound = found.includes(name);
      return {
        name,
        found: isFound,
        version,
        problem: !isFound
          ? (program?.install ?? null)
          : version === null
            ? null
            : (program?.versionProblem?.(version) ?? null),
        login: loginOf(config, env, name),
        accounts: Object.keys(settings[name]?.accounts ?? {}),
        isDefault: config.daemon.defaultProvider === name,
        pricing: pricingOf(config, about),
        limits: limits.flatMap(({ provider, account, until, reason, grade }, n) =>
          provider === name ? [{ account: account || null, agent: handles[n] ?? null, until, reason, grade }] : [],
        ),
      };
    });
  };
}

/** The first line that it prints; null if it prints none in time. */
function versionOf(command: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { env, cwd: '/', timeout: PROBE_MS, killSignal: 'SIGKILL' as const, maxBuffer: 64 * 1024 };
    const child = execFile(command, ['--version'], options, (error, stdout) => {
      resolve(error ? null : (stdout.trim().split('\n')[0]?.slice(0, 100) ?? null));
    });
    child.stdin?.end();
    child.unref();
  });
}
