import { type Config, loadConfig } from '../config/config.ts';
import { configuredSources } from '../knowledge/connectors/create.ts';
import { createKnowledge } from '../knowledge/knowledge.ts';
import type { Store } from '../store/store.ts';
import { type Extensions, openExtensions } from '../tools/extensions.ts';
import type { Home } from './home.ts';
import type { Log } from './log.ts';

/** The personas and tools of the daemon's configuration, which follow its file and their own. */
export async function openDaemonExtensions(daemon: {
  readonly config: Config;
  readonly home: Home;
  readonly store: Store;
  readonly log: Log;
}): Promise<Extensions> {
  const { config, home, store, log } = daemon;
  const { file } = config;
  const sources = configuredSources(config, { home: home.path, env: process.env });
  const { finalLimit } = config.retrieval;
  const extensions = await openExtensions({
    read: () => (file === null ? config : loadConfig({ file, cwd: process.cwd(), home: home.path, env: process.env })),
    knowledge: createKnowledge({ store, configured: sources.map(({ name }) => name), finalLimit }),
    env: process.env,
    log: (level, message) => log[level]({}, message),
  });
  for (const problem of extensions.problems()) log.warn({}, problem);
  extensions.watch();
  return extensions;
}
