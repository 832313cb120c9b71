import { execFileSync } from 'node:child_process';
import { arch, cpus, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const SAMPLE_MS = 300;

/** What figures of different commits are compared by: the processor and the number of its cores. */
export function machineClass(): string {
  const all = cpus();
  return `${arch()}, ${all.length} x ${all[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node.split('.')[0]}`;
}

export function describeLoad(): string {
  return loadavg()
    .map((load) => load.toFixed(1))
    .join(' ');
}

/** The part of the machine that is in use, 0 to 1. Called while the benchmark itself does nothing. */
export async function busyPart(): Promise<number> {
  const before = times();
  await sleep(SAMPLE_MS);
  const after = times();
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

/** The commit that is measured; null if files differ from it. */
export function currentCommit(): string | null {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', cwd: import.meta.dirname }).trim();
  // The history is written by a benchmark itself.
  const changed = git('status', '--porcelain', '--', ':/', ':!history.jsonl');
  return changed === '' ? git('rev-parse', '--short=12', 'HEAD') : null;
}

function times(): { readonly idle: number; readonly all: number } {
  const each = cpus().map((cpu) => cpu.times);
  const sum = (of: (one: (typeof each)[number]) => number) => each.reduce((total, one) => total + of(one), 0);
  return {
    idle: sum(({ idle }) => idle),
    all: sum(({ user, nice, sys, irq, idle }) => user + nice + sys + irq + idle),
  };
}
