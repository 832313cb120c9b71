import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunkQuery, chunkWords, passageQuery, passageWords, snippetOf, wordsOf } from './search.ts';

/** Scripts without spaces also have signs that are not letters, such as radicals; an index ignores them. */
const WORD =
  /^[\p{L}\p{N}\p{M}\p{Extended_Pictographic}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{1,60}$/u;

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

  test('a word contains only letters, digits, marks and emoji, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const word of wordsOf(text)) expect(word).toMatch(WORD);
      }),
    );
  });
});

describe('passageQuery()', () => {
  test('has each stem once, and only some of a long text', () => {
    expect(passageQuery('searching the searches').words).toEqual(['search']);
    expect(passageQuery('to be, or not to be').words).toEqual(['to', 'be', 'or', 'not']);
    expect(passageQuery('"Quick start" now').phrases).toEqual([['quick', 'start']]);
    const many = passageQuery(Array.from({ length: 3000 }, (_, i) => `w${i}`).join(' '));
    expect(many.words.length).toBeLessThanOrEqual(128);
  });

  test('finds what passageWords() makes of other forms of the same word', () => {
    const passage = { content: 'Deployments failed', tags: [], createdAt: 0, runId: null };
    expect(passageWords(passage, []).own).toEqual(expect.arrayContaining([...passageQuery('deployment').words]));
  });

  test('a passage is also found by its date, and by what was stored beside it', () => {
    const at = Date.UTC(2026, 4, 14);
    const passage = { content: 'We take Postgres.', tags: ['db'], createdAt: at, runId: 'r' };
    const minute = { content: 'Which database?', tags: [], createdAt: at - 60_000, runId: null };
    const run = { content: 'The vote is over.', tags: [], createdAt: at + 86_400_000, runId: 'r' };
    const stranger = { content: 'Lunch', tags: [], createdAt: at - 3_600_000, runId: null };
    const { own, near } = passageWords(passage, [minute, run, stranger]);
    expect(own).toEqual(['we', 'take', 'postgr', 'db']);
    for (const query of ['in May', 'Mai', 'Thursday', '2026-05-14', 'database', 'votes']) {
      expect(near).toEqual(expect.arrayContaining([...passageQuery(query).words]));
    }
    expect(near).not.toContain('lunch');
  });
});

describe('chunkWords()', () => {
  const words = (text: string) => {
    const made = chunkWords({ title: null, headings: [], text }).words;
    return made === '' ? [] : made.split(' ');
  };

  test.each([
    ['Searching the searched searches', ['search', 'the', 'search', 'search']],
    ['foo-bar', ['foo', 'bar', 'foobar']],
    ['snake_case', ['snake', 'case', 'snakecase']],
    ['getUserName and HTTPServer', ['get', 'user', 'name', 'getusername', 'and', 'http', 'server', 'httpserver']],
    ['path/to/file.ts', ['path', 'to', 'file', 'ts', 'pathtofilets']],
    ['user@host', ['user', 'host', 'userhost']],
    ['std::vector', ['std', 'vector', 'stdvector']],
    ['C++, C# and C', ['c', 'cplusplus', 'c', 'csharp', 'and', 'c']],
    ["the owner's don't", ['the', 'owner', 'don', 't', 'dont']],
    ['Crème BRÛLÉE', ['creme', 'brule']],
    ['東京都 🚀', ['東京', '京都', '🚀']],
    [' ({["%*:^"]}) ', []],
  ])('%j', (text, stems) => {
    expect(words(text)).toEqual(stems);
  });

  test('titles and headings are indexed as words', () => {
    expect(chunkWords({ title: 'Running', headings: ['First steps'], text: 'x' })).toEqual({
      title: 'run first step',
      words: 'x',
    });
  });

  test('a word contains only letters, digits, marks and emoji, and is not long, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const word of words(text)) expect(word).toMatch(WORD);
      }),
    );
  });

  test('a text finds itself: it contains every word of its query', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        const has = new Set(words(text));
        for (const word of chunkQuery(text).words) expect(has).toContain(word);
      }),
    );
  });
});

describe('chunkQuery()', () => {
  test.each([
    ['How do I restart the daemon?', { words: ['restart', 'daemon'], phrases: [] }],
    ['to be or not to be', { words: ['to', 'be', 'or', 'not'], phrases: [] }],
    ['"exact phrase" anyway', { words: ['exact', 'phrase', 'anyway'], phrases: [['exact', 'phrase']] }],
    ['“the daemon is” down', { words: ['daemon'], phrases: [['the', 'daemon', 'is']] }],
    ['an "open quote', { words: ['open', 'quot'], phrases: [] }],
    ['boundary-layer', { words: ['boundari', 'layer'], phrases: [] }],
    ['foo_bar', { words: ['foo', 'bar', 'foobar'], phrases: [] }],
    ['', { words: [], phrases: [] }],
  ])('%j', (query, asked) => {
    expect(chunkQuery(query)).toEqual(asked);
  });

  test('takes the most frequent words of a pasted page', () => {
    const page = Array.from({ length: 3000 }, (_, i) => `filler${i} ${i % 10 === 0 ? 'subject' : ''}`).join(' ');
    const { words } = chunkQuery(page);
    expect(words).toHaveLength(64);
    expect(words[0]).toBe('subject');
  });
});

describe('snippetOf()', () => {
  const filler = 'nothing that matters is said here at all '.repeat(30);
  const snippet = (text: string, query: string) => snippetOf(text, chunkQuery(query).words, 100);

  test('returns the part with most of the words, in any form', () => {
    const shown = snippet(`${filler}The daemons were restarted, by getUserName. ${filler}`, 'restart daemon');
    expect(shown).toMatch(/^….*daemons were restarted.*…$/s);
    expect(shown.length).toBeLessThan(104);
    expect(snippet(`${filler} (see getUserName) ${filler}`, 'user name')).toContain('getUserName');
  });

  test('returns the beginning if nothing matches, and all of a short text', () => {
    expect(snippet(filler, 'elsewhere')).toMatch(/^nothing that matters.*…$/);
    expect(snippet('  short\n', 'elsewhere')).toBe('short');
  });

  test('is never longer than the given length, for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 400 }),
        fc.string({ unit: 'binary', maxLength: 20 }),
        (text, query) => {
          expect(snippet(text, query).length).toBeLessThanOrEqual(102);
        },
      ),
    );
  });
});
