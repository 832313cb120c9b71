import { closeSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Needs } from '../core/command.ts';
import { SubstratError } from '../core/errors.ts';
import type { MachineLimits } from '../core/machine-limits.ts';
import { endNamespace, type Inside, readInside } from './namespace.ts';
import { depthOf } from './paths.ts';
import { findBwrap, namespaces, probeBwrap } from './probe.ts';
import { rlimitScript } from './rlimits.ts';
import type { Confined, Enclosure, Sandbox } from './sandbox.ts';
import { seccompFilter } from './seccomp.ts';
import { type Mount, NOT_ROOT, systemMounts } from './system.ts';
import { View } from './view.ts';
import { openWayOut } from './way-out.ts';

export interface BwrapOptions {
  /** Substrat's home. A turn only sees its own agent's part of it. */
  readonly home: string;
  /** Where bwrap is looked up. */
  readonly path: string;
  readonly limits: MachineLimits;
}

/** What all turns share. */
interface Common {
  readonly home: string;
  readonly bwrap: string;
  readonly seccomp: string;
  /** Executed by a shell inside before the program starts. */
  readonly rlimits: string;
  readonly system: readonly Mount[];
}

const asAnother = ['--uid', String(NOT_ROOT), '--gid', String(NOT_ROOT)];
const SECCOMP = 3;
const INFORMATION = 4;
/** A single digit, because the shell cannot close descriptors above 9. */
const CHANNEL = 5;
/** Files that the sandbox creates in the agent's directory while a turn runs; version 0.1.0 also had sockets. */
const keptFile = /^(turn-[\w-]+\.json|p\w+\.sock)$/;

/** Runs each turn in its own namespaces, with only the files it was given. */
export function createBwrap(options: BwrapOptions): Sandbox {
  /** Makes file names distinct from those that a dead daemon left behind. */
  const born = Date.now().toString(36);
  let turns = 0;
  let prepared: Promise<Common> | null = null;
  /** Retried until bwrap works, because it can be installed while the daemon runs. */
  const ready = (): Promise<Common> => {
    prepared ??= prepare(options).catch((error: unknown) => {
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
      return confine(common, command, needs, enclosure, join(enclosure.directory, `turn-${born}-${turns}.json`));
    },
    tidy: async (directory) => {
      const left = readdirSync(directory).filter((name) => keptFile.test(name));
      for (const file of left.map((name) => join(directory, name))) {
        if (file.endsWith('.json')) await endNamespace(file);
        rmSync(file, { force: true });
      }
    },
  };
}

async function prepare({ home, path, limits }: BwrapOptions): Promise<Common> {
  const filter = seccompFilter(process.arch);
  const problem = await probeBwrap(path);
  if (problem !== null) throw new SubstratError('unsupported', problem);
  const directory = join(home, 'sandbox');
  const system = systemMounts(directory);
  const seccomp = join(directory, 'seccomp.bpf');
  writeFileSync(seccomp, filter, { mode: 0o600 });
  return { home, bwrap: findBwrap(path) as string, seccomp, rlimits: rlimitScript(limits), system };
}

async function confine(
  common: Common,
  command: Command,
  needs: Needs,
  enclosure: Enclosure,
  /** The file in which bwrap reports its namespaces. */
  informationFile: string,
): Promise<Confined> {
  const { workspace, home } = enclosure;
  const wayOut = await openWayOut(needs, enclosure, common.rlimits);
  const information = openSync(informationFile, 'w', 0o600);
  const view = new View(common.home, enclosure, CHANNEL + wayOut.files.length);
  let begun: Inside | null = null;
  let isReleased = false;
  const inside = (): Inside | null => {
    if (isReleased) return null;
    begun ??= readInside(informationFile);
    return begun;
  };
  const release = async (): Promise<void> => {
    isReleased = true;
    closeSync(information);
    view.close();
    await endNamespace(informationFile);
    await wayOut.close();
    rmSync(informationFile, { force: true });
  };
  try {
    const { source = workspace } = enclosure;
    const places = [
      { source: home, target: home, mode: 'rw' as const },
      { source, target: workspace, mode: 'rw' as const },
    ];
    for (const bind of [...places, ...enclosure.binds]) view.give(bind, 'open to others');
    for (const bind of [...(needs.binds ?? []), ...wayOut.binds]) view.give(bind, 'trusted');
    const program = [view.show(command, needs), ...command.args];
    const args = [
      ...namespaces,
      ...(needs.refusesRoot && process.getuid?.() === 0 ? asAnother : []),
      ...['--hostname', 'substrat', '--seccomp', String(SECCOMP), '--info-fd', String(INFORMATION)],
      ...inOrder([...common.system, ...view.mounts]),
      // Otherwise a process could write to the memory of others through /proc/PID/mem.
      ...['--remount-ro', '/proc', '--remount-ro', '/dev', '--remount-ro', '/'],
      ...['--chdir', command.cwd, '--', ...wayOut.wrap(program, CHANNEL)],
    ];
    const env = { ...command.env, ...wayOut.env, HOME: home, TMPDIR: '/tmp' };
    const files = [common.seccomp, information, ...wayOut.files, ...view.descriptors];
    return { command: { file: common.bwrap, args, cwd: '/', env, files }, inside, traffic: wayOut.traffic, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Outer mounts first, otherwise they would hide the inner ones. */
function inOrder(mounts: readonly Mount[]): string[] {
  return mounts.toSorted((a, b) => depthOf(a.target) - depthOf(b.target)).flatMap(({ options }) => options);
}
