/** Hostile inputs. Each is within the accepted size, so that no cheap length check refuses it. */
const MOST = 8 * 1024 * 1024 - 4096;

const keys = (count: number, length = 1) =>
  Array.from({ length: count }, (_, i) => `"${String(i).padStart(length, 'k')}":1`).join(',');

/** JSON that costs a parser or a validator more than its size suggests, by name. */
export const json: Readonly<Record<string, () => string>> = {
  '700,000 keys': () => `{${keys(700_000)}}`,
  '9,900 keys': () => `{${keys(9_900)}}`,
  '9,900 keys of 800 bytes': () => `{${keys(9_900, 800)}}`,
  '9,900 wrong elements': () => `{"text":"x","tools":[${'1,'.repeat(9_900)}1]}`,
  'lists nested 4,000,000 deep': () => `{"text":${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}}`,
  'lists nested 62 deep': () => `{"text":${'['.repeat(62)}${']'.repeat(62)}}`,
  'one text of 8 MB': () => `{"text":"${'x'.repeat(MOST)}"}`,
  'one key of 8 MB': () => `{"${'x'.repeat(MOST)}":1}`,
  'a text of 8 MB in escapes': () => `{"text":"${'\\u00e9'.repeat(MOST / 6)}"}`,
  'a text of 8 MB of quotes': () => `{"text":"${'\\"'.repeat(MOST / 2)}"}`,
  'a text of 8 MB of spaces': () => `{"text":"${' '.repeat(MOST)}"}`,
  '8 MB of blanks around it': () => `{"text":${' '.repeat(MOST)}"x"}`,
  'a number of 8 MB': () => `{"text":${'1'.repeat(MOST)}}`,
};

const repeated = (piece: string, length = 1_000_000) => piece.repeat(Math.floor(length / piece.length));

/** Message texts of a million characters, by name. */
export const texts: Readonly<Record<string, () => string>> = {
  'a million letters': () => repeated('x'),
  'a million line breaks': () => `x${repeated('\n').slice(0, -2)}x`,
  'half a million emoji': () => repeated('😀'),
  mentions: () => repeated('@worker '),
  'at signs': () => repeated('@'),
  headings: () => repeated('# x\n'),
  'our own headers': () => repeated('Message from lead:\n'),
  'backslashes before a header': () => `${repeated('\\').slice(20)}Message from x:`,
  'zero-width characters': () => `x${repeated('\u200b').slice(2)}`,
  'spaces before a letter': () => `${repeated(' ').slice(1)}x`,
  quotes: () => repeated('"'),
  words: () => repeated('w1 x2 y3 z4 '),
};
