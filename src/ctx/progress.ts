import { harmless } from '../command-line/terminal.ts';
import type { EmbeddingProgress } from '../knowledge/embedding.ts';
import type { SyncProgress } from '../knowledge/sync.ts';

const WIDTH = 24;
const REDRAW_MS = 80;

/** `human`: a bar on a terminal; `json`: one JSON value a line; `off`: nothing. Always on stderr. */
export type ProgressMode = 'human' | 'json' | 'off';

/** In the modes `human` and `off`, notes are lines of text. */
export function showProgress(name: string, mode: ProgressMode = 'human') {
  return mode === 'json' ? jsonProgress(name) : barProgress(name, mode === 'human');
}

function jsonProgress(connector: string) {
  const write = (event: object) => void process.stderr.write(`${JSON.stringify(event)}\n`);
  let last = '';
  return {
    draw: ({ done, total }: Pick<SyncProgress, 'seen' | 'done' | 'total'>): void => {
      const phase = total === null ? 'discovering' : 'ingesting';
      const event = { event: 'progress', connector, phase, ...(total !== null && { n: done, total }) };
      if (JSON.stringify(event) !== last) write(event);
      last = JSON.stringify(event);
    },
    note: (line: string): void => write({ event: 'note', connector, message: line }),
    end: () => {},
  };
}

function barProgress(name: string, isShown: boolean) {
  const { stderr } = process;
  let drawnAt = 0;
  const clear = () => {
    if (drawnAt > 0) stderr.write('\r\x1b[2K');
    drawnAt = 0;
  };
  return {
    draw: ({ seen, done, total }: Pick<SyncProgress, 'seen' | 'done' | 'total'>): void => {
      if (!isShown || !stderr.isTTY || Date.now() - drawnAt < REDRAW_MS) return;
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
