import { unzipSync } from 'fflate';

const MOST_BYTES = 100 * 1024 * 1024;
const MOST_FILES = 5_000;

/**
 * Unpacks the wanted files of an archive as text. The declared sizes are added up and checked before anything is
 * unpacked.
 */
export function unzip(bytes: Uint8Array, isWanted: (name: string) => boolean): Map<string, string> {
  let total = 0;
  let count = 0;
  const files = unzipSync(bytes, {
    filter: ({ name, originalSize }) => {
      count += 1;
      if (count > MOST_FILES) throw new Error(`it is an archive of more than ${MOST_FILES} files`);
      if (!isWanted(name)) return false;
      total += originalSize;
      if (total > MOST_BYTES) throw new Error(`it unpacks to more than ${MOST_BYTES / 1024 / 1024} MB`);
      return true;
    },
  });
  return new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content).toString('utf8')]));
}
