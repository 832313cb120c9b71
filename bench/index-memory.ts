import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { markdown } from './corpus.ts';
import type { Bench, Row } from './measure.ts';

const GIGABYTE = 1024 ** 3;
const FILES = 2_000;

/** The peak memory of `ctx sync` while it indexes a gigabyte of text. */
export default async function indexMemory({ scratch }: Bench): Promise<Row[]> {
  const root = join(scratch, 'docs');
  mkdirSync(root);
  const each = Math.ceil(GIGABYTE / FILES);
  for (let n = 0; n < FILES; n += 1) {
    const part = markdown(n, 9_000);
    writeFileSync(join(root, `d${n}.md`), part.repeat(Math.ceil(each / part.length)).slice(0, each));
  }
  writeFileSync(join(scratch, 'ctx.toml'), '[db]\npath = "ctx.db"\n[connectors.filesystem.docs]\nroot = "docs"\n');
  const env = { ...process.env, SUBSTRAT_HOME: join(scratch, 'home') };
  const program = join(import.meta.dirname, '../bin/ctx');
  const child = spawn(program, ['sync'], { cwd: scratch, env, stdio: ['ignore', 'ignore', 'inherit'] });
  let peak = 0;
  for (; child.exitCode === null; await pause(50)) peak = Math.max(peak, residentBytes(child.pid as number));
  rmSync(root, { recursive: true });
  if (child.exitCode !== 0) throw new Error(`ctx sync ended with ${child.exitCode}`);
  return [
    {
      name: 'memory of ctx sync with 1 GB of text, at most',
      unit: 'MB',
      yardstick: null,
      result: peak / 1024 / 1024,
      goalOf: 'result',
      atMost: 300,
    },
  ];
}

/** The peak as recorded by Linux. */
function residentBytes(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
