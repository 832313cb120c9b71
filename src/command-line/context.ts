import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { SubstratError } from '../core/errors.ts';

/** What commands share. */
export interface Context {
  /** Which command line was called; each locates its configuration differently. */
  readonly program: 'substrat' | 'ctx';
  readonly version: string;
  readonly home: () => string;
  readonly print: (line: string) => void;
}

/** Wrong usage: exit code 2. */
export class UsageError extends Error {}

export interface GlobalOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export function isJson(command: Command): boolean {
  return command.optsWithGlobals<GlobalOptions>().json ?? false;
}

/** Collects `--arg k=v`. */
export function collectArgument(text: string, given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined)
    throw new UsageError(`Arguments have the form name=value; got "${text}".`);
  return { ...given, [key]: value };
}

export function readCount(option: string, text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 500) return count;
  throw new UsageError(`${option} takes a number from 1 to 500; got "${text}".`);
}

/** A text argument; "-" reads stdin. */
export function readArgument(text: string): string {
  return text === '-' ? readText(0) : text;
}

export function readText(file: string | number): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SubstratError('bad_request', `${file} cannot be read: ${(error as Error).message}.`);
  }
}
