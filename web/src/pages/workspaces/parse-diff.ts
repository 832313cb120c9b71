export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'hunk';
  /** Numbers in the file before and after; null where the line does not exist. */
  readonly before: number | null;
  readonly after: number | null;
  readonly text: string;
}

export interface FileDiff {
  readonly path: string;
  readonly lines: readonly DiffLine[];
  /** What git says instead of lines: a binary file, a mode. */
  readonly note: string | null;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

/** Reads a diff in git's format. Every line is somebody's text: what does not fit is skipped. */
export function parseDiff(diff: string): FileDiff[] {
  const files: { path: string; lines: DiffLine[]; note: string | null }[] = [];
  // Lines of the present hunk that are still to come, before and after.
  let left = { before: 0, after: 0 };
  let at = { before: 0, after: 0 };
  for (const line of diff.split('\n')) {
    const file = files.at(-1);
    if (file && (left.before > 0 || left.after > 0)) {
      const read = readLine(line, at);
      if (!read) continue;
      file.lines.push(read);
      const [gone, came] = [read.kind === 'added' ? 0 : 1, read.kind === 'removed' ? 0 : 1];
      left = { before: left.before - gone, after: left.after - came };
      at = { before: at.before + gone, after: at.after + came };
      continue;
    }
    const hunk = HUNK.exec(line);
    if (line.startsWith('diff --git ')) files.push({ path: pathOf(line), lines: [], note: null });
    else if (!file) continue;
    else if (hunk) {
      const [, from = '0', gone = '1', to = '0', came = '1', where = ''] = hunk;
      at = { before: Number(from), after: Number(to) };
      left = { before: Number(gone), after: Number(came) };
      file.lines.push({ kind: 'hunk', before: null, after: null, text: where.trim() });
    } else if (line.startsWith('+++ b/')) file.path = line.slice('+++ b/'.length).replace(/\t$/, '');
    else if (line.startsWith('--- a/')) file.path = line.slice('--- a/'.length).replace(/\t$/, '');
    else if (/^(Binary files|new file|deleted file|old mode|new mode)/.test(line)) file.note = line;
  }
  return files;
}

function readLine(line: string, at: { readonly before: number; readonly after: number }): DiffLine | null {
  const text = line.slice(1);
  if (line.startsWith('+')) return { kind: 'added', before: null, after: at.after, text };
  if (line.startsWith('-')) return { kind: 'removed', before: at.before, after: null, text };
  // "\ No newline at end of file"
  if (line.startsWith('\\')) return null;
  return { kind: 'same', before: at.before, after: at.after, text };
}

/** "diff --git a/x b/x": both halves are the same without renames. */
function pathOf(line: string): string {
  const rest = line.slice('diff --git a/'.length);
  return rest.slice(0, Math.floor((rest.length - ' b/'.length) / 2));
}
