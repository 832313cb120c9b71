import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateTokens } from '../core/tokens.ts';
import { chunkText } from './chunk.ts';
import type { Extracted } from './extract/extracted.ts';
import { sectionsOf } from './sections.ts';

const LIMITS = { maxTokens: 50, overlapTokens: 10 };

function chunks(text: string, structure: Extracted['structure'] = { by: 'headings' }, limits = LIMITS) {
  const lines = text.split('\n');
  return chunkText(text, lines, sectionsOf(structure, lines, limits.maxTokens * 4), limits);
}

const words = (count: number, word = 'word') => Array.from({ length: count }, (_, i) => `${word}${i}`).join(' ');

describe('Markdown', () => {
  test('is cut at its headings, and every chunk has its heading path and lines', () => {
    const text = `# Guide\n\n${words(20)}\n\n## Setup\n\n${words(20)}\n\n### Linux\n\n${words(20)}\n\n## Use\n\n${words(20)}`;
    expect(chunks(text).map(({ headings, from, to }) => ({ headings, from, to }))).toEqual([
      { headings: ['Guide'], from: 1, to: 3 },
      { headings: ['Guide', 'Setup'], from: 5, to: 7 },
      { headings: ['Guide', 'Setup', 'Linux'], from: 9, to: 11 },
      { headings: ['Guide', 'Use'], from: 13, to: 15 },
    ]);
  });

  test('a heading alone is kept with the text below it', () => {
    expect(chunks(`# Guide\n## Setup\n${words(20)}`)).toMatchObject([{ headings: ['Guide'], from: 1, to: 3 }]);
  });

  test('a heading inside a code block is not a heading', () => {
    const text = `# A\n\n${words(12)}\n\n\`\`\`sh\n# not a heading\n\`\`\`\n`;
    expect(chunks(text)).toHaveLength(1);
    expect(chunks(`${text}\n# B\n${words(20)}`).map(({ headings }) => headings)).toEqual([['A'], ['B']]);
  });

  test('a long section is cut between paragraphs', () => {
    const paragraph = words(20);
    const made = chunks(
      `# A\n\n${paragraph}\n\n${paragraph}\n\n${paragraph}`,
      { by: 'headings' },
      { ...LIMITS, overlapTokens: 0 },
    );
    expect(made.map(({ text }) => text)).toEqual([`# A\n\n${paragraph}`, paragraph, paragraph]);
    expect(made.map(({ from }) => from)).toEqual([1, 5, 7]);
  });

  test('a chunk cut for its length repeats the end of the previous one', () => {
    const lines = Array.from({ length: 40 }, (_, i) => `line number ${i}`);
    const made = chunks(lines.join('\n'), { by: 'paragraphs' });
    expect(made.length).toBeGreaterThan(2);
    for (const [i, chunk] of made.entries()) {
      expect(chunk.text.split('\n')[0]).toBe(lines[chunk.from - 1]);
      expect(chunk.text.split('\n').at(-1)).toBe(lines[chunk.to - 1]);
      if (i > 0) expect(chunk.from).toBeLessThanOrEqual(made[i - 1]?.to as number);
    }
  });
});

describe('definitions', () => {
  const body = [
    'import x',
    '',
    'class A {',
    ...Array(30).fill('  first line of it'),
    '  m() {',
    ...Array(9).fill('    more'),
    '  }',
    '}',
    '',
    '// about b',
    'function b() {',
    `  ${words(8)}`,
    '}',
  ];
  const structure: Extracted['structure'] = {
    by: 'definitions',
    definitions: [
      { name: 'A', from: 3, to: 45, inside: [{ name: 'm', from: 34, to: 44, inside: [] }] },
      { name: 'b', from: 48, to: 50, inside: [] },
    ],
  };

  test('become chunks with the text before them; large ones are split into their inner definitions', () => {
    const made = chunks(body.join('\n'), structure, { maxTokens: 100, overlapTokens: 0 });
    expect(made.at(-1)).toMatchObject({ headings: ['b'], from: 47, to: 50 });
    expect(made.some(({ headings, from }) => headings.join() === 'A,m' && from === 34)).toBe(true);
  });
});

describe('for any text', () => {
  const text = fc.array(
    fc.oneof(fc.string({ maxLength: 300 }), fc.constantFrom('', '# a', '## b', '```', ' ', '🚀'.repeat(90))),
    { maxLength: 60 },
  );

  test('no chunk is too long or empty, and nothing is lost', () => {
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 50, max: 120 }),
        fc.integer({ min: 0, max: 25 }),
        (lines, maxTokens, overlapTokens) => {
          const source = lines.join('\n');
          const made = chunks(source, { by: 'headings' }, { maxTokens, overlapTokens });
          for (const chunk of made) {
            expect(estimateTokens(chunk.text)).toBeLessThanOrEqual(maxTokens);
            expect(chunk.text.trim()).not.toBe('');
          }
          const covered = new Set(
            made.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i)),
          );
          for (const [i, line] of source.split('\n').entries())
            if (line.trim() !== '') expect(covered).toContain(i + 1);
        },
      ),
    );
  });

  test('a line longer than any chunk, without spaces, is cut losslessly', () => {
    const long = '🚀é'.repeat(2_000);
    const made = chunks(long, { by: 'paragraphs' }, { maxTokens: 50, overlapTokens: 0 });
    expect(made.map((chunk) => chunk.text).join('')).toBe(long);
    expect(made.every(({ from, to }) => from === 1 && to === 1)).toBe(true);
  });

  test('a megabyte is cut quickly', () => {
    const begin = process.threadCpuUsage();
    for (const hostile of [
      '#'.repeat(1_000_000),
      `${'# '.repeat(500_000)}`,
      '\n'.repeat(1_000_000),
      '# a\n'.repeat(250_000),
      '`'.repeat(1_000_000),
    ]) {
      chunks(hostile);
    }
    const { user, system } = process.threadCpuUsage(begin);
    expect((user + system) / 1000).toBeLessThan(5_000);
  });
});
