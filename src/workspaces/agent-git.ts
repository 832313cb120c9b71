import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Bind, Command } from '../core/command.ts';
import { removeTree } from '../core/remove-tree.ts';
import { type RunLimits, type RunResult, runConfined } from '../sandbox/run.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Files that an agent can write, and where git runs in them. */
export interface GitPlace {
  /** The root of the workspace. */
  readonly root: string;
  /** Where git runs: the root, or a directory in it. */
  readonly directory: string;
  /** The agent's directory in the daemon's home. */
  readonly agentDirectory: string;
  /** What else git needs, such as the repository of a worktree. */
  readonly binds: readonly Bind[];
}

export interface GitJob {
  /** A shell script. `$HOME` is an empty directory. */
  readonly script: string;
  readonly args: readonly string[];
  /** Whether it may change the workspace. */
  readonly mode: Bind['mode'];
  readonly limits: RunLimits;
  /** Reads what the script left in `$HOME`, before it is removed. Nothing runs in the sandbox any more. */
  readonly collect?: (home: string, result: RunResult) => Promise<void>;
}

export type AgentGit = (place: GitPlace, job: GitJob) => Promise<RunResult>;

/** At most this many at the same time. */
const MOST_JOBS = 2;
/** Marks the directories of this process. */
const born = `${process.pid}-${Date.now().toString(36)}`;
let jobs = 0;

/**
 * Runs git on files that an agent writes. Their configuration and attributes can execute programs, so git never runs
 * there outside of a sandbox. This one has no network, no keys and not the agent's home; the workspace is read-only
 * unless the job changes it. What comes back is foreign input.
 */
export function createAgentGit(sandbox: Sandbox): AgentGit {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (place, job) => {
    if (running < MOST_JOBS) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    jobs += 1;
    const scratch = join(place.agentDirectory, `git-${born}-${jobs}`);
    try {
      await removeOld(place.agentDirectory);
      return await runIn(sandbox, scratch, place, job);
    } finally {
      // Not at once: git's filters, which are the agent's, may have left any number of files.
      await removeTree(scratch);
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

async function runIn(sandbox: Sandbox, scratch: string, place: GitPlace, job: GitJob): Promise<RunResult> {
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const own = { source: place.root, target: place.root, mode: job.mode };
  const binds = [own, ...place.binds.map((bind) => ({ ...bind, mode: job.mode === 'ro' ? job.mode : bind.mode }))];
  const enclosure = { workspace: place.root, home, directory: scratch, binds, hosts: [] };
  const result = await runConfined(sandbox, commandOf(place, job), enclosure, job.limits);
  await job.collect?.(home, result);
  return result;
}

function commandOf({ directory }: GitPlace, { script, args }: GitJob): Command {
  return {
    file: '/bin/sh',
    args: ['-c', script, 'sh', ...args],
    cwd: directory,
    env: {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      LC_ALL: 'C',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_OPTIONAL_LOCKS: '0',
    },
  };
}

/** What a daemon that died has left. */
async function removeOld(agentDirectory: string): Promise<void> {
  mkdirSync(agentDirectory, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(agentDirectory)) {
    if (!name.startsWith('git-') || name.startsWith(`git-${born}`)) continue;
    await removeTree(join(agentDirectory, name));
  }
}
