/** What one turn may use of the machine; Infinity where it is not limited. */
export interface MachineLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Beyond it, a turn goes on with the lowest priority. */
  readonly cpus: number;
  readonly openFiles: number;
  /** By which the turn's directories may grow. */
  readonly diskBytes: number;
}

/** How much a turn uses now. */
export interface Usage {
  readonly processes: number;
  readonly threads: number;
  /** Resident, with pages that several processes share counted for each of them, and with what is in /tmp. */
  readonly memoryBytes: number;
  /** Of the live processes and of those that they waited for. */
  readonly cpuMs: number;
}

/** A limit that a turn has exceeded. */
export interface Excess {
  readonly limit: 'memory' | 'processes' | 'threads' | 'disk';
  readonly used: number;
  readonly most: number;
}

/** Threads cost less than processes, and runtimes start a dozen without being asked. */
export const THREADS_PER_PROCESS = 16;

/** For the person and for the agent's next attempt. */
export function explainExcess({ limit, used, most }: Excess): string {
  const [had, setting] = {
    memory: [`it used ${size(used)} of memory; the limit is ${size(most)}`, 'max_memory_mb'],
    disk: [`it wrote ${size(used)} to the disk; the limit is ${size(most)}`, 'max_disk_mb'],
    processes: [`it had ${used} processes; the limit is ${most}`, 'max_processes'],
    threads: [`it had ${used} threads; the limit is ${most} (${THREADS_PER_PROCESS} per process)`, 'max_processes'],
  }[limit];
  return `The turn was ended because it exceeded a limit of the machine: ${had} (\`[sandbox] ${setting}\`).`;
}

/** The limits in force, for status outputs. */
export function describeLimits({ memoryBytes, processes, cpus, openFiles, diskBytes }: MachineLimits): string {
  const told = [
    [memoryBytes, `${size(memoryBytes)} of memory`],
    [processes, `${processes} processes`],
    [cpus, `${cpus} ${cpus === 1 ? 'CPU' : 'CPUs'}`],
    [openFiles, `${openFiles} open files`],
    [diskBytes, `${size(diskBytes)} of disk`],
  ] as const;
  return (
    told
      .filter(([most]) => Number.isFinite(most))
      .map(([, words]) => words)
      .join(', ') || 'no limits'
  );
}

function size(bytes: number): string {
  const MiB = bytes / 1024 ** 2;
  return MiB >= 1024 ? `${(MiB / 1024).toFixed(1)} GiB` : `${MiB.toFixed(0)} MiB`;
}
