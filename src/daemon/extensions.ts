import { type Config, loadConfig } from '../config/config.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { type Extensions, openExtensions } from '../extensions/extensions.ts';
import { readScript } from '../scripting/open.ts';
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
  let opened = false;
  const read = () => {
    if (file === null) return config;
    try {
      return loadConfig({ file, cwd: process.cwd(), home: home.path, env: process.env });
    } catch (error) {
      // Broken since the start, which was a good one.
      if (!opened) return config;
      throw error;
    }
  };
  const extensions = await openExtensions({
    read,
    knowledge: daemon.tools.settings.knowledge,
    env: process.env,
    readScript,
    log: (level, message) => log[level]({}, message),
  });
  opened = true;
  for (const problem of extensions.problems()) log.warn({}, problem);
  extensions.watch();
  return extensions;
}
