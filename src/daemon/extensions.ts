import { type Config, loadConfig } from '../config/config.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { type Extensions, openExtensions } from '../tools/extensions.ts';
import type { Home } from './home.ts';
import type { Log } from './log.ts';

/** The personas and tools of the daemon's configuration, which follow its file and their own. */
export async function openDaemonExtensions(daemon: {
  readonly config: Config;
  readonly home: Home;
  readonly tools: { readonly settings: { readonly knowledge: Knowledge } };
  readonly log: Log;
}): Promise<Extensions> {
  const { config, home, log } = daemon;
  const { file } = config;
  const extensions = await openExtensions({
    read: () => (file === null ? config : loadConfig({ file, cwd: process.cwd(), home: home.path, env: process.env })),
    knowledge: daemon.tools.settings.knowledge,
    env: process.env,
    log: (level, message) => log[level]({}, message),
  });
  for (const problem of extensions.problems()) log.warn({}, problem);
  extensions.watch();
  return extensions;
}
