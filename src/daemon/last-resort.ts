/** Codes of errors that end one connection, stream or request, and say nothing about what the daemon knows. */
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
  // Too many files are open: whoever needed one more was told so, and the next one may get it.
  'EMFILE',
  'ENFILE',
]);
const OF_ONE_STREAM = /^(ERR_STREAM_|ERR_HTTP_|ERR_SOCKET_|ERR_TLS_|ERR_SSL_|ERR_INVALID_HTTP_|HPE_|UND_ERR_)/;
/** So many in a minute are no accident any more. */
const MOST = 20;
const MINUTE_MS = 60_000;

/**
 * Decides whether the daemon goes on after an error that nothing handled. An error of one connection leaves everything else as
 * it was. After any other, nobody knows what was left half done in memory: the daemon ends, and the next one recovers from
 * the store. It ends as well when harmless errors come too often.
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
