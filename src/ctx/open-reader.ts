import type { Command } from 'commander';
import type { Context, GlobalOptions } from '../command-line/context.ts';
import { harmless } from '../command-line/terminal.ts';
import { DAEMON_SECTIONS, loadConfig } from '../config/config.ts';
import { type ConfigReader, createConfigReader, withWarnings } from '../config/config-reader.ts';
import { readScript } from '../scripting/open.ts';

/** `substrat` reads what the daemon would read; `ctx` also looks in the current directory. */
export function openReader({ program, home }: Context, command: Command, { quiet = false } = {}): ConfigReader {
  const { config: named, trust = false } = command.optsWithGlobals<GlobalOptions & { readonly trust?: boolean }>();
  const around = { cwd: process.cwd(), home: home(), env: process.env };
  const warn = (message: string) => void (quiet || process.stderr.write(`warning: ${harmless(message)}\n`));
  if (program === 'substrat') {
    const load = () => loadConfig({ ...around, file: named, unused: DAEMON_SECTIONS });
    return withWarnings({ load, readScript, trusted: false, record: null, within: null }, warn);
  }
  const say = (message: string) => void (quiet || process.stderr.write(`ctx: ${harmless(message)}\n`));
  return createConfigReader({ ...around, named, trust, say, warn, readScript });
}
