// Builds the page into web/dist, which is committed: `npm start` needs no bundler. With --check, builds it elsewhere and
// fails if the committed one differs or its first load is too large.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const web = join(import.meta.dirname, '../web');
const committed = join(web, 'dist');
/** Compressed JavaScript of the shell and Talk. */
const MOST_BYTES = 60_000;

const check = process.argv.includes('--check');
const out = check ? mkdtempSync(join(tmpdir(), 'web-')) : committed;
try {
  await build({
    root: web,
    configFile: join(web, 'vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: out, emptyOutDir: true },
  });
  const first = firstLoad(out);
  const problems = [
    ...(check ? differences(committed, out) : []),
    ...(first > MOST_BYTES
      ? [`The first load is ${first} bytes of compressed JavaScript; at most ${MOST_BYTES}.`]
      : []),
  ];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`web: first load ${(first / 1000).toFixed(1)} KB of compressed JavaScript`);
} finally {
  if (check) rmSync(out, { recursive: true });
}

/** The scripts that the browser loads before anything is shown: those named in index.html. */
function firstLoad(directory: string): number {
  const html = readFileSync(join(directory, 'index.html'), 'utf8');
  const scripts = html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g);
  return [...scripts].reduce(
    (sum, [, path = '']) => sum + gzipSync(readFileSync(join(directory, path)), { level: 9 }).length,
    0,
  );
}

function differences(before: string, after: string): string[] {
  const files = new Set([...listFiles(before), ...listFiles(after)]);
  const changed = [...files].filter((file) => readOrNull(join(before, file)) !== readOrNull(join(after, file)));
  return changed.length === 0
    ? []
    : [`web/dist is not what web/src builds: run \`npm run web\` and commit (${changed.join(', ')}).`];
}

function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1));
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null;
  }
}
