import { harmless } from '../command-line/terminal.ts';
import type { ReadScript } from '../scripting/open.ts';
import type { Scripting } from '../scripting/scripting.ts';

/** Opens script sources; the Lua runtime starts with the first one. */
export function scriptSources(readScript: ReadScript) {
  let scripting: Promise<Scripting> | null = null;
  const start = async () => {
    const { openScripting } = await import('../scripting/scripting.ts');
    return openScripting();
  };
  return {
    open: async (source: string, settings: Readonly<Record<string, unknown>>) => {
      scripting ??= start();
      const { scriptConnector } = await import('../knowledge/connectors/script.ts');
      const log = (level: string, message: string) =>
        void process.stderr.write(`${level}: ${source}: ${harmless(message)}\n`);
      return scriptConnector(source, { scripting: await scripting, settings, env: process.env, readScript, log });
    },
    close: async () => (await scripting)?.close(),
  };
}
