import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isInside } from '../../config/inside.ts';
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
  /** A directory that the root must not leave, by a link that took its place either; left out, it may be anywhere. */
  readonly within?: string | null;
}

/** Changes that come as close together as this become one sync. */
const SETTLE_MS = 200;
/** A file system counts time in steps: what changed as lately as this may change again without showing it. */
const RACY_MS = 100;

export function filesystemConnector(options: FilesystemOptions): Connector {
  const { source, root, tags, maxBytes, followSymlinks, within = null } = options;
  const select = createSelect(options);
  let realRoot: string | null = null;
  /** Directories on the way may have become links since the walk; where Linux tells, the file that was opened is asked. */
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
        throw new SubstratError('forbidden', `${root} leads out of ${within}, which its configuration may not leave.`);
      }
      try {
        for await (const files of walk({ ...options, select, signal, onUnlisted })) {
          const items: Item[] = [];
          for (const { path, stats } of files) {
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
      // Neither a link nor a pipe that has taken the file's place since it was listed is opened.
      const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followSymlinks ? 0 : constants.O_NOFOLLOW);
      const path = join(root, sourceId);
      const file = openFile(path, flags);
      if (file === null) return null;
      // Synchronously, as the walk is: for files of the size that people write, threads cost several times the reading.
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

/** When its content and when anything about it changed, and how long it is: who sets one back does not set back the other. */
function versionOf({ mtimeMs, ctimeMs, size }: Stats): string {
  return `${mtimeMs}-${ctimeMs}-${size}`;
}

/** Null: it is gone. */
function openFile(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new SubstratError('forbidden', `it cannot be opened (${code})`, { cause: error });
  }
}
