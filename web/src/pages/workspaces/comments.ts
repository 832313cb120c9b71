import { useState } from 'preact/hooks';
import { remembered } from '../../state/storage.ts';

/** What a person says about one line of a diff. */
export interface Comment {
  readonly path: string;
  /** The number of the line: after the change, or before it if the line was removed. */
  readonly line: number;
  readonly removed: boolean;
  readonly code: string;
  readonly text: string;
}

export interface Comments {
  readonly all: readonly Comment[];
  put(comment: Comment): void;
  clear(): void;
}

/** The comments on the changes of an agent that were not sent: they are kept in this browser. */
export function useComments(agent: string): Comments {
  const stored = remembered(`comments:${agent}`);
  const [all, setAll] = useState<readonly Comment[]>(() => read(stored.get()));
  const write = (next: readonly Comment[]): void => {
    setAll(next);
    stored.set(next.length === 0 ? null : JSON.stringify(next));
  };
  return {
    all,
    put: (comment) => {
      const others = all.filter((one) => !isSameLine(one, comment));
      write(comment.text.trim() === '' ? others : [...others, comment]);
    },
    clear: () => write([]),
  };
}

export function isSameLine(a: Omit<Comment, 'text' | 'code'>, b: Omit<Comment, 'text' | 'code'>): boolean {
  return a.path === b.path && a.line === b.line && a.removed === b.removed;
}

/** All comments as one message, by file and line. */
export function wordsOf(comments: readonly Comment[], base: string | null): string {
  const sorted = [...comments].sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
  const parts = sorted.map(({ path, line, removed, code, text }) => {
    const where = `\`${path}\`, line ${line}${removed ? ' (removed)' : ''}:`;
    return `${where}\n\n> ${removed ? '-' : '+'} ${code.slice(0, 200)}\n\n${text.trim()}`;
  });
  return `Comments on your changes${base ? ` since ${base.slice(0, 10)}` : ''}:\n\n${parts.join('\n\n')}`;
}

function read(text: string | null): readonly Comment[] {
  try {
    const found: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(found) ? (found as Comment[]) : [];
  } catch {
    return [];
  }
}
