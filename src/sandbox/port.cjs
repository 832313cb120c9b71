// @ts-check
'use strict';

// Runs inside, before the program: opens a port in the turn's network namespace and hands it to the daemon, which accepts the
// connections itself. The open socket stays in the daemon, so nothing inside can end it or take its port.
const { createServer } = require('node:net');

const port = process.argv[2];
const server = createServer();
const end = () => {
  server.close();
  process.disconnect();
};
server.on('error', (error) => {
  process.stderr.write(`substrat: cannot open port ${port} inside the sandbox (${error.message}).\n`);
  process.exitCode = 1;
  end();
});
server.listen(Number(port), '127.0.0.1', () => process.send?.('open', server, {}, end));
