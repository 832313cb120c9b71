import { readdirSync, readFileSync } from 'node:fs';

/** The living processes, in any group, with the run's id in their environment. */
export function processesOf(runId: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => environment(pid).includes(`SUBSTRAT_RUN_ID=${runId}`))
    .map(Number);
}

/** Empty for a zombie and for a process that has exited. */
function environment(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
