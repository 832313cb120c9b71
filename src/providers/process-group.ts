import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

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
 * Ends what a dead daemon left running. It kills only what is surely that group: the leader with the same start time,
 * or, when the leader is gone, a group of its number whose members carry the run's id in their environment. Of a group
 * that was not stored it kills what carries that id. Answers whether there was something to end.
 */
export async function endProcessGroup({ pid, startedAt, runId }: Survivor): Promise<boolean> {
  if (pid === null || startedAt === null) {
    const groups = groupsOf(runId);
    await Promise.all(groups.map((group) => killGroup(group)));
    return groups.length > 0;
  }
  if (!isGroupOf({ pid, startedAt, runId })) return false;
  await killGroup(pid);
  return true;
}

/** SIGKILL to the group until nothing lives in it. Bounded: a process in an uninterruptible wait must not hold us. */
export async function killGroup(pid: number, patienceMs = 2_000): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (let wait = 1; isGroupAlive(pid) && Date.now() < deadline; wait = Math.min(50, wait * 2)) {
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

function isGroupOf({ pid, startedAt, runId }: ProcessGroup & { readonly runId: string }): boolean {
  const leader = processStartTime(pid);
  if (leader !== null) return leader === startedAt;
  if (process.platform !== 'linux' || !startedAt.startsWith(`${bootId()} `)) return false;
  return groupMembers(pid).some((member) => isOfRun(member, runId));
}

function groupsOf(runId: string): number[] {
  if (process.platform !== 'linux') return [];
  const members = allProcesses().filter((pid) => isOfRun(pid, runId));
  return [...new Set(members.map((pid) => readStat(pid)?.group).filter((group) => group !== undefined))];
}

function isOfRun(pid: number, runId: string): boolean {
  return environment(pid).includes(`SUBSTRAT_RUN_ID=${runId}`);
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

function environment(pid: number): string[] {
  return read(`/proc/${pid}/environ`)?.split('\0') ?? [];
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
