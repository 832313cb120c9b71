import { readFileSync } from 'node:fs';

/** Tells one boot of this machine from the next; the same for ever where the system does not say. */
export function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
