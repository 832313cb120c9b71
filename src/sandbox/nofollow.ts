import { closeSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { SubstratError } from '../core/errors.ts';

/** A place in the file tree, not a way to read it. Node does not name this flag; its value is the same on every Linux that we run on. */
const O_PATH = 0o10000000;
const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Opens what is at `path` step by step from `base` on, and refuses a symbolic link at each step. The descriptor stays
 * what it is whatever somebody puts at the path afterwards. The caller closes it.
 */
export function openWithoutLinks(base: string, path: string): number {
  return walk(openSync(base, O_PATH | O_DIRECTORY), partsOf(base, path), path);
}

/** Makes what is missing below an open directory for something to be mounted there, without following a link. */
export function makeTarget(directory: number, base: string, target: string, kind: 'directory' | 'file'): void {
  const parts = partsOf(base, target);
  const name = kind === 'file' ? parts.pop() : undefined;
  const parent = walk(openSync(at(directory), O_PATH | O_DIRECTORY), parts, target, makeDirectory);
  try {
    if (name !== undefined) makeFile(`${at(parent)}/${name}`, target);
  } finally {
    closeSync(parent);
  }
}

/** Takes over the descriptor it begins with. */
function walk(from: number, parts: readonly string[], path: string, prepare?: (step: string) => void): number {
  let here = from;
  for (const part of parts) {
    const step = `${at(here)}/${part}`;
    try {
      prepare?.(step);
      const next = openSync(step, O_PATH | O_NOFOLLOW);
      closeSync(here);
      here = next;
    } catch (error) {
      closeSync(here);
      throw refusal(path, error);
    }
    if (!fstatSync(here).isSymbolicLink()) continue;
    closeSync(here);
    throw isLink(path, part);
  }
  return here;
}

function makeDirectory(step: string): void {
  try {
    mkdirSync(step, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function makeFile(step: string, target: string): void {
  try {
    closeSync(openSync(step, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600));
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw refusal(target, error);
  }
  const there = openSync(step, O_PATH | O_NOFOLLOW);
  const linked = fstatSync(there).isSymbolicLink();
  closeSync(there);
  if (linked) throw isLink(target, '');
}

/** A descriptor's own entry leads to the very directory that was opened, and a name after it to what is in there. */
function at(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

function partsOf(base: string, path: string): string[] {
  return relative(base, path).split(sep).filter(Boolean);
}

function isLink(path: string, part: string): SubstratError {
  const where = part === '' || path.endsWith(`/${part}`) ? path : `${part} on the way to ${path}`;
  return new SubstratError('forbidden', `${where} is a symbolic link; in a sandbox it must be the thing itself.`);
}

function refusal(path: string, error: unknown): SubstratError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new SubstratError('forbidden', `${path} cannot be given to the sandbox: ${code ?? message}.`, {
    cause: error,
  });
}
