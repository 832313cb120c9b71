import type { DaemonProcess } from '../daemon-process.ts';

/** The prefix of every text that a companion sends, so that the audit of the team's plan ignores it. */
export const SIDE = 'side ';

/** Works next to the team while the daemon is killed, and checks its own promises. */
export interface Companion {
  /** Works until `more` returns false, through every death of the daemon. */
  work(more: () => boolean): Promise<void>;
  /** Waits for pending work while the daemon is alive. */
  settle?(): Promise<void>;
  /** Compares what was acknowledged with what the stopped daemon left; one sentence per difference. */
  faults(): Promise<string[]>;
}

export type CreateCompanion = (daemon: DaemonProcess, random: () => number) => Companion;
