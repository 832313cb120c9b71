import type { FailureKind } from '../core/failure.ts';
import { waitIn } from './wait.ts';

export interface Classified {
  readonly kind: Exclude<
    FailureKind,
    | 'cancelled'
    | 'daemon_died'
    | 'daemon_stopped'
    | 'interrupted'
    | 'lease_lost'
    | 'limit'
    | 'resources'
    | 'store'
    | 'timeout'
  >;
  /** Set if the provider said how long to wait. */
  readonly retryAfterMs?: number;
  /** Set if a quota is used up and nobody said when it is renewed. */
  readonly exhausted?: true;
}

type Kind = Classified['kind'];

/** Messages that decide the kind regardless of the status: most of these arrive as a 400 or a 429. */
const telling: readonly [RegExp, Kind][] = [
  [
    /no (conversation|session|chat|thread|rollout) found|no saved session|no previous sessions? found|error resuming session|unknown (session|chat|thread)/i,
    'bad_session',
  ],
  [/(session|chat|conversation|thread)\b[^.\n]{0,100}\b(not found|does not exist|no longer exists)/i, 'bad_session'],
  [
    /invalid (session|chat|resume|thread)|(could not|cannot|failed to) (resume|find|load) [^.\n]{0,40}(session|chat|thread)/i,
    'bad_session',
  ],
  [
    /prompt is too long|context.?(length|window|limit)|maximum context|too many (input )?tokens|input is too long/i,
    'context_full',
  ],
  [
    /rate.?limit|too many requests|(usage|spend\w*|request|message|weekly|daily|monthly) limit|quota|resource.?exhausted/i,
    'rate_limit',
  ],
  [
    /limit (was |has been |is )?(reached|exceeded)|hit your limit|out of (usage|credits)|insufficient (credits|balance)/i,
    'rate_limit',
  ],
];

/** Waiting a minute does not help: a new period has to begin, or somebody has to pay. */
const usedUp =
  /(usage|spend\w*|weekly|daily|monthly) limit|hit your limit|quota|out of (usage|credits)|insufficient (credits|balance|funds)|credit balance|payment required|\b402\b/i;

const statuses: Readonly<Record<number, Kind>> = {
  400: 'invalid_request',
  401: 'auth',
  402: 'rate_limit',
  403: 'auth',
  404: 'invalid_request',
  408: 'overloaded',
  413: 'context_full',
  422: 'invalid_request',
  429: 'rate_limit',
};

/** Messages that only decide if there is no status. */
const hints: readonly [RegExp, Kind][] = [
  [
    /overloaded|high demand|(?<!resource )temporar(y|ily)|(service|currently|model) unavailable|server.?(side )?error|internal error|try again/i,
    'overloaded',
  ],
  [
    /ECONN(RESET|REFUSED|ABORTED)|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|socket hang up|fetch failed|network (error|is)/i,
    'overloaded',
  ],
  [
    /^\W*(api error: )?terminated\W*$|(stream|connection) (was |has )?(disconnected|closed|lost|reset|failed|error|dropped|timed out)/i,
    'overloaded',
  ],
  [
    /not logged in|log ?in (again|first|required)|unauthori[sz]ed|(un|not )authenticated|authentication|credential/i,
    'auth',
  ],
  [
    /(invalid|missing|incorrect|expired|revoked)[^.\n]{0,30}(api.?key|token)|(api.?key|token)[^.\n]{0,30}(invalid|missing|expired|revoked)/i,
    'auth',
  ],
  [
    /invalid.?(request|argument|model)|bad request|unknown (option|model)|model\b[^.\n]{0,80}\b(not found|not available|not supported|does not exist)|no such model/i,
    'invalid_request',
  ],
];

const STATUS = /(?:^|\b(?:error|status|status_?code|code|http(?:\/[\d.]+)?)"?\s*[:=]?\s*)([45]\d\d)\b/i;

/** Classifies the error text of a program or model, for all providers. Unknown errors are a crash. */
export function classify(text: string, now = Date.now()): Classified {
  const kind = kindOf(text);
  if (kind !== 'rate_limit' && kind !== 'overloaded') return { kind };
  const retryAfterMs = waitIn(text, now);
  if (retryAfterMs !== null) return { kind, retryAfterMs };
  return kind === 'rate_limit' && usedUp.test(text) ? { kind, exhausted: true } : { kind };
}

function kindOf(text: string): Kind {
  const told = telling.find(([words]) => words.test(text));
  if (told) return told[1];
  const status = Number(STATUS.exec(text)?.[1]);
  if (status) return statuses[status] ?? (status >= 500 ? 'overloaded' : 'invalid_request');
  return hints.find(([words]) => words.test(text))?.[1] ?? 'crash';
}
