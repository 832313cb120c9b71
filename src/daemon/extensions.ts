import { loadConfig } from '../config/config.ts';
import { withSecrets } from '../config/secrets.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { type Extensions, openExtensions } from '../extensions/extensions.ts';
import { readScript } from '../scripting/open.ts';
import type { Node } from './node.ts';

/** Opens the configured personas and tools, and reloads them when the configuration or their files change. */
export async function openDaemonExtensions({
  config,
  home,
  knowledge,
  log,
}: Pick<Node, 'config' | 'home' | 'log'> & { readonly knowledge: Knowledge }): Promise<Extensions> {
  const { file } = config;
  let opened = false;
  const read = () => {
    if (file === null) return config;
    try {
      return loadConfig({ file, cwd: process.cwd(), home: home.path, env: process.env });
    } catch (error) {
      // The file was valid when the daemon started, and broke since.
      if (!opened) return config;
      throw error;
    }
  };
  const extensions = await openExtensions({
    read,
    knowledge,
    env: withSecrets(process.env, home.path),
    readScript,
    log: (level, message) => log[level]({}, message),
  });
  opened = true;
  for (const problem of extensions.problems()) log.warn({}, problem);
  extensions.watch();
  return extensions;
}
