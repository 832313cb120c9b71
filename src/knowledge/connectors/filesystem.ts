import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isInside, realPlace } from '../../config/inside.ts';
import { SubstratError } from '../../core/errors.ts';
import { readAll } from '../../core/regular-file.ts';
import { type Connector, type Item, MAX_SOURCE_ID, type RawDocument } from '../connector.ts';
import { createSelect, type Selection } from './select.ts';
import { walk } from './walk.ts';

export interface FilesystemOptions extends Selection {
  readonly source: string;
  readonly root: string;
  readonly tags: readonly string[];
  readonly maxBytes: number;
  readonly gitignore: boolean;
  readonly followSymlinks: boolean;
  /** A directory that the root must not leave, not even through a symlink; if omitted, it may be anywhere. */
  readonly within?: string | null;
  /** Substrat's own files, which are never indexed: the store with everything next to it of that name, and the home. */
  readonly own?: readonly (string | null)[];
}

/** Changes within this time become one sync. */
const SETTLE_MS = 200;
/** File times have a limited resolution: a file that changed this recently may change again without a new time. */
const RACY_MS = 100;

export function filesystemConnector(options: FilesystemOptions): Connector {
  const { source, root, tags, maxBytes, followSymlinks, within = null } = options;
  const select = createSelect(options);
  let realRoot: string | null = null;
  const isOwn = ownFiles(root, options.own ?? []);
  /** Directories on the path may have become symlinks since the walk; on Linux, check where the opened file is. */
  const isListed = (file: number): boolean => {
    if (process.platform !== 'linux') return true;
    realRoot ??= `${realpathSync(root).replace(/\/$/, '')}/`;
    const real = readlinkSync(`/proc/self/fd/${file}`);
    return real.startsWith(realRoot) && (within === null || real.startsWith(`${within}/`));
  };

  return {
    source,
    tags,
    maxBytes,
    checkpoint: () => null,
    close: async () => {},

    async *list({ signal, onUnlisted }) {
      if (within !== null && !isInside(within, root)) {
        throw new SubstratError(
          'forbidden',
          `${root} is outside ${within}, and its configuration may not read outside that directory.`,
        );
      }
      try {
        for await (const files of walk({ ...options, select, signal, onUnlisted })) {
          const items: Item[] = [];
          for (const { path, stats } of files) {
            if (isOwn(path)) continue;
            if (Buffer.byteLength(path) > MAX_SOURCE_ID) onUnlisted(path, 'its path is too long');
            else items.push({ sourceId: path, version: versionOf(stats), size: stats.size, updatedAt: stats.mtimeMs });
          }
          yield items;
        }
      } catch (error) {
        if (signal.aborted) throw error;
        const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
        throw new SubstratError('not_found', `${root} cannot be read: ${reason}. Check the root of ${source}.`, {
          cause: error,
        });
      }
    },

    async read({ sourceId }): Promise<RawDocument | null> {
      // Do not open a symlink or a FIFO that has replaced the file since it was listed.
      const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followSymlinks ? 0 : constants.O_NOFOLLOW);
      const path = join(root, sourceId);
      const file = openFile(path, flags);
      if (file === null) return null;
      // Synchronous, as is the walk: for files of typical size, the thread pool costs several times as much as the
      // read.
      try {
        const stats = fstatSync(file);
        if (!stats.isFile() || !(followSymlinks || isListed(file))) return null;
        if (stats.size > maxBytes) {
          throw new SubstratError('too_large', `it has ${stats.size} bytes, more than max_file_mb`);
        }
        return {
          bytes: readAll(file, maxBytes),
          version: Date.now() - stats.mtimeMs < RACY_MS ? `${versionOf(stats)}~` : versionOf(stats),
          author: null,
          url: pathToFileURL(path).href,
          createdAt: stats.birthtimeMs > 0 ? Math.min(stats.birthtimeMs, stats.mtimeMs) : stats.mtimeMs,
          updatedAt: stats.mtimeMs,
          metadata: {},
        };
      } finally {
        closeSync(file);
      }
    },

    async watch(onChange) {
      const { default: watcher } = await import('@parcel/watcher');
      let timer: NodeJS.Timeout | null = null;
      const subscription = await watcher.subscribe(
        realpathSync(root),
        () => {
          timer ??= setTimeout(() => {
            timer = null;
            onChange();
          }, SETTLE_MS);
        },
        { ignore: ['**/.git/**', '**/node_modules/**'] },
      );
      return async () => {
        if (timer) clearTimeout(timer);
        await subscription.unsubscribe();
      };
    },
  };
}

/** The times of the last content and inode change, and the size: setting one time back does not set back the other. */
function versionOf({ mtimeMs, ctimeMs, size }: Stats): string {
  return `${mtimeMs}-${ctimeMs}-${size}`;
}

/** Returns null if the file is gone. */
function openFile(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new SubstratError('forbidden', `it cannot be opened (${code})`, { cause: error });
  }
}

/** A root inside the home was chosen on purpose, so that the rest of the home does not matter. */
function ownFiles(root: string, own: readonly (string | null)[]): (path: string) => boolean {
  const place = realPlace(root) ?? root;
  const near = own
    .flatMap((path) => (path === null ? [] : [relative(place, realPlace(path) ?? path)]))
    .filter((path) => path !== '' && !path.startsWith('..') && !isAbsolute(path));
  return (path) => near.some((one) => path === one || path.startsWith(`${one}/`) || /^[-.]/.test(after(path, one)));
}

/** The rest of a path in the directory of `file`, if it begins with its name: `-wal`, `.schema-3.backup.tar.gz`. */
function after(path: string, file: string): string {
  return path.startsWith(file) && !path.slice(file.length).includes('/') ? path.slice(file.length) : '';
}
