import {
  type Excess,
  explainExcess,
  type MachineLimits,
  THREADS_PER_PROCESS,
  type Usage,
} from '../core/machine-limits.ts';
import { type Growth, watchGrowth } from './growth.ts';
import { type Inside, isAlive, killInside } from './namespace.ts';
import {
  countInside,
  listInside,
  lowerPriority,
  measureMemory,
  measureTemporary,
  measureWritten,
} from './processes.ts';
import type { Confined } from './sandbox.ts';

/** Keeps turns within their limits. */
export interface Watch {
  /** Begins to watch a turn, which writes to these directories. */
  open(directories: readonly string[]): TurnWatch;
}

export interface TurnWatch {
  /** Adds a sandbox of the turn. */
  add(confined: Pick<Confined, 'inside'>): void;
  /** Aborted when the turn has exceeded a limit; its processes are dead then. The reason is an error for people. */
  readonly exceeded: AbortSignal;
  /** As of the last look. */
  usage(): Usage;
  close(): void;
}

export interface WatchOptions {
  readonly limits: MachineLimits;
  readonly everyMs?: number;
}

/** What takes longer is only done at every fifth look: once a second. */
const SLOW_LOOKS = 5;
/** Processor time is averaged over this many looks: five seconds. */
const CPU_LOOKS = 25;
const nothing: Usage = { processes: 0, threads: 0, memoryBytes: 0, cpuMs: 0 };

/**
 * Looks at the processes of all turns every 200 ms, and not at all while no turn runs. At a limit, all processes of that
 * turn are killed at once; no other turn is affected.
 */
export function createWatch({ limits, everyMs = 200 }: WatchOptions): Watch {
  const turns = new Set<{ look(): Promise<void> }>();
  let isArmed = false;

  function arm(): void {
    if (isArmed || turns.size === 0) return;
    isArmed = true;
    const look = async (): Promise<void> => {
      // A look that fails, for example for lack of descriptors, must not end the looks of all turns.
      await Promise.allSettled([...turns].map((turn) => turn.look()));
      isArmed = false;
      arm();
    };
    setTimeout(look, everyMs).unref();
  }

  return {
    open: (directories) => {
      const turn = watchTurn(limits, directories);
      turns.add(turn);
      arm();
      return { ...turn, close: () => turns.delete(turn) };
    },
  };
}

function watchTurn(limits: MachineLimits, directories: readonly string[]) {
  const confined = new Set<Pick<Confined, 'inside'>>();
  const ended = new AbortController();
  const growth: Growth = watchGrowth(directories, limits.diskBytes);
  let usage = nothing;
  let looks = 0;
  /** The look at which memory may be measured exactly again. */
  let exactFrom = 0;
  let temporary = 0;
  let window = { at: performance.now(), cpuMs: 0 };

  const running = (): Inside[] =>
    [...confined].map((one) => one.inside()).filter((inside) => inside !== null && isAlive(inside)) as Inside[];

  function end(excess: Excess): void {
    for (const inside of running()) killInside(inside);
    if (!ended.signal.aborted) ended.abort(new Error(explainExcess(excess)));
  }

  async function find(): Promise<Excess | null> {
    looks += 1;
    const sandboxes = running().flatMap((inside) => {
      const names = listInside(inside);
      return names ? [{ inside, names }] : [];
    });
    const processes = sandboxes.reduce((sum, { names }) => sum + names.length, 0);
    // Counted first: reading each of thousands of processes would take too long.
    if (processes > limits.processes) return { limit: 'processes', used: processes, most: limits.processes };
    const isSlow = looks % SLOW_LOOKS === 0;
    if (isSlow) {
      temporary = 0;
      for (const { inside } of sandboxes) temporary += await measureTemporary(inside);
    }
    const sum = { processes, threads: 0, memoryBytes: temporary, cpuMs: 0 };
    for (const { inside, names } of sandboxes) {
      const count = await countInside(inside, names);
      sum.threads += count.threads;
      sum.cpuMs += count.cpuMs;
      sum.memoryBytes += count.residentBytes;
    }
    usage = sum;
    const mostThreads = limits.processes * THREADS_PER_PROCESS;
    if (sum.threads > mostThreads) return { limit: 'threads', used: sum.threads, most: mostThreads };
    if (sum.memoryBytes > limits.memoryBytes && looks >= exactFrom) {
      exactFrom = looks + SLOW_LOOKS;
      let bytes = temporary;
      for (const { inside, names } of sandboxes) bytes += await measureMemory(inside, names);
      if (bytes > limits.memoryBytes) return { limit: 'memory', used: bytes, most: limits.memoryBytes };
    }
    if (looks % CPU_LOOKS === 0) {
      const now = performance.now();
      const cpus = (sum.cpuMs - window.cpuMs) / (now - window.at);
      window = { at: now, cpuMs: sum.cpuMs };
      if (cpus > limits.cpus) for (const { inside } of sandboxes) await lowerPriority(inside);
    }
    if (!isSlow || limits.diskBytes === Number.POSITIVE_INFINITY) return null;
    let written = 0;
    for (const { inside, names } of sandboxes) written += await measureWritten(inside, names);
    const grown = await growth.look(written);
    return grown === null ? null : { limit: 'disk', used: grown, most: limits.diskBytes };
  }

  return {
    add: (one: Pick<Confined, 'inside'>): void => void confined.add(one),
    exceeded: ended.signal,
    usage: () => usage,
    look: async (): Promise<void> => {
      // A sandbox that started while the turn was ended.
      if (ended.signal.aborted) for (const inside of running()) killInside(inside);
      const excess = ended.signal.aborted ? null : await find();
      if (excess) end(excess);
    },
  };
}
