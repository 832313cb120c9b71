import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Span, within } from '../../src/core/tracing.ts';
import { noBwrap } from '../helpers/bwrap.ts';
import { startCollector } from '../helpers/collector.ts';
import { startDaemon } from '../helpers/daemon.ts';
import { startDaemonProcess } from '../helpers/substrat.ts';
import { ask, environmentFor, makeHome, startTeam, tracedTo } from '../helpers/traced.ts';
import { until } from '../helpers/until.ts';

const DYING = join(import.meta.dirname, '../fixtures/dying.mjs');
const LOADED_MODULES = join(import.meta.dirname, '../fixtures/loaded-modules.mjs');

describe('tracing', () => {
  test("samples as configured in the environment, and a message's work like the message", async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'parentbased_always_off');
    await using daemon = await startTeam();
    expect(await ask(daemon, 'Go.')).toMatch(/answer/);
    await daemon.stop();
    expect(collector.posts).toEqual([]);
  });

  test('loads and stores nothing unless it is configured', async () => {
    await using collector = await startCollector();
    const off = await modulesOf({ OTEL_SERVICE_NAME: 'office' });
    expect(off.loaded).toMatch(/src\/daemon\/daemon\.ts/);
    expect(off.loaded).not.toMatch(/opentelemetry|sentry|src\/tracing\/start/);
    expect(off.traces).toEqual([null]);
    const disabled = await modulesOf({ ...environmentFor(collector), OTEL_SDK_DISABLED: 'true' });
    expect(disabled.loaded).not.toMatch(/opentelemetry|sentry/);
    const none = await modulesOf({ ...environmentFor(collector), OTEL_TRACES_EXPORTER: 'none' });
    expect(none.loaded).not.toMatch(/opentelemetry|sentry/);
    expect(collector.posts).toEqual([]);
    const on = await modulesOf(environmentFor(collector));
    expect(on.loaded).toMatch(/opentelemetry/);
    expect(on.loaded).not.toMatch(/sentry/);
    expect(on.traces).toEqual([expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)]);
  });

  test('uses protobuf unless JSON is configured', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', undefined);
    await using daemon = await startTeam();
    await ask(daemon, 'Go.');
    await daemon.stop();
    expect(collector.posts[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'content-type': 'application/x-protobuf', 'x-key': 'of-the-collector' },
    });
    expect(collector.posts.map(({ body }) => body.toString('latin1')).join()).toMatch(/invoke_agent worker/);
  });

  test('drops spans and logs one line if the collector is down, and does not delay the end', async () => {
    const gone = await startCollector();
    await gone[Symbol.asyncDispose]();
    tracedTo(gone);
    vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '10');
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
    await using daemon = await startTeam();
    expect(await ask(daemon, 'Go.')).toMatch(/answer/);
    expect(await ask(daemon, 'Again.')).toMatch(/answer/);
    const lines = () => daemon.log().match(/spans could not be sent/g) ?? [];
    await until('the log has it', () => lines().length === 1);
    expect(await ask(daemon, 'Once more.')).toMatch(/answer/);
    expect(lines()).toHaveLength(1);
    const before = Date.now();
    await daemon.daemon.stop();
    expect(Date.now() - before).toBeLessThan(9000);
  });

  test("does not delay a daemon's stop, whatever the collector does", async () => {
    const silent = createServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { home } = makeHome();
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const daemon = await startDaemonProcess({ home, env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
    await daemon.client.createAgent({ name: 'boss', provider: 'external' });
    const before = Date.now();
    expect(await daemon.stop()).toBe(0);
    // An exporter gives up after ten seconds.
    expect(Date.now() - before).toBeLessThan(9000);
  });

  test('adds the trace id to log lines', async () => {
    await using collector = await startCollector();
    tracedTo(collector);
    await using daemon = await startTeam();
    const { log, store, api } = daemon.daemon;
    const span = api.tracer?.start('look', {}, { parent: null }) as Span;
    // Writers that share a commit, which the first of them starts.
    await Promise.all([
      within(span, () => store.write(async () => log.warn({}, 'inside'))),
      store.write(async () => log.warn({}, 'outside')),
    ]);
    const lines = daemon
      .log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; trace_id?: string });
    const traceOf = (said: string) => [
      ...new Set(lines.filter(({ msg }) => msg === said).map(({ trace_id }) => trace_id)),
    ];
    expect([traceOf('inside'), traceOf('outside')]).toEqual([[span.traceId], [undefined]]);
  });

  test('reports spans and errors to Sentry without texts, and sends it nothing meant for the collector', async () => {
    await using sentry = await startCollector();
    vi.stubEnv('SENTRY_DSN', `${sentry.url.replace('//', '//publickey@')}/42`);
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-key=of-the-collector');
    await using daemon = await startTeam();
    await ask(daemon, 'A secret order.');
    daemon.daemon.log.error({ error: new TypeError('a secret reason').stack }, 'a tool failed');
    await daemon.stop();
    const spans = sentry.posts.find(({ path }) => path === '/api/42/integration/otlp/v1/traces/');
    expect(spans?.headers['x-sentry-auth']).toMatch(/sentry_key=publickey/);
    expect(spans?.headers).not.toHaveProperty('x-key');
    expect(spans?.body.toString('latin1')).toMatch(/invoke_agent lead/);
    const error = sentry.posts.find(({ path }) => path.startsWith('/api/42/envelope/'));
    expect(error?.body.toString()).toMatch(/"type":"TypeError","value":"a tool failed","stacktrace":\{"frames":\[\{/);
    expect(sentry.posts.map(({ body }) => body.toString('latin1')).join()).not.toMatch(/secret/);
  });

  describe('of an error that ends the daemon', () => {
    /** Once it has reached Sentry with anything, it can report. */
    const startMortal = async (url: string, reached: () => boolean) => {
      const { home } = makeHome();
      const env = {
        SENTRY_DSN: `${url.replace('//', '//publickey@')}/42`,
        NODE_OPTIONS: `--import=${DYING}`,
        OTEL_BSP_SCHEDULE_DELAY: '10',
      };
      const daemon = await startDaemonProcess({ home, env });
      await daemon.client.createAgent({ name: 'boss', provider: 'external' });
      await until('Sentry is reached', reached, 30_000);
      return { ...daemon, log: () => readFileSync(join(home, 'daemon.log'), 'utf8') };
    };

    test.each([
      ['an exception', 'SIGUSR2', 'TypeError'],
      ['a rejection', 'SIGWINCH', 'RangeError'],
    ] as const)('reaches Sentry before the daemon ends (%s)', async (_, signal, type) => {
      await using sentry = await startCollector();
      const daemon = await startMortal(sentry.url, () => sentry.posts.length > 0);
      process.kill(daemon.pid, signal);
      expect(await daemon.ended).toBe(1);
      expect(daemon.log()).toMatch(new RegExp(`${type}.*the daemon dies`));
      const told = sentry.posts.filter(({ path }) => path.startsWith('/api/42/envelope/'));
      expect(told).toHaveLength(1);
      const said = `"type":"${type}","value":"the daemon dies","stacktrace":{"frames":[{`;
      expect(told[0]?.body.toString()).toContain(said);
      expect(told[0]?.body.toString()).toContain('"level":"fatal"');
      expect(told[0]?.body.toString()).not.toMatch(/secret/);
    });

    test('does not prevent the end if Sentry does not respond', async () => {
      let connections = 0;
      const silent = createServer((socket) => {
        connections += 1;
        socket.on('error', () => {}).resume();
      });
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void silent.close());
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const daemon = await startMortal(url, () => connections > 0);
      const before = Date.now();
      process.kill(daemon.pid, 'SIGUSR2');
      expect(await daemon.ended).toBe(1);
      expect(Date.now() - before).toBeLessThan(15_000);
      expect(connections).toBeGreaterThan(1);
    });
  });

  test.each(noBwrap ? (['none'] as const) : (['none', 'bwrap'] as const))(
    'hides its endpoint from agents (%s)',
    async (sandbox) => {
      await using collector = await startCollector();
      tracedTo(collector);
      vi.stubEnv('SENTRY_DSN', `${collector.url.replace('//', '//publickey@')}/42`);
      await using daemon = await startDaemon({ sandbox });
      // In a sandbox, also through the environment of surrounding processes.
      const program = daemon.program(
        'look',
        `async () => {
        const { readdirSync, readFileSync } = await import('node:fs');
        const seen = (pid) => { try { return readFileSync('/proc/' + pid + '/environ', 'utf8'); } catch { return ''; } };
        const pids = ${sandbox === 'bwrap'} ? readdirSync('/proc').filter((name) => Number(name) > 0) : ['self'];
        return JSON.stringify([process.env, ...pids.map(seen)]);
      }`,
      );
      await daemon.client.createAgent({ name: 'look', program });
      const seen = await ask(daemon, 'Look.', 'look');
      expect(seen).toMatch(/SUBSTRAT_RUN_ID/);
      expect(seen).not.toMatch(/OTEL|SENTRY|publickey|of-the-collector|traceparent/i);
    },
  );
});

/** The modules that a daemon loads to deliver one message, and what it stored of traces. */
async function modulesOf(env: Record<string, string>): Promise<{ loaded: string; traces: unknown[] }> {
  const { home, directory } = makeHome();
  const file = join(directory, 'modules');
  writeFileSync(file, '');
  const hooks = { NODE_OPTIONS: `--import=${LOADED_MODULES}`, LOADED_MODULES: file };
  const daemon = await startDaemonProcess({ home, env: { ...env, ...hooks } });
  await daemon.client.createAgent({ name: 'boss', provider: 'external' });
  await daemon.client.sendMessage('boss', { text: 'Hello.' });
  await daemon.stop();
  const database = new Database(join(home, 'substrat.db'), { readonly: true });
  const traces = database.prepare('select trace from messages').pluck().all();
  database.close();
  return { loaded: readFileSync(file, 'utf8'), traces };
}
