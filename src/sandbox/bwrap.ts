import { closeSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Needs } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import { endNamespace } from './namespace.ts';
import { depthOf } from './paths.ts';
import { findBwrap, namespaces, probeBwrap } from './probe.ts';
import type { Confined, Enclosure, Sandbox } from './sandbox.ts';
import { seccompFilter } from './seccomp.ts';
import { type Mount, systemMounts } from './system.ts';
import { View } from './view.ts';

export interface BwrapOptions {
  /** The home of Substrat: of it a turn sees what is its agent's, and nothing else. */
  readonly home: string;
  /** Where bwrap is looked for. */
  readonly path: string;
}

const SECCOMP = 3;
const INFORMATION = 4;
const FIRST_BIND = 5;

const ofTurn = /^turn-[\w-]+\.json$/;

/** Each turn in namespaces of its own, with a view of the machine that has only what it was given. */
export function createBwrap(options: BwrapOptions): Sandbox {
  let prepared: Promise<Prepared> | null = null;
  /** Names that no other daemon's turn has. */
  const born = Date.now().toString(36);
  let turns = 0;
  /** Tried again each time until bwrap works: it can be installed while the daemon runs. */
  const ready = (): Promise<Prepared> => {
    prepared ??= prepare(options).catch((error) => {
      prepared = null;
      throw error;
    });
    return prepared;
  };
  return {
    mode: 'bwrap',
    problem: () =>
      ready().then(
        () => null,
        (error: Error) => error.message,
      ),
    confine: async (command, needs, enclosure) => {
      const common = await ready();
      turns += 1;
      return confine(
        options,
        common,
        command,
        needs,
        enclosure,
        join(enclosure.directory, `turn-${born}-${turns}.json`),
      );
    },
    tidy: async (directory) => {
      const left = readdirSync(directory).filter((name) => ofTurn.test(name));
      for (const file of left.map((name) => join(directory, name))) {
        await endNamespace(file);
        rmSync(file, { force: true });
      }
    },
  };
}

/** What all turns have in common. */
interface Prepared {
  readonly bwrap: string;
  readonly seccomp: string;
  readonly system: readonly Mount[];
}

async function prepare(options: BwrapOptions): Promise<Prepared> {
  const filter = seccompFilter(process.arch);
  const problem = await probeBwrap(options.path);
  if (problem !== null) throw new SubstratError('unsupported', problem);
  const directory = join(options.home, 'sandbox');
  const system = systemMounts(directory);
  const seccomp = join(directory, 'seccomp.bpf');
  writeFileSync(seccomp, filter, { mode: 0o600 });
  return { bwrap: findBwrap(options.path) as string, seccomp, system };
}

async function confine(
  options: BwrapOptions,
  { bwrap, seccomp, system }: Prepared,
  command: Command,
  needs: Needs,
  enclosure: Enclosure,
  informationFile: string,
): Promise<Confined> {
  const { workspace, home } = enclosure;
  const information = openSync(informationFile, 'w', 0o600);
  const view = new View(options.home, enclosure, FIRST_BIND);
  const release = async (): Promise<void> => {
    closeSync(information);
    view.close();
    await endNamespace(informationFile);
    rmSync(informationFile, { force: true });
  };
  try {
    view.give({ source: home, target: home, mode: 'rw' }, 'trusted');
    view.give({ source: workspace, target: workspace, mode: 'rw' }, 'open to others');
    for (const bind of enclosure.binds) view.give(bind, bind.source === bind.target ? 'trusted' : 'open to others');
    for (const bind of needs.binds ?? []) view.give(bind, 'trusted');
    const file = view.show(command, needs);
    const args = [
      ...namespaces,
      ...['--hostname', 'substrat', '--seccomp', String(SECCOMP), '--info-fd', String(INFORMATION)],
      ...inOrder([...system, ...view.mounts]),
      ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', command.cwd, '--', file, ...command.args],
    ];
    const env = { ...command.env, HOME: home, TMPDIR: '/tmp' };
    const files = [seccomp, information, ...view.descriptors];
    return { command: { file: bwrap, args, cwd: '/', env, files }, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Outer things first, or they would hide the inner ones. */
function inOrder(mounts: readonly Mount[]): string[] {
  return mounts.toSorted((a, b) => depthOf(a.target) - depthOf(b.target)).flatMap(({ options }) => options);
}
