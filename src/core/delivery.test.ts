import { describe, expect, test } from 'vitest';
import { answersBroadcasts, chooseCarried, chooseNews, takeMatching, type Waiting } from './delivery.ts';

/** `a?1` is a request from `a`, `a!1` a reply from `a` (`a!1/r` for the request `r`), `a.1` news from `a`. */
function pending(...notes: string[]): Waiting[] {
  return notes.map((note) => {
    const [, author = '', mark, , parent] = /^(\w)([?!.])(\d)(?:\/(.+))?$/.exec(note) ?? [];
    const kind = mark === '?' ? 'request' : mark === '!' ? 'reply' : 'news';
    return { messageId: note, authorId: author, deliveryKind: kind, parentRequest: parent ?? null };
  });
}

function carried(...notes: string[]) {
  const { serves, deliveries } = chooseCarried(pending(...notes));
  return { serves, carries: deliveries.map(({ messageId }) => messageId) };
}

describe('chooseCarried()', () => {
  test('carries all news when nothing else is pending, and serves nothing', () => {
    expect(carried('a.1', 'b.1', 'a.2')).toEqual({ serves: null, carries: ['a.1', 'b.1', 'a.2'] });
    expect(carried()).toEqual({ serves: null, carries: [] });
  });

  test('serves the first request and leaves the next one for a later run', () => {
    expect(carried('a.1', 'a?2', 'b?1')).toEqual({ serves: 'a?2', carries: ['a.1', 'a?2'] });
  });

  test('holds back messages that the author of a postponed request sent after it', () => {
    expect(carried('a?1', 'b.1', 'b?2', 'b.3')).toEqual({ serves: 'a?1', carries: ['a?1', 'b.1'] });
    expect(carried('a?1', 'a?2', 'a.3', 'b.1')).toEqual({ serves: 'a?1', carries: ['a?1', 'b.1'] });
  });

  test('carries only replies for the same request together', () => {
    expect(carried('a!1/r', 'b!1/s', 'c!1/r')).toEqual({ serves: 'r', carries: ['a!1/r', 'c!1/r'] });
    expect(carried('a!1', 'b!1', 'c!1/r')).toEqual({ serves: null, carries: ['a!1', 'b!1'] });
  });

  test('does not carry a reply with a request, and holds back what its author sent after it', () => {
    expect(carried('a?1', 'b!1/a?1', 'b.2')).toEqual({ serves: 'a?1', carries: ['a?1'] });
  });

  test('lets a request or a reply overtake only news from other authors', () => {
    expect(carried('b.1', 'a!1/r', 'b.2')).toEqual({ serves: 'r', carries: ['b.1', 'a!1/r', 'b.2'] });
  });
});

describe('chooseNews()', () => {
  const chosen = (...notes: string[]) => chooseNews(pending(...notes)).map(({ messageId }) => messageId);

  test('returns neither requests nor replies', () => {
    expect(chosen('a?1', 'b!1', 'c.1')).toEqual(['c.1']);
  });

  test('returns no news that its author sent after a request or a reply', () => {
    expect(chosen('a.1', 'a?2', 'a.3', 'b.1', 'b!2', 'b.3', 'c.1')).toEqual(['a.1', 'b.1', 'c.1']);
  });
});

describe('answersBroadcasts()', () => {
  const broadcast = { broadcast: 'id', kind: 'message', deliveryKind: 'news' };
  const notice = { broadcast: null, kind: 'notice', deliveryKind: 'news' };
  const others = [
    { broadcast: null, kind: 'message', deliveryKind: 'news' },
    { broadcast: null, kind: 'message', deliveryKind: 'request' },
    { broadcast: null, kind: 'reply', deliveryKind: 'reply' },
  ];

  test('is true only for broadcasts, with or without notices', () => {
    expect(answersBroadcasts([broadcast])).toBe(true);
    expect(answersBroadcasts([broadcast, notice, broadcast])).toBe(true);
    expect(answersBroadcasts([notice])).toBe(false);
    expect(answersBroadcasts([])).toBe(false);
    for (const other of others) expect(answersBroadcasts([broadcast, other])).toBe(false);
  });
});

test('takeMatching() takes of an author what comes before the first that does not match', () => {
  const of = (authorId: string, n: number) => ({ authorId, n });
  const pending = [of('a', 1), of('b', 5), of('a', 9), of('b', 1), of('a', 2), of('c', 3)];
  expect(takeMatching(pending, ({ n }) => n < 5)).toEqual([of('a', 1), of('c', 3)]);
});
