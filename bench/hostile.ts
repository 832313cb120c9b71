import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { type RunningDaemon, startDaemon } from './daemon.ts';
import { json, texts } from './hostile-inputs.ts';
import type { Bench, Row } from './measure.ts';

const PROBE = pathToFileURL(fileURLToPath(new URL('programs/main-thread.mjs', import.meta.url))).href;
const CTX = fileURLToPath(new URL('../bin/ctx', import.meta.url));
/** How long a hostile input may block everybody else at a time. */
const MOST_MS = 100;

/**
 * The maximum uninterrupted CPU time of the daemon's main thread that an agent, a limited person, a program or a
 * document can cause. Each input is sent alone, so that its own cost is measured.
 */
export default async function hostile({ scratch, defer }: Bench): Promise<Row[]> {
  const home = join(scratch, 'home');
  mkdirSync(join(scratch, 'docs'), { recursive: true });
  const document = `# Title\n\n${'some words of a document\n'.repeat(40_000)}`;
  writeFileSync(join(scratch, 'docs/large.md'), document);
  const source = `[connectors.filesystem.docs]\nroot = ${JSON.stringify(join(scratch, 'docs'))}\n`;
  const script = (name: string, result: string) => {
    const about = `tool = { name = "${name}", description = "x", parameters = {} }`;
    writeFileSync(join(scratch, `${name}.lua`), `${about}\nfunction tool.execute() ${result} end\nreturn tool\n`);
    return `[tools.script.${name}]\npath = ${JSON.stringify(join(scratch, `${name}.lua`))}\n`;
  };
  const numbers = script('numbers', 'local t = {} for i = 1, 190000 do t[i] = i end return t');
  const text = script('text', 'return string.rep("x", 8000000)');
  const config = `mode = "none"\n${source}${numbers}${text}`;
  const daemon = await startDaemon(home, { NODE_OPTIONS: `--import ${PROBE}` }, config);
  defer(() => daemon.stop());
  const lead = await daemon.client.createAgent({ name: 'lead', provider: 'external' });
  const worker = await daemon.client.createAgent({ name: 'worker', provider: 'external', parent: lead.id });
  await daemon.client.createChannel({ id: 'general', kind: 'public' });
  const { token } = await daemon.client.createToken({ as: 'anna' });
  const { url } = await daemon.client.getStatus();
  await promisify(execFile)(CTX, ['sync', '--config', join(home, 'config.toml')], {
    env: { ...process.env, SUBSTRAT_HOME: home },
  });

  const rows: Row[] = [];
  const measure = async (name: string, attack: () => Promise<unknown>) => {
    await most(daemon);
    await attack();
    const result = await most(daemon);
    rows.push({ name, unit: 'ms', yardstick: null, result, goalOf: 'result', atMost: MOST_MS });
  };

  const seat = await takeSeat(home, lead.id);
  const other = await takeSeat(home, worker.id);
  for (const { close } of [seat, other]) defer(close);
  const post = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    send(new URL(path, url as string), body, { authorization: `Bearer ${token}`, ...headers });

  const get = (path: string, patienceMs = 20_000) =>
    fetch(new URL(path, url as string), {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(patienceMs),
    }).then((response) => response.arrayBuffer());

  await measure('nobody does anything', () => sleep(200));
  for (const [name, make] of Object.entries(json)) {
    const args = make();
    await measure(`agent: ${name}`, () => seat.ask(`"name":"send_message","arguments":${args}`));
    await measure(`agent, by the library: ${name}`, () =>
      seat.ask(`"_meta":{"a":1},"name":"send_message","arguments":${args}`),
    );
    await measure(`limited person: ${name}`, () => post('/api/channels/general/messages', args));
  }
  for (const [name, make] of Object.entries(texts)) {
    const text = JSON.stringify(make());
    await measure(`agent, message: ${name}`, () =>
      seat.ask(`"name":"send_message","arguments":{"recipient":"worker","sync":false,"text":${text}}`),
    );
    await measure(`agent, inbox: ${name}`, () => other.ask('"name":"check_inbox","arguments":{}'));
    await measure(`limited person, message: ${name}`, () => post('/api/channels/general/messages', `{"text":${text}}`));
    const short = JSON.stringify((JSON.parse(text) as string).slice(0, 19_990));
    await measure(`agent, memory: ${name}`, () => seat.ask(`"name":"store_memory","arguments":{"content":${short}}`));
    const query = JSON.stringify((JSON.parse(text) as string).slice(0, 9_990));
    await measure(`agent, search_memory: ${name}`, () =>
      seat.ask(`"name":"search_memory","arguments":{"query":${query}}`),
    );
    await measure(`agent, search: ${name}`, () => seat.ask(`"name":"search","arguments":{"query":${query}}`));
  }
  const large = JSON.stringify(texts.quotes?.());
  for (let n = 0; n < 30; n += 1) {
    await seat.ask(`"name":"send_message","arguments":{"recipient":"worker","sync":false,"text":${large}}`);
    await post('/api/channels/general/messages', `{"text":${large}}`);
  }
  await measure('agent, inbox: 30 messages of 1 MB', () => other.ask('"name":"check_inbox","arguments":{}'));
  await measure('agent, read_channel: 50 messages of 1 MB', () =>
    seat.ask('"name":"read_channel","arguments":{"channelId":"general"}'),
  );
  await measure('limited person: a page of 50 messages of 1 MB', () => get('/api/channels/general/messages?limit=500'));
  await measure('limited person: events of 50 messages of 1 MB', async () => {
    const reading = get('/api/events?after=0', 2_000);
    await reading.catch(() => null);
  });
  await measure('agent: 20,000 lines of nothing', () => seat.flood('\n'.repeat(20_000)));
  await measure('agent: 20,000 lines that are not JSON', () => seat.flood('x\n'.repeat(20_000)));
  await measure('agent: 20,000 requests at once', () =>
    seat.flood(line({ id: 'f', method: 'tools/list' }).repeat(20_000)),
  );
  await measure('agent: 5,000 calls, each cancelled', () =>
    seat.flood(
      Array.from({ length: 5_000 }, (_, i) => {
        const params = { name: 'list_agents', arguments: {} };
        const cancel = { method: 'notifications/cancelled', params: { requestId: `c${i}` } };
        return line({ id: `c${i}`, method: 'tools/call', params }) + line(cancel);
      }).join(''),
    ),
  );
  await measure('agent: 8 MB of bytes that are not UTF-8', () => seat.flood(Buffer.alloc(8_000_000, 0xff)));
  await measure('stranger: a body of 8 MB without a token', () =>
    send(new URL('/api/agents', url as string), Buffer.alloc(8_000_000, 0x5b), {}).catch(() => null),
  );
  await measure('limited person: a URL of 15,000 characters', () => post(`/api/agents/${'%2e'.repeat(5_000)}`, '{}'));
  const found = await seat.ask('"name":"search","arguments":{"query":"document words"}');
  const id = /\\?"id\\?":\\?"([0-9a-f-]{36})/.exec(found)?.[1] ?? '';
  await measure('document: search in one of 1 MB', () => seat.ask('"name":"search","arguments":{"query":"document"}'));
  await measure('document: one of 1 MB is read', () => seat.ask(`"name":"get","arguments":{"id":"${id}"}`));
  await measure('page: a script gives 190,000 numbers of it', () => seat.ask('"name":"numbers","arguments":{}'));
  await measure('page: a script gives a text of 8 MB of it', () => seat.ask('"name":"text","arguments":{}'));
  const slow = join(scratch, 'slow-program.mjs');
  writeFileSync(slow, `setTimeout(() => process.stdout.write('{"type":"done","text":"x"}\\n'), 3000);`);
  const reader = await daemon.client.createAgent({ name: 'reader', program: slow, parent: lead.id });
  const tell = () => seat.ask(`"name":"send_message","arguments":{"recipient":"reader","sync":false,"text":${large}}`);
  await measure('agent: 30 messages of 1 MB in one prompt', async () => {
    for (let n = 0; n < 30; n += 1) await tell();
    await ended(daemon, reader.id, 2);
  });
  const long = JSON.stringify('x'.repeat(999_000));
  for (let n = 0; n < 20; n += 1) {
    await seat.ask(`"name":"spawn_agent","arguments":{"name":"c${n}","instructions":${long}}`);
  }
  await measure('agent: 20 children with instructions of 1 MB', () => daemon.client.listAgents());
  const chatty = join(scratch, 'chatty-program.mjs');
  writeFileSync(
    chatty,
    `const text = JSON.stringify({ type: 'text', text: 'y'.repeat(900_000) }) + '\\n';
for (let n = 0; n < 30; n += 1) process.stdout.write(text);
process.stdout.write(JSON.stringify({ type: 'done', text: 'z'.repeat(900_000) }) + '\\n');`,
  );
  const talker = await daemon.client.createAgent({ name: 'talker', program: chatty });
  await measure('program: 30 texts of 1 MB', async () => {
    for (let n = 0; n < 5; n += 1) await daemon.client.sendMessage(talker.id, { text: 'go' });
    await ended(daemon, talker.id, 5);
  });
  const { items: runs } = await daemon.client.listRuns({ agent: talker.id });
  await measure('program: its runs are listed', () => daemon.client.listRuns({ agent: talker.id }));
  await measure('program: its run of 30 MB is shown', () => daemon.client.getRun(runs[0]?.id ?? ''));
  const program = join(scratch, 'hostile-program.mjs');
  for (const [name, make] of Object.entries(json)) {
    const event = make();
    writeFileSync(
      program,
      `process.stdout.write(${JSON.stringify('{"type":"text",')} + ${JSON.stringify(event)}.slice(1) + '\\n');
process.stdout.write('{"type":"done","text":"x"}\\n');`,
    );
    const agent = await daemon.client.createAgent({ name: `p${rows.length}`, program });
    await measure(`program: ${name}`, async () => {
      await daemon.client.sendMessage(agent.id, { text: 'go' });
      await ended(daemon, agent.id, 1);
    });
  }
  return rows;
}

/** Waits until this many runs of an agent have ended. */
async function ended({ home }: RunningDaemon, agentId: string, count: number): Promise<void> {
  const database = new Database(join(home, 'substrat.db'), { readonly: true });
  const over = database.prepare("select count(*) from runs where agent_id = ? and state not in ('created', 'running')");
  for (const giveUp = Date.now() + 30_000; Date.now() < giveUp; await sleep(50)) {
    if ((over.pluck().get(agentId) as number) >= count) break;
  }
  database.close();
}

async function most({ pid, home }: RunningDaemon): Promise<number> {
  const file = join(home, 'main-thread');
  rmSync(file, { force: true });
  // The last input may still be in progress.
  await sleep(50);
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(5);
  return Number(readFileSync(file, 'utf8'));
}

const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;

/** An agent that speaks MCP over its socket, as bytes. */
async function takeSeat(home: string, agentId: string) {
  const socket = connect(join(home, 'agents', agentId, 'agent.sock'));
  socket.setMaxListeners(0);
  const lines = createInterface(socket);
  const waiting = new Map<unknown, (answer: string) => void>();
  lines.on('line', (text) => {
    const [, id] = /"id":("[^"]*"|\d+)/.exec(text.slice(-200)) ?? /"id":("[^"]*"|\d+)/.exec(text.slice(0, 200)) ?? [];
    waiting.get(id)?.(text);
  });
  const answered = (id: string) =>
    new Promise<string>((resolve, reject) => {
      waiting.set(id, resolve);
      socket.once('close', () => reject(new Error(`the connection ended before ${id} was answered`)));
    });
  let asked = 0;
  const clientInfo = { name: 'bench', version: '1' };
  socket.write(`${JSON.stringify({ substrat: { agentId } })}\n`);
  const ready = answered('0');
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  socket.write(line({ id: 0, method: 'initialize', params }) + line({ method: 'notifications/initialized' }));
  await ready;
  const ask = (call: string): Promise<string> => {
    asked += 1;
    const answer = answered(String(asked));
    socket.write(`{"jsonrpc":"2.0","id":${asked},"method":"tools/call","params":{${call}}}\n`);
    return answer;
  };
  return {
    ask,
    /** Resolves when a request sent after it gets a response. */
    flood: async (bytes: string | Buffer) => {
      socket.write(bytes);
      socket.write('\n');
      await ask('"name":"list_agents","arguments":{}');
    },
    close: () => socket.destroy(),
  };
}

async function send(url: URL, body: string | Buffer, headers: Record<string, string>): Promise<number> {
  const outgoing = request(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers } });
  outgoing.end(body);
  const [response] = await once(outgoing, 'response');
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}
