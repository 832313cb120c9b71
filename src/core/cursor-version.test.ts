import { expect, test } from 'vitest';
import { cursorVersionProblem } from './cursor-version.ts';

test.each([
  ['2026.02.13-41ac335\n', null],
  ['a warning\n2027.01.01', null],
  ['2026.02.12-fffffff', expect.stringContaining('2026.02.12')],
  ['', expect.stringContaining('does not tell')],
])('cursorVersionProblem(%j)', (answer, problem) => {
  expect(cursorVersionProblem(answer)).toEqual(problem);
});
