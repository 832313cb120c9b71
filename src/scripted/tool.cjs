#!/usr/bin/env node
// @ts-check
'use strict';

// `substrat-tool NAME '{…}'`: calls one of the agent's tools from a shell or any other language. It speaks to the socket
// of the agent's run, as the MCP server of the agent does.
const { readFileSync } = require('node:fs');
const { connect } = require('node:net');
const { createInterface } = require('node:readline');

const usage = `Usage: substrat-tool NAME ['{"argument": "value"}']   calls a tool and prints its result
       substrat-tool                                 lists the tools`;

main(process.argv.slice(2));

/** @param {string[]} args */
function main([name, json = '{}', ...more]) {
  if (name === '--help' || name === '-h') return console.log(usage);
  if (more.length > 0) return fail(`too many arguments. Quote the JSON.\n${usage}`, 2);
  const given = parse(json);
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return fail(`the arguments must be a JSON object; got ${json}`, 2);
  const file = process.env.SUBSTRAT_MCP_CONFIG;
  if (!file) return fail('SUBSTRAT_MCP_CONFIG is not set: this program only works in the turn of an agent.', 1);
  const { args, env } = JSON.parse(readFileSync(file, 'utf8')).mcpServers.substrat;
  const request = name ? { method: 'tools/call', params: { name, arguments: given } } : { method: 'tools/list' };
  exchange(env.SUBSTRAT_SOCKET, args.at(-1), request);
}

/**
 * @param {string} path
 * @param {string} agentId
 * @param {object} request
 */
function exchange(path, agentId, request) {
  const socket = connect(path);
  let isDone = false;
  const end = (/** @type {() => void} */ show) => {
    if (isDone) return;
    isDone = true;
    show();
    socket.destroy();
  };
  const send = (/** @type {object} */ line) => socket.write(`${JSON.stringify(line)}\n`);
  send({ substrat: { agentId, runId: process.env.SUBSTRAT_RUN_ID } });
  const clientInfo = { name: 'substrat-tool', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  send({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  socket.on('error', (error) => end(() => fail(`the run of this agent cannot be reached (${error.message}).`, 1)));
  socket.on('close', () => end(() => fail('the run of this agent has ended.', 1)));
  createInterface({ input: socket }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.id === 1) {
      send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      send({ jsonrpc: '2.0', id: 2, ...request });
    } else if (message.id === 2) end(() => show(message));
  });
}

/** @param {{ result?: any, error?: { message: string } }} answer */
function show({ result, error }) {
  if (error) return fail(error.message, 1);
  if (result.tools) {
    for (const { name, description = '' } of result.tools) console.log(`${name}\t${description.split('\n')[0]}`);
    return;
  }
  const text = result.content.map((/** @type {{ text?: string }} */ part) => part.text ?? '').join('\n');
  if (result.isError) return fail(text, 1);
  console.log(result.structuredContent ? JSON.stringify(result.structuredContent) : text);
}

/** @param {string} json */
function parse(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/**
 * @param {string} problem
 * @param {number} code
 */
function fail(problem, code) {
  console.error(`substrat-tool: ${problem}`);
  process.exitCode = code;
}
