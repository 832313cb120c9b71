import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../command-line/context.ts';
import { MAX_ATTACHMENT_BYTES } from '../core/attachment.ts';

/** Adds `--attach` to a command that sends a text. */
export function withAttach(command: Command): Command {
  const collect = (file: string, files: readonly string[]): string[] => [...files, file];
  return command.option('--attach <file>', 'attach a file, at most 5 MiB; repeatable', collect, []);
}

export function readAttachment(file: string): { name: string; data: string } {
  const problem = (why: string) => new UsageError(`${file} cannot be attached: ${why}.`);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) throw problem('there is no such file');
  if (!stat.isFile()) throw problem('it is not a regular file');
  if (stat.size > MAX_ATTACHMENT_BYTES)
    throw problem(`it has ${stat.size} bytes; at most ${MAX_ATTACHMENT_BYTES} are allowed`);
  return { name: basename(file), data: readFileSync(file).toString('base64') };
}
