import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Yields to the event loop after this many processes: about a millisecond. */
const AT_ONCE = 50;
const PATIENCE_MS = 2_000;
const REMEMBERED_MS = 1_000;
/** The environment of a process that has just started may still be empty. */
const ENOUGH_LOOKS = 2;
const RUN_ID = 'SUBSTRAT_RUN_ID=';

/** A process group as stored before the program gets its first input. */
export interface ProcessGroup {
  /** Pid of the leader, which is the id of the group. */
  readonly pid: number;
  /** The start time of the leader, which distinguishes it from a later process with the same pid. */
  readonly startedAt: string;
}

/** What a run may have left behind; without a group if the daemon died before it could store one. */
export interface Survivor {
  readonly pid: number | null;
  readonly startedAt: string | null;
  readonly runId: string;
}

/**
 * Kills what a dead daemon left running. Only kills what certainly belongs to that run: the group whose leader has
 * the same start time, and every process with the run's id in its environment. Returns whether there was something to
 * kill.
 */
export async function endProcessGroup({ pid, startedAt, runId }: Survivor): Promise<boolean> {
  const isLeader = pid !== null && startedAt !== null && processStartTime(pid) === startedAt;
  if (isLeader) await killGroup(pid);
  return (await endRun(runId)) || isLeader;
}

/**
 * Kills the processes with the run's id in their environment, in any session, with their groups. A process that
 * changed its environment is not found. Linux only. Returns whether there was something to kill.
 */
export async function endRun(runId: string, unrelated = new Unrelated()): Promise<boolean> {
  const deadline = Date.now() + PATIENCE_MS;
  let found = false;
  // Repeated, because a process may have started others meanwhile.
  for (;;) {
    const groups = await groupsOf(runId, unrelated);
    if (groups.length === 0) return found;
    found = true;
    await Promise.all(groups.map((group) => killGroup(group)));
    if (Date.now() > deadline) return found;
  }
}

/**
 * The processes that belong to no run, so that the end of each run does not read the environment of every process on
 * the machine. Remembered for a second: until then the kernel does not use a pid again, because it takes all others
 * first.
 */
export class Unrelated {
  readonly #looks = new Map<number, number>();
  #since = Number.NEGATIVE_INFINITY;

  has(pid: number): boolean {
    return (this.#looks.get(pid) ?? 0) >= ENOUGH_LOOKS;
  }

  /** The process was looked at, and its environment has no run or cannot be read. */
  add(pid: number): void {
    this.#looks.set(pid, (this.#looks.get(pid) ?? 0) + 1);
  }

  /** Called before each look at all processes. */
  forgetOld(): void {
    if (performance.now() - this.#since < REMEMBERED_MS) return;
    this.#looks.clear();
    this.#since = performance.now();
  }
}

/** Sends SIGKILL to the group until it is dead. Bounded, because a process can be in uninterruptible sleep. */
export async function killGroup(pid: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let wait = 1; isGroupAlive(pid) && performance.now() < deadline; wait = Math.min(50, wait * 2)) {
    signalGroup(pid, 'SIGKILL');
    await sleep(wait);
  }
}

/** Returns false if the group does not exist or none of its members may be signalled. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/**
 * Returns null if the process does not exist. Synchronous on purpose: read in the tick of the spawn, before a process
 * that exited immediately can be reaped, it always succeeds.
 */
export function processStartTime(pid: number): string | null {
  if (process.platform === 'linux') {
    const stat = readStat(pid);
    return stat && `${bootId()} ${stat.startTime}`;
  }
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() || null;
}

/** Excludes the daemon's own group. */
async function groupsOf(runId: string, unrelated: Unrelated): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const groups = new Set<number>();
  unrelated.forgetOld();
  const looked = allProcesses().filter((pid) => !unrelated.has(pid));
  for (const [index, pid] of looked.entries()) {
    // A machine can have thousands of processes.
    if (index % AT_ONCE === AT_ONCE - 1) await nextTurn();
    const run = runOf(pid);
    if (run === null) unrelated.add(pid);
    if (run !== runId) continue;
    const group = readStat(pid)?.group;
    if (group) groups.add(group);
  }
  groups.delete(readStat(process.pid)?.group ?? 0);
  return [...groups];
}

/** The run that a process belongs to by its environment. */
function runOf(pid: number): string | null {
  const environment = read(`/proc/${pid}/environ`);
  if (!environment?.includes(RUN_ID)) return null;
  const variable = environment.split('\0').find((one) => one.startsWith(RUN_ID));
  return variable?.slice(RUN_ID.length) ?? null;
}

/** Zombies do not count: if pid 1 does not reap them, as in many containers, they stay forever. */
function isGroupAlive(pid: number): boolean {
  return signalGroup(pid, 0) && (process.platform !== 'linux' || groupMembers(pid).length > 0);
}

function groupMembers(group: number): number[] {
  return allProcesses().filter((pid) => {
    const stat = readStat(pid);
    return stat !== null && stat.group === group && stat.state !== 'Z' && stat.state !== 'X';
  });
}

function allProcesses(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

function readStat(pid: number): { state: string; group: number; startTime: string } | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The second field is the program's name in parentheses and may contain anything; the third starts after the last
  // parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', group: Number(fields[2]), startTime: fields[19] ?? '' };
}

export function bootId(): string {
  return read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
}

/** Returns null if it cannot be read: the process has exited or belongs to another user. */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
