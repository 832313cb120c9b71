import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ProcessGroup } from './process-group.ts';

const PROGRAM = fileURLToPath(new URL('./warden.cjs', import.meta.url));

/**
 * A process that ends the turns of this one when it is silent for `patienceMs`, because it is suspended or was killed.
 * It is started with the first turn, and again if it dies.
 */
export class Warden {
  readonly #patienceMs: number;
  readonly #groups = new Map<number, ProcessGroup>();
  #child: ChildProcess | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor({ patienceMs }: { readonly patienceMs: number }) {
    this.#patienceMs = patienceMs;
  }

  /** Ends the group when this process falls silent, until the returned function is called. */
  watch(group: ProcessGroup): () => void {
    if (process.platform !== 'linux') return () => {};
    this.#groups.set(group.pid, group);
    if (this.#child) this.#write(lineOf(group));
    else this.#start();
    return () => {
      this.#groups.delete(group.pid);
      this.#write(`-${group.pid}\n`);
    };
  }

  /** It exits by itself when nothing is left to watch. */
  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#groups.clear();
    this.#child?.stdin?.end();
    this.#child = null;
  }

  #start(): void {
    const child = spawn(process.execPath, [PROGRAM, String(this.#patienceMs)], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#child = child;
    const lost = () => {
      if (this.#child !== child) return;
      this.#child = null;
      if (this.#groups.size > 0) this.#start();
    };
    child.on('exit', lost);
    child.on('error', () => {
      if (this.#child === child) this.#child = null;
    });
    child.stdin.on('error', () => {});
    child.unref();
    for (const group of this.#groups.values()) this.#write(lineOf(group));
    this.#timer ??= setInterval(() => this.#write('\n'), this.#patienceMs / 8).unref();
  }

  #write(text: string): void {
    this.#child?.stdin?.write(text);
  }
}

/** Of the start time, without the id of the boot. */
function lineOf({ pid, startedAt }: ProcessGroup): string {
  return `+${pid} ${startedAt.split(' ').at(-1)}\n`;
}
