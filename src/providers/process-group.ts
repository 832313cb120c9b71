import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** So many processes are looked at before others have their turn: about a millisecond. */
const AT_ONCE = 50;

/** A process group as it is stored before the program gets its first input. */
export interface ProcessGroup {
  /** Pid of the leader, which is the number of the group. */
  readonly pid: number;
  /** When the leader started, so that another process with its pid is not taken for it. */
  readonly startedAt: string;
}

/** What a run may have left; without a group if the daemon died before it could store one. */
export interface Survivor {
  readonly pid: number | null;
  readonly startedAt: string | null;
  readonly runId: string;
}

/**
 * Ends what a dead daemon left running. It kills only what is surely of that run: the group whose leader has the same start
 * time, and every process that carries the run's id in its environment. Returns whether there was something to end.
 */
export async function endProcessGroup({ pid, startedAt, runId }: Survivor): Promise<boolean> {
  const isLeader = pid !== null && startedAt !== null && processStartTime(pid) === startedAt;
  if (isLeader) await killGroup(pid);
  return (await endRun(runId)) || isLeader;
}

/**
 * Ends the processes that carry the run's id in their environment, whatever session they are in, with their groups. A process
 * that gave itself another environment is not found. Only on Linux. Returns whether there was something to end.
 */
export async function endRun(runId: string, patienceMs = 2_000): Promise<boolean> {
  const deadline = Date.now() + patienceMs;
  let found = false;
  // Again, because a process may have started others meanwhile.
  for (let groups = await groupsOf(runId); groups.length > 0; groups = await groupsOf(runId)) {
    found = true;
    await Promise.all(groups.map((group) => killGroup(group)));
    if (Date.now() > deadline) break;
  }
  return found;
}

/** SIGKILL to the group until nothing lives in it. Bounded: a process in an uninterruptible wait must not hold us. */
export async function killGroup(pid: number, patienceMs = 2_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (let wait = 1; isGroupAlive(pid) && performance.now() < deadline; wait = Math.min(50, wait * 2)) {
    signalGroup(pid, 'SIGKILL');
    await sleep(wait);
  }
}

/** Answers false when there is no such group, or none of its members may be signalled. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/**
 * Null when there is no such process. Synchronous on purpose: read in the tick of the spawn, before a process that
 * ended at once can be reaped, it always has an answer.
 */
export function processStartTime(pid: number): string | null {
  if (process.platform === 'linux') {
    const stat = readStat(pid);
    return stat && `${bootId()} ${stat.startTime}`;
  }
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() || null;
}

/** Not ours: whatever the daemon itself was started by, it does not end itself. */
async function groupsOf(runId: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const groups = new Set<number>();
  for (const [index, pid] of allProcesses().entries()) {
    // A machine can have thousands of processes.
    if (index % AT_ONCE === AT_ONCE - 1) await nextTurn();
    if (!isOfRun(pid, runId)) continue;
    const group = readStat(pid)?.group;
    if (group) groups.add(group);
  }
  groups.delete(readStat(process.pid)?.group ?? 0);
  return [...groups];
}

function isOfRun(pid: number, runId: string): boolean {
  return read(`/proc/${pid}/environ`)?.split('\0').includes(`SUBSTRAT_RUN_ID=${runId}`) === true;
}

/** Zombies do not count: where pid 1 reaps nothing, as in many containers, they stay for ever. */
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
  // The second field is the program's name in parentheses and may hold anything; the third begins after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', group: Number(fields[2]), startTime: fields[19] ?? '' };
}

function bootId(): string {
  return read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
}

/** Null when it cannot be read: the process has ended, or is another user's. */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
