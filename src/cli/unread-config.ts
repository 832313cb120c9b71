import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { homeConfig } from '../config/home.ts';

/** The files that Substrat 0.1.0 read in the current directory, in order. */
const READ_BEFORE = ['substrat.toml', 'ctx.toml', 'config/ctx.toml'];

/**
 * The daemon reads no file in the current directory. Names the one that 0.1.0 would have read, and the commands that
 * use it; null if there is none.
 */
export function describeUnreadConfig(cwd: string, home: string, command: string): string | null {
  const name = READ_BEFORE.find((path) => existsSync(join(cwd, path)));
  if (name === undefined) return null;
  const [file, own] = [quoted(resolve(cwd, name)), homeConfig(home)];
  const reads = own ?? 'the defaults';
  const move =
    own === null
      ? ` To use it always, run \`mv ${file} ${quoted(join(home, 'config.toml'))}\`; paths in it are relative to the file, so make them absolute first.`
      : '';
  return `${name} in this directory is not read; the daemon uses ${reads}. To use it, run \`${command} --config ${file}\`.${move}`;
}

/** A path quoted for a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
