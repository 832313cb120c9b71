import { availableParallelism, totalmem } from 'node:os';
import * as z from 'zod';
import { count, type PathBase, table, text } from '../fields.ts';

const MB = 1024 * 1024;

export const sandbox = ({ resolve }: PathBase) =>
  table({
    // Other platforms have no sandbox, which every status output shows.
    mode: z
      .enum(['bwrap', 'none'], 'must be "bwrap" or "none"')
      .default(process.platform === 'linux' ? 'bwrap' : 'none'),
    roots: z.array(text.transform(resolve)).default([]),
    network: z
      .array(text.regex(/^[^\s/@]+$/, 'must be a host such as "api.example.com", without scheme or path'))
      .default([]),
    // For each turn; 0: not limited.
    max_memory_mb: count({ fallback: Math.min(4096, Math.floor(totalmem() / MB / 2)), min: 0, max: 100_000_000 }),
    max_processes: count({ fallback: 400, min: 0, max: 1_000_000 }),
    max_cpus: count({ fallback: Math.max(1, availableParallelism() - 1), min: 0, max: 10_000 }),
    max_open_files: count({ fallback: 8192, min: 0, max: 1_000_000 }),
    max_disk_mb: count({ fallback: 10_240, min: 0, max: 1_000_000_000 }),
  })
    .prefault({})
    .transform(({ mode, roots, network, maxMemoryMb, maxProcesses, maxCpus, maxOpenFiles, maxDiskMb }) => ({
      mode,
      roots,
      network,
      limits: {
        memoryBytes: limit(maxMemoryMb * MB),
        processes: limit(maxProcesses),
        cpus: limit(maxCpus),
        openFiles: limit(maxOpenFiles),
        diskBytes: limit(maxDiskMb * MB),
      },
    }))
    .describe(
      'How turns are sandboxed, the directories agents may link, the hosts they may reach, and what a turn may use.',
    );

function limit(number: number): number {
  return number === 0 ? Number.POSITIVE_INFINITY : number;
}
