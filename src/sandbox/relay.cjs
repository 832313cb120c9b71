// @ts-check
'use strict';

// What runs first in a sandbox that may reach hosts: its namespace has no way out but the run's proxy socket, and programs
// know how to use a proxy on a port. Then the program itself, whose end is this one's end. Plain CommonJS: it starts each turn.
const { spawn } = require('node:child_process');
const { connect, createServer } = require('node:net');

const [path = '', port = '', file = '', ...args] = process.argv.slice(2);

const server = createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path, allowHalfOpen: true });
  client.pipe(proxy).pipe(client);
  client.on('error', () => proxy.destroy());
  proxy.on('error', () => client.destroy());
});
server.on('error', (error) => fail(`port ${port} inside the sandbox cannot be used (${error.message})`));
server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(file, args, { stdio: 'inherit' });
  child.on('error', (error) => fail(`${file} could not be started (${error.message})`));
  child.on('exit', (code, signal) => {
    // As a shell tells it.
    process.exit(code ?? 128 + (require('node:os').constants.signals[signal ?? 'SIGKILL'] ?? 0));
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal));
  }
});

/** @param {string} problem */
function fail(problem) {
  process.stderr.write(`substrat: ${problem}\n`, () => process.exit(126));
}
