import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkLine, lineProblem, toLine } from './line.ts';

describe('lineProblem()', () => {
  test.each([
    ['\n', 'U+000A LINE FEED'],
    ['\t', 'U+0009 CHARACTER TABULATION'],
    ['\0', 'U+0000 NULL'],
    ['\x1b', 'U+001B ESCAPE'],
    ['\x7f', 'U+007F DELETE'],
    ['\u0085', 'U+0085 NEXT LINE'],
    ['\u2028', 'U+2028 LINE SEPARATOR'],
    ['\u2029', 'U+2029 PARAGRAPH SEPARATOR'],
    ['\u202e', 'U+202E RIGHT-TO-LEFT OVERRIDE'],
    ['\u2067', 'U+2067 RIGHT-TO-LEFT ISOLATE'],
    ['\u200e', 'U+200E LEFT-TO-RIGHT MARK'],
    ['\u061c', 'U+061C ARABIC LETTER MARK'],
    ['\u200b', 'U+200B ZERO WIDTH SPACE'],
    ['\u200d', 'U+200D ZERO WIDTH JOINER'],
    ['\u2060', 'U+2060 WORD JOINER'],
    ['\ufeff', 'U+FEFF ZERO WIDTH NO-BREAK SPACE'],
    ['\u00ad', 'U+00AD SOFT HYPHEN'],
    ['\ufe0f', 'U+FE0F VARIATION SELECTOR-16'],
    ['\u{e0100}', 'U+E0100 VARIATION SELECTOR-17'],
    ['\u{e0041}', 'U+E0041 TAG CHARACTER "A"'],
    ['\u{e0001}', 'U+E0001 TAG CHARACTER'],
    ['\ud800', 'U+D800 LONE SURROGATE'],
  ])('names %j', (hidden, name) => {
    for (const text of [hidden, `a${hidden}`, `${hidden}b`, `👍${hidden}x${hidden}`].filter(
      (one) => !one.includes('👍\ufe0f'),
    )) {
      expect(lineProblem(text)).toBe(`must be one line without hidden characters; it contains ${name}`);
    }
    expect(() => checkLine('The topic', `x${hidden}`)).toThrow(
      `The topic must be one line without hidden characters; it contains ${name}.`,
    );
  });

  test.each([
    '',
    'All of it',
    'Ünïcödé',
    'سلام',
    '日本語',
    'a\u00a0b',
    '👩‍👩‍👧‍👦 family',
    '❤️‍🔥',
    '🏳️‍🌈',
    '👍🏽',
    '1️⃣',
    '🇮🇹',
    '©️',
    '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  ])('allows %j', (text) => expect(lineProblem(text)).toBeNull());

  test.each(['👍\u{e0041}', '🏴\u{e0041}\u{e007f}', '👍\u200d', '\u200d👍', 'a\u200db', '1\ufe0f'])(
    'does not treat %j as an emoji',
    (text) => expect(lineProblem(text)).not.toBeNull(),
  );
});

describe('toLine()', () => {
  test('keeps a text that is one line, and turns any other text into one line', () => {
    expect(toLine('❤️‍🔥 as it was')).toBe('❤️‍🔥 as it was');
    expect(toLine(' a\u0085b\u2028c\r\nd\u202ee\u200bf\u{e0041} ')).toBe('a b c def');
  });

  test('leaves no problem, for any text', () => {
    const hidden = fc.constantFrom(
      '\n',
      '\u0085',
      '\u202e',
      '\u200d',
      '\ufe0f',
      '\u{e0041}',
      '👍',
      '\ud83d',
      '\udc4d',
      '#',
      '1',
    );
    const text = fc.array(fc.oneof(fc.string({ unit: 'binary' }), hidden)).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (given) => lineProblem(toLine(given)) === null),
      { numRuns: 1000 },
    );
  });
});
