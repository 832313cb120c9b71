import { readFileSync } from 'node:fs';

/** Identifies the current boot of this machine. Constant on systems without a boot id. */
export function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
