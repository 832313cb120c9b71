import type { Command } from 'commander';
import type { Context, GlobalOptions } from '../command-line/context.ts';
import { harmless } from '../command-line/terminal.ts';
import { loadConfig } from '../config/config.ts';
import { readScript } from '../scripting/open.ts';
import { type ConfigReader, createConfigReader } from './config-reader.ts';

/** `substrat` reads what the daemon would read; `ctx` also looks in the current directory. */
export function openReader({ program, home }: Context, command: Command, { quiet = false } = {}): ConfigReader {
  const { config: named, trust = false } = command.optsWithGlobals<GlobalOptions & { readonly trust?: boolean }>();
  const around = { cwd: process.cwd(), home: home(), env: process.env };
  if (program === 'substrat') {
    return {
      load: () => loadConfig({ ...around, file: named }),
      readScript,
      trusted: false,
      record: null,
      within: null,
    };
  }
  const say = (message: string) => void (quiet || process.stderr.write(`ctx: ${harmless(message)}\n`));
  return createConfigReader({ ...around, named, trust, say });
}
