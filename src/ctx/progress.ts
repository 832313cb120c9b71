import { harmless } from '../command-line/terminal.ts';
import type { EmbeddingProgress } from '../knowledge/embedding.ts';
import type { SyncProgress } from '../knowledge/sync.ts';

const WIDTH = 24;
const REDRAW_MS = 80;

/** A progress bar on a terminal only; notes are separate lines on stderr. */
export function showProgress(name: string) {
  const { stderr } = process;
  let drawnAt = 0;
  const clear = () => {
    if (drawnAt > 0) stderr.write('\r\x1b[2K');
    drawnAt = 0;
  };
  return {
    draw: ({ seen, done, total }: Pick<SyncProgress, 'seen' | 'done' | 'total'>): void => {
      if (!stderr.isTTY || Date.now() - drawnAt < REDRAW_MS) return;
      drawnAt = Date.now();
      stderr.write(`\r\x1b[2K${total === null ? `${name}: ${seen} seen` : bar(name, done, total)}`);
    },
    note: (line: string): void => {
      clear();
      stderr.write(`${harmless(line.replace(/[\n\t]/g, ' '))}\n`);
    },
    end: clear,
  };
}

/** The download progress of the local model: a bar on a terminal, otherwise a line. */
export function showFetching({ what, bytes, total }: EmbeddingProgress): void {
  const { stderr } = process;
  const megabytes = (count: number) => Math.round(count / 1e6);
  if (stderr.isTTY) {
    stderr.write(
      `\r\x1b[2K${bytes < total ? `${bar(`fetching ${what}`, megabytes(bytes), megabytes(total))} MB` : ''}`,
    );
  } else if (bytes === total) stderr.write(`fetched ${what} (${megabytes(total)} MB)\n`);
}

function bar(name: string, done: number, total: number): string {
  const share = total === 0 ? 1 : done / total;
  const full = Math.round(share * WIDTH);
  return `${name} [${'█'.repeat(full)}${'░'.repeat(WIDTH - full)}] ${done}/${total}`;
}
