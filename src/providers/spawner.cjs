/**
 * Starts programs for the daemon. A process that forks copies its page tables and waits until the child has begun, and
 * the daemon is large and busy; this process is neither. Its requests come from its parent alone, as lines on stdin:
 * `{ id, key, file, args, cwd, env }` starts a program, `{ id, signal }` signals its group. Each program gets three
 * connections to the daemon's socket as stdin, stdout and stderr; the first bytes of each are the key and the number of
 * the descriptor. Exits when the daemon is gone.
 */
const { spawn } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { Socket } = require('node:net');

const socketPath = /** @type {string} */ (process.argv[2]);
/** The group by request, until its leader has exited. @type {Map<number, number>} */
const groups = new Map();
const daemon = process.ppid;
let rest = '';

process.stdin.setEncoding('utf8');
process.stdin.on('data', (/** @type {string} */ chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) take(JSON.parse(line));
});
// Nothing else keeps this process alive, so it ends with the daemon. A signal for the daemon's terminal must not end it before.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, () => {});
for (const stream of [process.stdin, process.stdout]) stream.on('error', () => {});
report({});

/** @param {{ id: number, signal?: NodeJS.Signals } & Start} request */
function take(request) {
  if (request.signal === undefined) return void start(request).catch((error) => refuse(request.id, error));
  const group = groups.get(request.id);
  if (group !== undefined) strike(group, request.signal);
}

/** @typedef {{ id: number, key: string, file: string, args: string[], cwd: string, env: Record<string, string> }} Start */

async function start(/** @type {Start} */ { id, key, file, args, cwd, env }) {
  const stdio = await Promise.all([0, 1, 2].map((descriptor) => connect(`${key}${descriptor}`)));
  try {
    // Another process has adopted this one: a program that starts now could meet the next daemon.
    if (process.ppid !== daemon) return;
    const child = spawn(file, args, { cwd, env, detached: true, stdio });
    const { pid } = child;
    child.on('error', (error) => pid === undefined && refuse(id, error));
    if (pid === undefined) return;
    child.unref();
    groups.set(id, pid);
    child.on('exit', (exitCode, signal) => {
      groups.delete(id);
      // In the turn in which it was reaped, so that its id cannot belong to another group yet.
      report({ id, exitCode, signal, isLeft: strike(pid, 'SIGKILL') });
    });
    report({ id, pid, started: startOf(pid) });
  } finally {
    for (const socket of stdio) socket.destroy();
  }
}

/** @returns {Promise<import('node:net').Socket>} */
function connect(/** @type {string} */ name) {
  return new Promise((resolve, reject) => {
    const socket = new Socket();
    // What the daemon sends is for the program.
    socket.pause();
    socket.on('error', reject);
    socket.connect(socketPath);
    socket.write(name, () => resolve(socket));
  });
}

/** Returns false if nothing is left of the group. */
function strike(/** @type {number} */ group, /** @type {NodeJS.Signals} */ signal) {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/** Read before a process that exited immediately can be reaped, so it always exists. */
function startOf(/** @type {number} */ pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** @param {number} id @param {NodeJS.ErrnoException} error */
function refuse(id, { code, message, syscall }) {
  report({ id, error: { code, message, syscall } });
}

function report(/** @type {object} */ message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
