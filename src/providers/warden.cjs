/**
 * Ends the processes of turns when their daemon is silent for too long: a daemon that is suspended cannot end them
 * itself, and another node may run its turns by then. The daemon writes a line for each turn's process group
 * (`+PID STARTED`, `-PID`) and empty lines as heartbeats. Time is monotonic. Exits when the daemon is gone and nothing
 * that it named is alive.
 */
const { readFileSync } = require('node:fs');

const patienceMs = Number(process.argv[2]);
/** Noticing takes a look and a pause, at most a quarter of the patience: less than the grace that the daemon has left. */
const lookMs = Math.max(20, Math.min(250, patienceMs / 8));
/** @type {Map<number, string>} */
const groups = new Map();
let heard = performance.now();
let isGone = false;
let rest = '';

process.stdin.setEncoding('utf8');
process.stdin.on('data', (/** @type {string} */ chunk) => {
  heard = performance.now();
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) {
    const [pid = '', started = ''] = line.slice(1).split(' ');
    if (line.startsWith('+')) groups.set(Number(pid), started);
    if (line.startsWith('-')) groups.delete(Number(pid));
  }
});
process.stdin.on('error', () => {});
for (const event of ['end', 'close']) {
  process.stdin.on(event, () => {
    isGone = true;
    look();
  });
}
// It ends by itself. A signal for the daemon's group or terminal must not end it before.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, () => {});
const timer = setInterval(look, lookMs);

function look() {
  for (const [pid, started] of groups) if (!isAlive(pid, started)) groups.delete(pid);
  if (isGone && groups.size === 0) return clearInterval(timer);
  // Heartbeats that arrived while this process was not scheduled are read first.
  if (isSilent()) setTimeout(() => isSilent() && endAll(), Math.min(lookMs, 100));
}

function isSilent() {
  return performance.now() - heard >= patienceMs;
}

function endAll() {
  for (const [pid, started] of groups) {
    if (!isAlive(pid, started)) continue;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
}

/** The pid may belong to another process by now. */
function isAlive(/** @type {number} */ pid, /** @type {string} */ started) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[19] === started && fields[0] !== 'Z' && fields[0] !== 'X';
  } catch {
    return false;
  }
}
