#!/usr/bin/env node
// @ts-check
'use strict';

// What providers start as the agent's MCP server: a pipe between stdio and the socket of the agent's run, where the
// daemon speaks MCP. Every turn waits for it, in whatever Node there is: plain CommonJS, no imports but these.
const { connect } = require('node:net');
const { dirname, join } = require('node:path');

const usage = 'Usage: SUBSTRAT_SOCKET=<path> substrat-mcp-server --agent-id <uuid>';
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** How a refusal begins. A daemon that accepts the first line says nothing, so anything else is MCP. */
const refusal = Buffer.from('{"substrat":');
const longestRefusal = 64 * 1024;
/** How the daemon's own socket answers a line that is not HTTP. */
const http = Buffer.from('HTTP/1.');
/** How long the daemon's remaining answers are waited for when the client has closed its end. */
const patienceMs = 10_000;

main(process.argv.slice(2));

/** @param {string[]} args */
function main(args) {
  let agentId = '';
  for (let arg = args.shift(); arg !== undefined; arg = args.shift()) {
    if (arg === '--help' || arg === '-h') return console.log(usage);
    if (arg === '--version') return console.log(require('../../package.json').version);
    if (arg === '--agent-id') agentId = args.shift() ?? '';
    else if (arg.startsWith('--agent-id=')) agentId = arg.slice('--agent-id='.length);
    else return fail(`unknown option ${arg}. ${usage}`, 2);
  }
  const path = process.env.SUBSTRAT_SOCKET;
  if (!agentId) return fail(`--agent-id is missing. ${usage}`, 1);
  if (!uuid.test(agentId)) return fail(`--agent-id ${agentId} is not a UUID. ${usage}`, 1);
  if (!path) return fail(`SUBSTRAT_SOCKET is not set. ${usage}`, 1);
  bridge(path, agentId);
}

/**
 * @param {string} path
 * @param {string} agentId
 */
function bridge(path, agentId) {
  const { stdin, stdout } = process;
  let connected = false;
  let clientDone = false;
  /** @type {string | undefined} */
  let problem;

  // A process of a turn carries its run: one that outlives it is not taken for the agent's next turn.
  const runId = process.env.SUBSTRAT_RUN_ID;
  const socket = connect({ path, allowHalfOpen: true });
  socket.write(`${JSON.stringify({ substrat: { agentId, ...(runId && { runId }) } })}\n`);
  stdin.pipe(socket);
  readFirstLine();

  socket.on('connect', () => {
    connected = true;
  });
  socket.on('error', (error) => {
    if (!connected) problem = unreachable(path, error);
  });
  socket.on('end', () => socket.destroy());
  socket.on('close', () => {
    // Not before what was received is written: a pipe that is full takes it later.
    stdout.write('', () => {
      if (problem === undefined && !clientDone) problem = 'the run of this agent has ended.';
      if (problem === undefined) process.exit(0);
      fail(problem, 1);
    });
  });
  stdin.on('end', () => {
    clientDone = true;
    setTimeout(() => process.exit(0), patienceMs);
  });
  // The client is gone, and nobody is left to tell.
  stdout.on('error', () => process.exit(0));

  function readFirstLine() {
    let first = Buffer.alloc(0);
    socket.on('data', function look(chunk) {
      first = Buffer.concat([first, chunk]);
      const isRefusal = beginsLike(first, refusal);
      const isHttp = beginsLike(first, http);
      if (isRefusal && !first.includes('\n') && first.length < longestRefusal) return;
      if (isHttp && first.length < http.length) return;
      socket.off('data', look);
      if (isRefusal || isHttp) {
        problem = isHttp ? wrongSocket(path, agentId) : sentenceOf(first);
        socket.destroy();
      } else {
        stdout.write(first);
        socket.pipe(stdout, { end: false });
      }
    });
  }
}

/**
 * @param {string} path
 * @param {NodeJS.ErrnoException} error
 */
function unreachable(path, { code, message }) {
  const said = `the socket ${path} of this agent's run cannot be reached (${message}).`;
  // The program of a turn cannot start a daemon, and its run may just have ended.
  const isDown = !process.env.SUBSTRAT_RUN_ID && (code === 'ENOENT' || code === 'ECONNREFUSED');
  return isDown ? `${said} Run \`substrat daemon start\` if the daemon is not running, then reconnect.` : said;
}

/**
 * @param {Buffer} bytes
 * @param {Buffer} beginning
 */
function beginsLike(bytes, beginning) {
  return bytes.subarray(0, beginning.length).equals(beginning.subarray(0, bytes.length));
}

/**
 * @param {string} path
 * @param {string} agentId
 */
function wrongSocket(path, agentId) {
  const own = join(dirname(path), 'agents', agentId, 'agent.sock');
  return `${path} is the socket of the daemon's API. Set SUBSTRAT_SOCKET to the agent's own socket, ${own}; \`substrat agent mcp\` prints the whole configuration.`;
}

/** @param {Buffer} line */
function sentenceOf(line) {
  try {
    return String(JSON.parse(line.toString()).substrat.error);
  } catch {
    return 'the daemon refused this agent.';
  }
}

/**
 * @param {string} problem
 * @param {number} code
 */
function fail(problem, code) {
  process.stderr.write(`substrat-mcp-server: ${problem}\n`, () => process.exit(code));
}
