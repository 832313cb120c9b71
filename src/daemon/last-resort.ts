/** Codes of errors that concern one connection, stream or request and leave the daemon's state intact. */
const OF_ONE_CONNECTION = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // Too many open files: the operation failed, and a later one may succeed.
  'EMFILE',
  'ENFILE',
]);
const OF_ONE_STREAM = /^(ERR_STREAM_|ERR_HTTP_|ERR_SOCKET_|ERR_TLS_|ERR_SSL_|ERR_INVALID_HTTP_|HPE_|UND_ERR_)/;
/** The daemon ends after more errors than this in a minute. */
const MOST = 20;
const MINUTE_MS = 60_000;

/**
 * Decides whether the daemon continues after an unhandled error. It continues after an error of one connection. After
 * any other error its memory may be inconsistent: the daemon ends, and the next one recovers from the store. It also
 * ends if connection errors are too frequent.
 */
export function createLastResort(clock: () => number = () => performance.now()): (error: unknown) => 'go on' | 'end' {
  let recent: number[] = [];
  return (error) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!OF_ONE_CONNECTION.has(code) && !OF_ONE_STREAM.test(code)) return 'end';
    const now = clock();
    recent = [...recent.filter((at) => now - at < MINUTE_MS), now];
    return recent.length > MOST ? 'end' : 'go on';
  };
}
