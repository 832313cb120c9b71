/**
 * The work of the chaos test's team as pure functions: the agents' program follows them, and the audit derives from
 * them every message that must be in the store at the end. Every text has a unique token; a token is the path of a
 * request, such as `7.lead/ann/dan1`: task 7, asked of lead, who asks ann, who asks dan.
 */

/** Each agent's parent. */
export const team: Readonly<Record<string, string | null>> = {
  lead: null,
  ann: 'lead',
  bob: 'lead',
  cal: 'lead',
  dan: 'ann',
  eve: 'ann',
  fay: 'bob',
  gus: 'cal',
};

export interface Ask {
  readonly to: string;
  readonly token: string;
  /** A new child is created for it, which completes with its answer. */
  readonly spawn?: boolean;
  /** Asked back to the asker: a request only if `sync` is given. */
  readonly counter?: boolean;
}

/** How an agent reacts to one request. */
export interface Reaction {
  readonly asks: readonly Ask[];
  readonly news: readonly { readonly to: string; readonly text: string }[];
  readonly broadcast: string | null;
  readonly looksIntoInbox: boolean;
  /**
   * By its final text, by a message, by a message that names the request, before its own answers have arrived, by
   * `complete`, or not at all.
   */
  readonly answer: 'final' | 'told' | 'named' | 'early' | 'completed' | 'never';
  /** Where its program crashes the first time. */
  readonly crash: 'before' | 'after' | null;
}

export interface Line {
  readonly from: string;
  readonly to: string;
  readonly kind: 'request' | 'reply' | 'error' | 'news';
  readonly text: string;
}

export function reactionTo(name: string, token: string): Reaction {
  const dice = hash(`${name} ${token}`);
  const reaction = { ...nothing, crash: crashOf(dice), ...(byName[name] ?? temporary)(token, dice) };
  return isCounter(name, token) ? { ...nothing, crash: reaction.crash } : reaction;
}

/** Every delivery that a task causes, and its answer to the person. */
export function linesOf(task: number, to: string): Line[] {
  return [...exchange('USER', to, rootToken(task, to))];
}

export function rootToken(task: number, to: string): string {
  return `${task}.${to}`;
}

export function answerTo(name: string, token: string): string {
  const { asks, answer } = reactionTo(name, token);
  if (answer === 'never') return `failed ${token}`;
  if (answer === 'early') return answerWith(token, []);
  return answerWith(
    token,
    asks.map((ask) => answerTo(ask.to, ask.token)),
  );
}

export function answerWith(token: string, answers: readonly string[]): string {
  return `answer ${token} [${answers.join(', ')}]`;
}

export function parentOf(token: string): string {
  return token.slice(0, token.lastIndexOf('/'));
}

export function askerOf(token: string): string {
  const asker = token.split('/').at(-2);
  return asker?.replace(/^\d+\.|\d+$/g, '') ?? 'USER';
}

function* exchange(from: string, to: string, token: string): Generator<Line> {
  const { asks, news, broadcast, answer } = reactionTo(to, token);
  yield { from, to, kind: 'request', text: `ask ${token}` };
  for (const one of news) yield { from: to, to: one.to, kind: 'news', text: one.text };
  if (broadcast) for (const sibling of siblingsOf(to)) yield { from: to, to: sibling, kind: 'news', text: broadcast };
  for (const ask of asks) yield* exchange(to, ask.to, ask.token);
  yield { from: to, to: from, kind: answer === 'never' ? 'error' : 'reply', text: answerTo(to, token) };
}

const nothing: Reaction = {
  asks: [],
  news: [],
  broadcast: null,
  looksIntoInbox: false,
  answer: 'final',
  crash: null,
};

type Part = (token: string, dice: number) => Partial<Reaction>;

const byName: Readonly<Record<string, Part>> = {
  lead: (token, dice) => ({
    asks: asksTo(token, 'ann', 'bob', 'cal'),
    news: dice % 3 === 0 ? newsTo('bob', token) : [],
    answer: dice % 4 === 0 ? 'told' : 'final',
  }),
  ann: (token, dice) => ({
    asks: asksTo(token, 'dan1', 'dan2', 'dan3', 'eve1', 'eve2', 'eve3'),
    broadcast: dice % 3 === 0 ? `broadcast ${token}` : null,
    looksIntoInbox: dice % 2 === 0,
  }),
  bob: (token, dice) => ({
    asks: [...asksTo(token, 'fay1', 'fay2', 'fay3'), ...(dice % 2 === 0 ? counterTo('lead', token) : [])],
    news: dice % 5 === 0 ? newsTo('ann', token) : [],
    looksIntoInbox: dice % 3 === 0,
  }),
  cal: (token, dice) => ({
    asks: [...asksTo(token, 'gus'), ...(taskOf(token) % 20 === 3 ? [{ to: 'gus', token: `${token}/doom` }] : [])],
    broadcast: dice % 4 === 0 ? `broadcast ${token}` : null,
    answer: dice % 4 === 1 && askerOf(token) !== 'USER' ? 'early' : 'final',
  }),
  gus: (token) => {
    if (token.endsWith('/doom')) return { answer: 'never', crash: null };
    const child = `tmp${taskOf(token)}`;
    return taskOf(token) % 4 === 0
      ? { asks: [{ to: child, token: `${token}/${child}`, spawn: true }] }
      : { answer: 'told' };
  },
  dan: (token, dice) => ({ ...leaf(token, dice), news: dice % 6 === 0 ? newsTo('eve', token) : [] }),
  eve: (token, dice) => ({ ...leaf(token, dice), broadcast: dice % 7 === 0 ? `broadcast ${token}` : null }),
  fay: (token, dice) => leaf(token, dice),
};

const temporary: Part = () => ({ answer: 'completed' });

function leaf(token: string, dice: number): Partial<Reaction> {
  const asker = askerOf(token);
  return (
    (
      [
        {},
        { answer: 'told' },
        { answer: 'named' },
        { asks: counterTo(asker, token) },
        { looksIntoInbox: true, answer: 'named' },
      ] as const
    )[dice % 16] ?? {}
  );
}

function asksTo(token: string, ...whom: readonly string[]): Ask[] {
  return whom.map((one) => ({ to: one.replace(/\d+$/, ''), token: `${token}/${one}` }));
}

function counterTo(asker: string, token: string): Ask[] {
  return [{ to: asker, token: `${token}/${asker}`, counter: true }];
}

function newsTo(to: string, token: string) {
  return [{ to, text: `news ${token}` }];
}

/** An agent that is asked back only answers; otherwise the exchange would never end. */
function isCounter(name: string, token: string): boolean {
  const asker = askerOf(token);
  return team[asker] === name && token.endsWith(`/${name}`);
}

function siblingsOf(name: string): string[] {
  return Object.keys(team).filter((other) => other !== name && team[other] === team[name]);
}

function taskOf(token: string): number {
  return Number.parseInt(token, 10);
}

function crashOf(dice: number): Reaction['crash'] {
  return dice % 40 === 0 ? 'before' : dice % 40 === 1 ? 'after' : null;
}

/** FNV-1a with its upper half mixed in, because the low bits of the products alone are not random. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const letter of text) value = Math.imul(value ^ letter.charCodeAt(0), 0x01000193) >>> 0;
  return (value ^ (value >>> 15)) >>> 0;
}
