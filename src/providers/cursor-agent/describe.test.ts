import { expect, test } from 'vitest';
import { cursorAgent } from './describe.ts';

test.each([
  ['2026.02.13-41ac335\n', null],
  ['a warning\n2027.01.01', null],
  ['2026.02.12-fffffff', expect.stringContaining('2026.02.12')],
  ['', expect.stringContaining('does not report')],
])('cursor-agent that prints %j for --version', (answer, problem) => {
  expect(cursorAgent.program.versionProblem(answer)).toEqual(problem);
});
