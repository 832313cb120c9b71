// @ts-check
'use strict';

// Beside a program that may reach hosts: its namespace has no way out but the run's proxy socket, and programs know how to use
// a proxy on a port. They wait until this one says that it is there, so it imports nothing else and
// makes no stream for one word. It ends with the sandbox.
const { writeSync } = require('node:fs');
const { connect, createServer } = require('node:net');

const [path = '', port = ''] = process.argv.slice(2);

const server = createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path, allowHalfOpen: true });
  client.pipe(proxy).pipe(client);
  client.on('error', () => proxy.destroy());
  proxy.on('error', () => client.destroy());
});
server.on('error', (error) => {
  process.stderr.write(`substrat: port ${port} inside the sandbox cannot be used (${error.message}).\n`);
});
server.listen(Number(port), '127.0.0.1', () => writeSync(1, 'up\n'));
