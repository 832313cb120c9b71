import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stop } from './daemon.ts';
import { alternate, type Bench, compared, median, type Row } from './measure.ts';
import { startNode } from './node.ts';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = 200;
const STARTS = 5;

/** Commands of the built package, from spawn to exit, against Node itself. */
export default async function startUp({ scratch, defer }: Bench): Promise<Row[]> {
  execFileSync(process.execPath, [join(ROOT, 'build/package.ts')], { stdio: 'ignore' });
  const home = join(scratch, 'home');
  // A server answers where there is a home.
  mkdirSync(home, { mode: 0o700 });
  const env = { ...process.env, SUBSTRAT_HOME: home };
  const place = { cwd: join(scratch, 'base'), env };
  mkdirSync(join(place.cwd, 'docs'), { recursive: true });
  writeFileSync(join(place.cwd, 'ctx.toml'), '[db]\npath = "ctx.db"\n[connectors.filesystem.docs]\nroot = "docs"\n');
  for (let n = 0; n < DOCUMENTS; n += 1)
    writeFileSync(join(place.cwd, `docs/${n}.md`), `# Page ${n}\n\nHow to deploy service ${n}.\n`);
  const program = (name: string) => join(ROOT, 'dist/bin', name);
  execFileSync(program('ctx'), ['sync'], { ...place, stdio: 'ignore' });

  const measure = async (
    name: string,
    atMost: number,
    [file, ...args]: readonly [string, ...string[]],
  ): Promise<Row> => {
    const start = async () => {
      const begin = performance.now();
      await once(spawn(program(file), args, { ...place, stdio: 'ignore' }), 'exit');
      return performance.now() - begin;
    };
    await start();
    const measured = await alternate(
      () => middleOf(startNode),
      () => middleOf(start),
    );
    return { name, unit: 'ms', ...compared(measured), goalOf: 'ratio', atMost };
  };
  const rows = [
    await measure('substrat --help', 2, ['substrat', '--help']),
    await measure('ctx --help', 2, ['ctx', '--help']),
    await measure('ctx search, opens the store', 4, ['ctx', 'search', 'deploy']),
  ];
  const server: ChildProcess = spawn(program('ctx'), ['serve', 'mcp', '--bind', '127.0.0.1:0'], place);
  defer(() => stop(server));
  if (server.stdout) await once(server.stdout, 'data');
  if (!existsSync(join(home, `ctx-${server.pid}.sock`))) throw new Error('ctx serve does not answer here');
  return [...rows, await measure('ctx search, answered by ctx serve', 3, ['ctx', 'search', 'deploy'])];
}

async function middleOf(measure: () => Promise<number>): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < STARTS; n += 1) took.push(await measure());
  return median(took);
}
