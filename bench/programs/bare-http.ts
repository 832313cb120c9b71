// The baseline for the API: a bare hono route that makes the same store call.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { sendAsPerson } from '../../src/messaging/send.ts';
import { createAgent } from '../../src/messaging/tree.ts';
import { openStore } from '../../src/store/open.ts';

const store = await openStore({ path: process.argv[2] as string });
const limits = { maxChildren: 10, maxDepth: 10, maxAgents: 10 };
const wanted = {
  name: 'me',
  parent: null,
  role: 'worker',
  instructions: '',
  provider: 'external',
  model: null,
  program: null,
  workspace: '/tmp',
  workspaceId: null,
  tools: null,
  nodeId: 'bench',
  spawnedBy: null,
};
const agent = await store.write((tx) => createAgent(tx, limits, wanted, Date.now()));
const user = { id: 'user', handle: 'user' };
const app = new Hono();
app.get('/agent', async (c) => c.json(await store.read((tx) => tx.agents.getAgentView({ id: agent.id }))));
app.post('/message', async (c) => {
  const { text } = await c.req.json();
  const rules = {
    requestDeadlineMs: 86_400_000,
    questionDeadlineMs: 86_400_000,
    maxChainDepth: 3,
    maxTreeRuns: 1_000_000,
    people: { runsPerDay: () => 1_000_000, timeZone: () => 'UTC' },
  };
  return c.json({ messageId: await store.write((tx) => sendAsPerson(tx, rules, user, agent, { text }, Date.now())) });
});
const server = createAdaptorServer({ fetch: app.fetch }) as Server;
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
