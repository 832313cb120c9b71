import type { Config } from '../config/config.ts';
import type { Provider } from '../providers/provider.ts';
import { scripted } from '../providers/scripted.ts';

/** The providers that this daemon can execute. `external` is none of them: somebody else runs those agents. */
export function createProviders(config: Config, env: NodeJS.ProcessEnv): ReadonlyMap<string, Provider> {
  const settings = config.providers.scripted;
  const provider = scripted({
    nodePath: process.execPath,
    env: env as Record<string, string>,
    extraEnv: settings?.env ?? {},
    ...(settings?.command && { command: settings.command, args: settings.args }),
  });
  return new Map([[provider.name, provider]]);
}

export const EXTERNAL = 'external';
