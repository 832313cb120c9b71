import type { Definition, Extracted } from './extract/extracted.ts';
import { headingOf, isFence } from './extract/heading.ts';

/** Consecutive lines, counted from 1, both ends included, with the path of headings above them. */
export interface Section {
  readonly headings: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Splits a whole text into contiguous sections. `maxBytes` limits a definition in one piece. */
export function sectionsOf(structure: Extracted['structure'], lines: readonly string[], maxBytes: number): Section[] {
  if (structure.by === 'headings') return byHeadings(lines);
  if (structure.by === 'parts') return [...structure.parts];
  if (structure.by === 'definitions') return byDefinitions(structure.definitions, lines, maxBytes);
  return [{ headings: [], from: 1, to: lines.length }];
}

function byHeadings(lines: readonly string[]): Section[] {
  const sections: Section[] = [];
  const path: { level: number; text: string }[] = [];
  let from = 1;
  let fence: string | null = null;
  const close = (to: number) => {
    if (to >= from) sections.push({ headings: path.map(({ text }) => text), from, to });
  };
  for (const [i, line] of lines.entries()) {
    const mark = isFence(line, fence);
    if (mark !== undefined) fence = mark;
    if (mark !== undefined || fence !== null) continue;
    const heading = headingOf(line);
    if (!heading) continue;
    close(i);
    while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop();
    path.push(heading);
    from = i + 1;
  }
  close(lines.length);
  return sections;
}

/**
 * Each definition with the text before it, which is usually about it; a large one is split into its inner
 * definitions.
 */
function byDefinitions(definitions: readonly Definition[], lines: readonly string[], maxBytes: number): Section[] {
  const sections: Section[] = [];
  let next = 1;
  const add = (headings: readonly string[], to: number) => {
    if (to >= next) sections.push({ headings, from: next, to });
    next = Math.max(next, to + 1);
  };
  const visit = (inside: readonly Definition[], around: readonly string[]) => {
    for (const definition of inside) {
      const headings = [...around, definition.name];
      // A long stretch of other code before it becomes its own section.
      if (bytesOf(lines, next, definition.from - 1) > maxBytes / 4) add(around, definition.from - 1);
      if (definition.inside.length > 0 && bytesOf(lines, next, definition.to) > maxBytes) {
        visit(definition.inside, headings);
      }
      add(headings, definition.to);
    }
  };
  visit(definitions, []);
  add([], lines.length);
  return sections;
}

function bytesOf(lines: readonly string[], from: number, to: number): number {
  let bytes = 0;
  for (let line = from; line <= to; line += 1) bytes += (lines[line - 1]?.length ?? 0) + 1;
  return bytes;
}
