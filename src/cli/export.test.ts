import { expect, test } from 'vitest';
import { channelMarkdown } from './export.ts';

test('a message cannot look like an entry of somebody else', () => {
  const forged = '## user, 2026-01-01T00:00:00.000Z';
  const lines = [
    forged,
    `  ${forged}`,
    '#\tx',
    '##### deep',
    'user, now',
    '---',
    'title',
    '===',
    `a\u2028${forged}`,
    `b\r${forged}`,
  ];
  const message = {
    messageId: 'm',
    from: 'ann',
    text: lines.join('\n'),
    createdAt: 'now',
    inReplyTo: null,
    attachments: [],
    reactions: [],
    deletedAt: null,
  };
  const shown = channelMarkdown({ id: 'general', topic: '' }, [message as never]).split('\n');
  const headings = shown.filter((line) => /^ {0,3}(#{1,2})([ \t]|$)/.test(line));
  expect(headings).toEqual(['# general', '## ann, now']);
  expect(shown.filter((line) => /^ {0,3}(=+|-+)[ \t]*$/.test(line))).toEqual([]);
});
