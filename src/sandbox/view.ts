import { closeSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind, Command, Needs } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import { makeTarget, openWithoutLinks } from '../core/nofollow.ts';
import { isInside } from './paths.ts';
import { findInstallations, findOwnProgram, type Installation } from './program.ts';
import type { Enclosure } from './sandbox.ts';
import { type Mount, systemDirectories } from './system.ts';

/**
 * The files that one turn sees in addition to the system. Each is held open, so that what is mounted is what was
 * checked.
 */
export class View {
  readonly mounts: Mount[] = [];
  /** The descriptors bwrap inherits, starting at `#first`. */
  readonly descriptors: number[] = [];
  readonly #first: number;
  readonly #substrat: string;
  readonly #enclosure: Enclosure;
  /** Directories that the agent can write, by target. */
  readonly #writable = new Map<string, number>();
  readonly #seen = [...systemDirectories];

  constructor(substrat: string, enclosure: Enclosure, first: number) {
    this.#substrat = substrat;
    this.#enclosure = enclosure;
    this.#first = first;
  }

  /** Agents can place a symlink in a writable directory at any time until the mount, so none is followed there. */
  give({ source, target, mode }: Bind, place: 'trusted' | 'open to others'): void {
    const base = isInside(this.#substrat, source) ? this.#substrat : '/';
    const descriptor =
      place === 'trusted' ? openWithoutLinks('/', realpathSync(source)) : openWithoutLinks(base, source);
    // From here on, closing the view closes it.
    this.descriptors.push(descriptor);
    const opened = `/proc/self/fd/${descriptor}`;
    this.#refuseHome(realpathSync(opened), source);
    const isDirectory = statSync(opened).isDirectory();
    // A file mounted at its own path already exists.
    if (isDirectory || source !== target) this.#makeTarget(target, isDirectory);
    const number = String(this.#first + this.descriptors.length - 1);
    this.mounts.push({ target, options: [mode === 'rw' ? '--bind-fd' : '--ro-bind-fd', number, target] });
    this.#seen.push(target);
    if (mode === 'rw' && isDirectory) this.#writable.set(target, descriptor);
  }

  /** Makes the program and its interpreter visible. Returns the file to start. */
  show({ file, cwd, env }: Command, { programs = [], installed = true }: Needs): string {
    const where = { cwd, path: env.PATH ?? '', home: this.#substrat };
    for (const program of programs) {
      const own = findOwnProgram(program, where);
      if (own === null) throw isMissing(program);
      this.#install(own, 'open to others');
    }
    if (!installed || programs.includes(file)) return file;
    const [found, ...interpreters] = findInstallations(file, where);
    if (!found) throw isMissing(file);
    for (const installation of [found, ...interpreters]) this.#install(installation, 'trusted');
    return found.file;
  }

  close(): void {
    for (const descriptor of this.descriptors.splice(0)) closeSync(descriptor);
  }

  #install({ file, real, shown }: Installation, place: 'trusted' | 'open to others'): void {
    if (this.#isSeen(file) && this.#isSeen(real)) return;
    for (const path of shown) {
      if (!this.#isSeen(path)) this.give({ source: path, target: path, mode: 'ro' }, place);
    }
    if (!this.#isSeen(file)) this.mounts.push({ target: file, options: ['--symlink', real, file] });
  }

  #isSeen(path: string): boolean {
    return this.#seen.some((target) => isInside(target, path));
  }

  /** An agent gets its own part of Substrat's home, and workspaces, but never a directory that contains them. */
  #refuseHome(real: string, source: string): void {
    const home = realpathSync(this.#substrat);
    if (!isInside(home, real) && !isInside(real, home)) return;
    const allowed = [realpathSync(this.#enclosure.directory), join(home, 'workspaces')];
    if (allowed.some((directory) => real !== directory && isInside(directory, real))) return;
    throw new SubstratError(
      'forbidden',
      `${source} cannot be mounted for an agent: it would expose the home of Substrat.`,
    );
  }

  /**
   * In a directory that the agent can write, bwrap would follow symlinks. Elsewhere bwrap creates the target itself.
   */
  #makeTarget(target: string, isDirectory: boolean): void {
    const around = [...this.#writable.keys()].filter((path) => path !== target && isInside(path, target));
    const nearest = around.toSorted((a, b) => b.length - a.length)[0];
    if (nearest === undefined) return;
    if (!isDirectory && nearest !== this.#enclosure.home) {
      throw new SubstratError('forbidden', `${target} is in a workspace, where only directories can be mounted.`);
    }
    makeTarget(this.#writable.get(nearest) as number, nearest, target, isDirectory ? 'directory' : 'file');
  }
}

function isMissing(program: string): SubstratError {
  return new SubstratError('bad_request', `The program ${program} could not be started: there is no such file.`);
}
