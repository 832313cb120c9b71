import type { DaemonProcess } from '../daemon-process.ts';

/** Every text that a companion sends begins with this, so that the audit of the team's plan leaves it out. */
export const SIDE = 'side ';

/** Works beside the team while the daemon is killed, and checks what it was promised. */
export interface Companion {
  /** Works until `more` says no, through every death of the daemon. */
  work(more: () => boolean): Promise<void>;
  /** Waits for what is still on its way, while the daemon lives. */
  settle?(): Promise<void>;
  /** Compares what was acknowledged with what the stopped daemon left; one sentence for each difference. */
  faults(): Promise<string[]>;
}

export type CreateCompanion = (daemon: DaemonProcess, random: () => number) => Companion;
