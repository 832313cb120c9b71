import { release } from 'node:os';
import { type MachineLimits, THREADS_PER_PROCESS } from '../core/machine-limits.ts';

/**
 * What a shell executes inside the sandbox before the program: the limits that the kernel keeps for each process. A
 * limit that is already lower stays. RLIMIT_AS is not used, because runtimes reserve far more addresses than memory.
 */
export function rlimitScript({ openFiles, processes }: MachineLimits, isRoot = process.getuid?.() === 0): string {
  const lines = ['ulimit -c 0'];
  if (Number.isFinite(openFiles)) lines.push(`ulimit -n ${openFiles}`);
  if (Number.isFinite(processes) && !isRoot && countsByNamespace(release())) {
    // The kernel counts threads. Shells disagree on the letter.
    const tasks = processes * THREADS_PER_PROCESS;
    lines.push(`{ ulimit -u ${tasks} || ulimit -p ${tasks}; }`);
  }
  return lines.map((line) => `${line} 2>/dev/null`).join('\n');
}

/** Before Linux 5.14, RLIMIT_NPROC counts all processes of the user, also those outside. It never applies to root. */
function countsByNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number.parseFloat);
  return major > 5 || (major === 5 && minor >= 14);
}
