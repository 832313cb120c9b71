import { realpathSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { consents } from '../../command-line/ask.ts';
import { type Context, type GlobalOptions, isJson, UsageError } from '../../command-line/context.ts';
import { table } from '../../command-line/terminal.ts';
import { findConfig } from '../../config/find-config.ts';
import { makeHome } from '../../config/home.ts';
import { type Examined, examineFound } from '../../config/trust.ts';
import { listRecords, readRecord, removeRecord, type TrustRecord, writeRecord } from '../../config/trust-records.ts';
import { oneLine } from '../../config/wants.ts';
import { SubstratError } from '../../core/errors.ts';
import { differenceOf } from '../difference.ts';

interface TrustFlags {
  readonly yes?: boolean;
  readonly list?: boolean;
  readonly remove?: boolean;
}

const MOST_LINES = 400;

export function trustCommand(context: Context): Command {
  return new Command('trust')
    .description("Trust a directory's configuration and the scripts it names, with their current content.")
    .argument('[file]', 'configuration file (default: the one in the current directory)')
    .option('--yes', 'do not ask for confirmation')
    .option('--list', 'list trusted configurations')
    .option('--remove', 'remove the trust')
    .addHelpText('after', '\nExample:\n  ctx trust\n  ctx trust --list\n  ctx trust --remove ~/project/ctx.toml')
    .action(async (given: string | undefined, flags: TrustFlags, command: Command) => {
      const home = context.home();
      if (flags.list) return list(context, command, home);
      const file = fileOf(given ?? command.optsWithGlobals<GlobalOptions>().config, home);
      if (flags.remove) return remove(context, command, home, file);
      const examined = examineFound({ file, cwd: process.cwd(), home, env: process.env });
      if (examined.problem !== null)
        throw new SubstratError('forbidden', `${file} cannot be trusted: ${examined.problem}.`);
      const last = readRecord(home, examined.record.file);
      if (!isJson(command)) for (const line of describeExamined(examined, last)) context.print(line);
      if (!flags.yes && !isKnown(examined.record, last) && !(await agreed())) {
        throw new SubstratError('forbidden', 'Not confirmed. Nothing was changed.');
      }
      makeHome(home);
      writeRecord(home, examined.record);
      const { record, wants } = examined;
      if (!isJson(command)) return context.print(`Trusted ${record.file}`);
      context.print(JSON.stringify({ file: record.file, trusted: true, wants, files: Object.keys(record.files) }));
    });
}

/** Whether exactly these files were trusted before. */
function isKnown({ files }: TrustRecord, last: TrustRecord | null): boolean {
  return last !== null && isDeepStrictEqual(files, last.files);
}

/** Throws if there is no terminal to ask on. */
function agreed(): Promise<boolean> {
  if (process.stdin.isTTY && process.stdout.isTTY) return consents('Trust it?', process.stdin, process.stderr);
  throw new UsageError('Cannot ask for confirmation without a terminal. Read the file, then add --yes.');
}

function fileOf(given: string | undefined, home: string): string {
  if (given !== undefined) return resolve(given);
  const { file, how } = findConfig({ named: undefined, cwd: process.cwd(), home, env: {} });
  if (how === 'directory' && file !== null) return file;
  throw new SubstratError(
    'not_found',
    'This directory has no ctx.toml, .ctx/config.toml or config/ctx.toml. A file in the home or named with --config does not need trust.',
  );
}

function describeExamined({ record, wants, modules }: Examined, last: TrustRecord | null): string[] {
  const { file, files } = record;
  const scripts = Object.entries(files).filter(([path]) => path !== file);
  const directory = dirname(file);
  const shown = (path: string) =>
    oneLine(relative(directory, path).startsWith('..') ? path : relative(directory, path));
  return [
    wants.length === 0 ? `${file} does not need any permissions.` : `${file} wants to:`,
    ...wants.map(({ table: where, text }) => `  ${text} (${where})`),
    ...(scripts.length === 0 ? [] : ['Trusted with their current content:']),
    ...scripts.map(([path, content]) => `  ${shown(path)}${content === null ? ' (does not exist)' : ''}`),
    ...modules.map(
      (path) =>
        `${shown(path)} is a module. Everything in ${oneLine(dirname(path))} that it imports is trusted as well, even if it changes later.`,
    ),
    ...(last === null ? [] : describeChange(last, record, shown)),
  ];
}

function describeChange(last: TrustRecord, now: TrustRecord, shown: (path: string) => string): string[] {
  const paths = [...new Set([...Object.keys(last.files), ...Object.keys(now.files)])];
  const lines = paths.flatMap((path) => {
    const difference = differenceOf(last.files[path]?.text ?? '', now.files[path]?.text ?? '');
    return difference.length === 0 ? [] : [`${shown(path)}:`, ...difference.map((line) => `  ${line}`)];
  });
  const since = `since you trusted it on ${last.at.slice(0, 10)}`;
  if (lines.length === 0) return [`Nothing has changed ${since}.`];
  const rest = lines.length - MOST_LINES;
  return [`Changed ${since}:`, ...lines.slice(0, MOST_LINES), ...(rest > 0 ? [`… and ${rest} more lines`] : [])];
}

function list(context: Context, command: Command, home: string): void {
  const records = listRecords(home).map(({ file, at, files }) => ({ file, at, files: Object.keys(files) }));
  const rows = records.map(({ file, at, files }) => [file, at.slice(0, 19), String(files.length - 1)]);
  const lines = rows.length === 0 ? ['No configuration is trusted.'] : table(['FILE', 'SINCE', 'SCRIPTS'], rows);
  for (const line of isJson(command) ? [JSON.stringify({ trusted: records })] : lines) context.print(line);
}

function remove(context: Context, command: Command, home: string, given: string): void {
  const file = realOf(given);
  if (!removeRecord(home, file)) throw new SubstratError('not_found', `${file} is not trusted.`);
  context.print(isJson(command) ? JSON.stringify({ file, trusted: false }) : `No longer trusted: ${file}`);
}

/** A deleted file can still be untrusted. */
function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
