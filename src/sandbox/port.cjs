// @ts-check
'use strict';

// Runs inside, before the program: opens ports in the turn's network namespace and hands them to the daemon, which accepts the
// connections itself. The open sockets stay in the daemon, so nothing inside can end them or take their ports.
const { createServer } = require('node:net');

const ports = process.argv[2]?.split(',') ?? [];

const open = (/** @type {number} */ index) => {
  const port = ports[index];
  if (port === undefined) return process.disconnect();
  const server = createServer();
  server.on('error', (error) => {
    process.stderr.write(`substrat: cannot open port ${port} inside the sandbox (${error.message}).\n`);
    process.exitCode = 1;
    process.disconnect();
  });
  server.listen(Number(port), '127.0.0.1', () =>
    process.send?.('open', server, {}, () => {
      server.close();
      open(index + 1);
    }),
  );
};
open(0);
