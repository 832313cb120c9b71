import type { Command } from '../core/command.ts';

/** What stands between a program and the machine. */
export interface Sandbox {
  readonly mode: 'none';
  confine(command: Command): Command;
}
