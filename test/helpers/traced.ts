import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { Collector, SeenSpan } from './collector.ts';
import { startDaemon, type TestDaemon } from './daemon.ts';
import { until } from './until.ts';

export const SCRIPTED = join(import.meta.dirname, '../../src/scripted/scripted.ts');

export const LEAD = `async ({ call, messages, usage }) => {
  if (messages.some(({ kind }) => kind === 'reply')) return 'The answer is a secret answer.';
  usage({ inputTokens: 20, outputTokens: 3 });
  usage({ inputTokens: 1, outputTokens: 1 });
  await call('store_memory', { content: 'A secret memory.' });
  await call('send_message', { recipient: 'worker', text: 'A secret question.' });
  return 'Asked.';
}`;
const WORKER = `async ({ call }) => {
  await call('send_message', { recipient: 'a secret nobody', text: 'Hello.' }).catch(() => {});
  return 'A secret reply.';
}`;

export function environmentFor({ url }: Collector): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of-the-collector',
    OTEL_SERVICE_NAME: 'office',
  };
}

export function tracedTo(collector: Collector): void {
  for (const [name, value] of Object.entries(environmentFor(collector))) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

export async function startTeam(): Promise<TestDaemon> {
  const directory = mkdtempSync(join(tmpdir(), 'team-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const write = (name: string, agent: string) => {
    const path = join(directory, `${name}.ts`);
    writeFileSync(path, `import { runAgent } from '${SCRIPTED}';\nawait runAgent(${agent});\n`);
    return path;
  };
  return startDaemon({
    members: {
      lead: { program: write('lead', LEAD), model: 'small' },
      worker: { program: write('worker', WORKER), parent: 'lead' },
    },
  });
}

export async function ask({ client }: TestDaemon, text: string, agent = 'lead'): Promise<string> {
  const { messageId } = await client.sendMessage(agent, { text });
  const reply = await client.awaitReply(messageId, 20);
  await until('nobody is busy', async () => (await client.listAgents({})).items.every(({ state }) => state !== 'busy'));
  return reply?.text ?? '';
}

export function makeHome(): { home: string; directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'traced-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return { home: join(directory, 'home'), directory };
}

/** In order of their start. */
export function named(spans: readonly SeenSpan[], name: string): SeenSpan[] {
  return spans.filter((span) => span.name === name).sort((a, b) => a.start - b.start);
}

/** The names from the root span of the trace down to this one. */
export function pathOf(spans: readonly SeenSpan[], span: SeenSpan | undefined): string[] {
  if (!span) return [];
  return [
    ...pathOf(
      spans,
      spans.find(({ spanId }) => spanId === span.parentSpanId),
    ),
    span.name,
  ];
}

export function below(spans: readonly SeenSpan[], span: SeenSpan | undefined): string[] {
  return spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId).map(({ name }) => name);
}
