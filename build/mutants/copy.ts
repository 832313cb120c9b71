import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Outcome {
  /** Null if it timed out. */
  readonly code: number | null;
  readonly output: string;
}

/** A clone of the committed tree, with this tree's dependencies, in which sources can be changed. */
export class Copy {
  readonly root: string;
  readonly #bin: string;

  constructor(root: string, origin: string) {
    this.root = root;
    this.#bin = join(origin, 'node_modules/.bin');
    if (!existsSync(root)) {
      mkdirSync(join(root, '..'), { recursive: true });
      spawnSync('git', ['clone', '-q', '--shared', origin, root], { stdio: 'inherit' });
      symlinkSync(join(origin, 'node_modules'), join(root, 'node_modules'));
    }
    // Restores what an interrupted run has left.
    spawnSync('git', ['checkout', '-q', '--', '.'], { cwd: root, stdio: 'inherit' });
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.root, path), text);
  }

  /** The files with compiler errors. */
  async faultyFiles(): Promise<Set<string>> {
    const info = join(this.root, '../types.tsbuildinfo');
    const flags = ['-p', 'build/tsconfig.json', '--incremental', '--tsBuildInfoFile', info];
    const { code, output } = await this.#run('tsc', flags, 600_000);
    const files = new Set([...output.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file = '']) => file));
    if (code !== 0 && files.size === 0) throw new Error(`tsc: ${output}`);
    return files;
  }

  /** Runs all the test files in one process; stops at the first failure. */
  async test(files: readonly string[], limitMs: number): Promise<Outcome> {
    return this.#run('vitest', ['run', '-c', 'build/mutants/vitest.config.ts', '--bail=1', ...files], limitMs);
  }

  /** What each test file executes; a file that could not be run has no entry. */
  async cover(files: readonly string[]): Promise<{ test: string; passed: boolean; ms: number; executed: string[] }[]> {
    const directory = join(this.root, '../coverage');
    const results = join(directory, 'results.json');
    rmSync(directory, { recursive: true, force: true });
    const flags = [
      'run',
      '-c',
      'build/mutants/vitest.config.ts',
      '--reporter=json',
      `--outputFile=${results}`,
      ...files,
    ];
    await this.#run('vitest', flags, 1_800_000, { MUTANTS_COVERAGE: directory });
    if (!existsSync(results)) return [];
    const { testResults } = JSON.parse(readFileSync(results, 'utf8')) as {
      testResults: { name: string; status: string; startTime: number; endTime: number }[];
    };
    return testResults.map(({ name, status, startTime, endTime }) => {
      const test = name.slice(this.root.length + 1);
      const file = join(directory, `${test.replaceAll('/', '+')}.json`);
      const executed = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : [];
      return { test, passed: status === 'passed', ms: Math.round(endTime - startTime), executed };
    });
  }

  async #run(
    program: string,
    args: readonly string[],
    limitMs: number,
    more: NodeJS.ProcessEnv = {},
  ): Promise<Outcome> {
    const env = { ...process.env, PATH: `${this.#bin}:${process.env.PATH}`, NO_COLOR: '1', ...more };
    const options: SpawnOptions = { cwd: this.root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = spawn(join(this.#bin, program), args, options);
    let output = '';
    let late = false;
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output = (output + chunk).slice(-200_000);
      });
    const end = (signal: NodeJS.Signals) => {
      try {
        process.kill(-(child.pid as number), signal);
      } catch {
        // It has exited.
      }
    };
    const timers = [
      setTimeout(() => {
        late = true;
        end('SIGTERM');
      }, limitMs),
      setTimeout(() => end('SIGKILL'), limitMs + 10_000),
    ];
    const [code] = (await once(child, 'close')) as [number | null];
    for (const timer of timers) clearTimeout(timer);
    return { code: late ? null : (code ?? 1), output };
  }
}
