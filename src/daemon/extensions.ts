import { loadConfig } from '../config/config.ts';
import type { Knowledge } from '../core/knowledge.ts';
import { type Extensions, openExtensions } from '../extensions/extensions.ts';
import { readScript } from '../scripting/open.ts';
import type { Node } from './node.ts';

/** The personas and tools of the daemon's configuration, which follow its file and their own. */
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
      // Broken since the start, which was a good one.
      if (!opened) return config;
      throw error;
    }
  };
  const extensions = await openExtensions({
    read,
    knowledge,
    env: process.env,
    readScript,
    log: (level, message) => log[level]({}, message),
  });
  opened = true;
  for (const problem of extensions.problems()) log.warn({}, problem);
  extensions.watch();
  return extensions;
}
