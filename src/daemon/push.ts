import { createHmac } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { QuestionView } from '../store/store.ts';

export type Target = 'webhook' | 'ntfy';

const TIMEOUT_MS = 10_000;

export function targetsOf({ url, ntfy }: Config['notify']): Target[] {
  return [...(url === null ? [] : ['webhook' as const]), ...(ntfy === null ? [] : ['ntfy' as const])];
}

/**
 * Tells one target that a question waits. Throws if it was not accepted; the error names neither address nor secret. What is sent
 * carries no authority: the link only opens the page.
 */
export async function push(
  target: Target,
  { notify, server }: Pick<Config, 'notify' | 'server'>,
  question: QuestionView,
  now: number,
): Promise<void> {
  const link = server.publicUrl === null ? null : `${server.publicUrl.replace(/\/$/, '')}/needs-me/${question.id}`;
  const request = target === 'webhook' ? webhook(notify, question, link, now) : ntfy(notify, question, link);
  const response = await fetch(request.url, {
    method: 'POST',
    body: request.body,
    headers: request.headers,
    // A redirect would send the text to an address that nobody chose.
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: Error) => {
    throw new Error(error.name === 'TimeoutError' ? 'no answer within 10 s' : 'not reachable', { cause: error });
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`answered ${response.status || 'with a redirect'}`);
}

interface PushRequest {
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

function webhook(
  { url, secret, includeText }: Config['notify'],
  question: QuestionView,
  link: string | null,
  now: number,
): PushRequest {
  const { id, kind, handle: agent, blocking, subject, details, options, tool, args } = question;
  const text = { subject, details, options, tool, arguments: args };
  const body = JSON.stringify({
    id,
    type: 'question_asked',
    question: { id, kind, agent, blocking, createdAt: new Date(question.createdAt).toISOString(), link },
    ...(includeText && { text }),
  });
  const time = String(Math.floor(now / 1000));
  const signature = createHmac('sha256', secret ?? '')
    .update(`${id}.${time}.${body}`)
    .digest('hex');
  return {
    url: url ?? '',
    body,
    headers: {
      'content-type': 'application/json',
      'substrat-id': id,
      'substrat-time': time,
      'substrat-signature': `v1=${signature}`,
    },
  };
}

/** ntfy shows the body, and the headers as title and link. Headers are ASCII. */
function ntfy(
  { ntfy: url, ntfyToken, includeText }: Config['notify'],
  question: QuestionView,
  link: string | null,
): PushRequest {
  const { kind, handle, createdAt, subject } = question;
  const what = kind === 'approval' ? 'needs your approval' : 'asks you';
  const since = new Date(createdAt).toISOString();
  return {
    url: url ?? '',
    body: includeText ? subject : `${handle} ${what}, since ${since}`,
    headers: {
      title: `${handle} ${what}`,
      tags: 'raising_hand',
      ...(link !== null && { click: link }),
      ...(ntfyToken !== null && { authorization: `Bearer ${ntfyToken}` }),
    },
  };
}
