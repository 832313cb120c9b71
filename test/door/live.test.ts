import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { LiveEvent } from '../../src/client/client.ts';
import { obedient } from '../fake-model/mind.ts';
import { type FakeModel, startFakeModel } from '../fake-model/server.ts';
import { startDaemon, storeRows, type TestDaemon } from '../helpers/daemon.ts';
import { until } from '../helpers/until.ts';

let model: FakeModel;
let daemon: TestDaemon;
beforeEach(async () => {
  model = await startFakeModel({ key: 'k', mind: obedient });
  const config = `[providers.llm]\nmodel = "fake/m"\nendpoints.fake = { base_url = "${model.url}/v1", api_key = "k", dialect = "chat" }\n`;
  daemon = await startDaemon({ config, members: { ann: { provider: 'llm' }, ben: { provider: 'llm' } } });
});
afterEach(async () => {
  await daemon.stop();
  await model.close();
});

/** Collects live events until the test ends. */
async function listen(agent?: string) {
  const stop = new AbortController();
  const heard: LiveEvent[] = [];
  const ended = (async () => {
    for await (const event of daemon.client.followLive({ signal: stop.signal, ...(agent && { agent }) }))
      heard.push(event);
  })();
  /** What the newest run has said last. */
  const textOf = () => {
    const run = heard.at(-1)?.runId;
    const said = heard.filter(({ runId }) => runId === run);
    const since = said.slice(said.findLastIndex(({ type }) => type !== 'live_text') + 1);
    return since.map(({ text }) => text).join('');
  };
  return {
    heard,
    textOf,
    leave: async () => {
      stop.abort();
      await ended;
    },
  };
}

async function ask(name: string, text: string): Promise<string | undefined> {
  const { messageId } = await daemon.client.sendMessage(name, { text });
  return (await daemon.client.awaitReply(messageId, 20))?.text;
}

/** The stream is open when a first word arrives. */
async function whenOpen(reader: Awaited<ReturnType<typeof listen>>, name: string): Promise<void> {
  await until('the stream', async () => {
    await ask(name, 'Hello.');
    return reader.heard.length > 0;
  });
  reader.heard.splice(0);
}

describe('live output', () => {
  test('has the text and the tool calls of a turn, by run and attempt, and nothing of it is stored', async () => {
    const reader = await listen('ann');
    await whenOpen(reader, 'ann');
    await ask('ben', 'Not for this reader.');
    const reply = await ask('ann', '[[call list_agents {}]] [[call run_command {"command":"echo hi"}]]');
    await until('the text', () => reader.textOf() === reply);
    await reader.leave();
    const calls = reader.heard.filter(({ type }) => type !== 'live_text');
    const agentId = daemon.agent('ann').id;
    expect(calls).toMatchObject([
      { type: 'live_tool_call', tool: 'list_agents', agentId, attempt: 1 },
      { type: 'live_tool_result', isError: false },
      { type: 'live_tool_call', tool: 'run_command', text: '{"command":"echo hi"}' },
      { type: 'live_tool_result', text: 'hi [exit code 0]' },
    ]);
    const { events = [] } = await storeRows(daemon.home);
    expect(JSON.stringify(events)).not.toContain('live_');
  });

  test('is the owner’s', async () => {
    const { token } = await daemon.client.createToken({ as: 'guest' });
    const { url } = await daemon.client.getStatus();
    const ask = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect((await ask('/api/events?live=true')).status).toBe(403);
  });

  test('ends soon for a token that was revoked, also while a turn does not stop to talk', async () => {
    await using busy = await startDaemon({ config: '[events]\nheartbeat = "200ms"\n' });
    const program = join(busy.directory, 'talker.sh');
    writeFileSync(
      program,
      '#!/bin/sh\nfor i in $(seq 300); do echo \'{"type":"text","text":"words "}\'; sleep 0.05; done\necho \'{"type":"done","text":"done"}\'\n',
      { mode: 0o755 },
    );
    await busy.client.createAgent({ name: 'talker', program });
    const { id, token } = await busy.client.createToken({ as: 'user' });
    const { url } = await busy.client.getStatus();
    const response = await fetch(`${url}/api/events?live=true&type=none`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await busy.client.sendMessage('talker', { text: 'go' });
    let heard = '';
    const reading = (async () => {
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        heard += Buffer.from(piece).toString();
      }
    })().catch(() => {});
    await until('its words', () => heard.includes('live_text'));
    await busy.client.revokeToken(id);
    const ended = await Promise.race([reading.then(() => 'ended'), sleep(5_000, 'still open')]);
    expect(ended).toBe('ended');
    const [run] = (await busy.client.listRuns({ agent: 'talker' })).items;
    await busy.client.cancelRun(run?.id ?? '');
  });

  test('does not reach readers that did not ask for it', async () => {
    const live = await listen();
    await whenOpen(live, 'ann');
    const stop = new AbortController();
    const types: string[] = [];
    const followed = (async () => {
      for await (const { type } of daemon.client.followEvents({ signal: stop.signal })) types.push(type);
    })();
    await until('an event', async () => {
      await ask('ann', 'Hello.');
      return types.includes('run_ended');
    });
    await until('the live text', () => live.heard.length > 0);
    stop.abort();
    await Promise.all([followed, live.leave()]);
    expect(types.filter((type) => type.startsWith('live'))).toEqual([]);
  });

  test('is not kept for a reader that does not keep up: it misses pieces', async () => {
    const path = '/api/events?live=true&type=none';
    const { promise: ours, resolve } = Promise.withResolvers<Socket>();
    const onRequest = (message: unknown) => {
      const { request: incoming, socket } = message as { request: IncomingMessage; socket: Socket };
      if (incoming.url === path) resolve(socket);
    };
    subscribe('http.server.request.start', onRequest);
    onTestFinished(() => void unsubscribe('http.server.request.start', onRequest));
    const outgoing = request({ socketPath: join(daemon.home, 'daemon.sock'), path });
    outgoing.on('response', (response) => response.pause()).on('error', () => {});
    outgoing.end();
    const socket = await ours;
    const text = 'All work and no play.'.repeat(45_000);
    model.become(() => ({ text }));
    expect((await ask('ann', 'Write.'))?.length).toBe(text.length);
    expect(socket.bytesWritten).toBeLessThan(text.length);
    expect(socket.writableLength).toBeLessThan(100_000);
    outgoing.destroy();
  });
});
