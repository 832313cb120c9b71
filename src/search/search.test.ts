import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { queryWords, wordsOf } from './search.ts';

describe('wordsOf()', () => {
  test.each([
    ['Hello, World!', ['hello', 'world']],
    ['C++ and "quotes" (or) NOT near*', ['c', 'and', 'quotes', 'or', 'not', 'near']],
    ['Crème BRÛLÉE', ['creme', 'brulee']],
    ['current_state v1.2', ['current', 'state', 'v1', '2']],
    ['東京都', ['東京', '京都']],
    ['🚀launch', ['🚀', 'launch']],
    ['हिन्दी', ['हिन्दी']],
    [' \n"%_\\', []],
  ])('%j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  test('a word is nothing but letters, digits, marks and emoji, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const word of wordsOf(text)) expect(word).toMatch(/^[\p{L}\p{N}\p{M}\p{Extended_Pictographic}]+$/u);
      }),
    );
  });
});

describe('queryWords()', () => {
  test('has each word once, and of a long text only some', () => {
    expect(queryWords('to be, or not to be')).toEqual(['to', 'be', 'or', 'not']);
    expect(queryWords(Array.from({ length: 3000 }, (_, i) => `w${i}`).join(' '))).toHaveLength(64);
  });
});
