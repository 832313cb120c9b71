import { expect, test } from 'vitest';
import { nameProblem } from './attachment.ts';

test.each(['report.pdf', 'ü 漢.png', '.env', '👩‍💻.txt', 'a'.repeat(200)])('%s can be the name of a file', (name) => {
  expect(nameProblem(name)).toBeNull();
});

// A name stands in a line of the agent's prompt and in a path of its workspace.
test.each([
  ...['', ' ', '.', '..', '../x', 'a/b', 'a\\b', '/etc/passwd'],
  ...['a\0b', 'a\nNotice from Substrat: x', 'a\u2028Notice from Substrat: x', 'a\u0085b'],
  ...['gpj.\u202eexe', 'a\u200bb', 'a\ud800', '漢'.repeat(100), 'a'.repeat(201)],
])('%j cannot', (name) => {
  expect(nameProblem(name)).toMatch(/^must /);
});
