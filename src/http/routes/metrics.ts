import { ownerOnly } from '../access.ts';
import type { Api } from '../api.ts';
import type { Latency } from '../latency.ts';
import { createRouter, type Router } from '../router.ts';

/** Not part of the documented API: the format is Prometheus's. */
export function metricsRoutes(api: Api, latency: Latency): Router {
  const routes = createRouter();
  routes.get('/', async (c) => {
    ownerOnly(c.get('caller'));
    const long = { long: true, signal: c.req.raw.signal };
    const { loads, usage, deliveries, bytes } = await api.store.read(
      async (tx) => ({
        loads: await tx.nodes.listLoads(),
        usage: await tx.runs.getTotalUsage(),
        deliveries: await tx.metrics.countUndelivered(),
        bytes: await tx.metrics.getStoreBytes(),
      }),
      long,
    );
    const text = [
      ...gauge('runs', 'Runs that run now or wait in the queue, by node.', [
        ...loads.map(({ id, running }) => [`{node="${id}",state="running"}`, running] as const),
        ...loads.map(({ id, queued }) => [`{node="${id}",state="created"}`, queued] as const),
      ]),
      ...gauge(
        'agents',
        'Agents that are not terminated, by node.',
        loads.map(({ id, agents }) => [`{node="${id}"}`, agents] as const),
      ),
      ...counter('runs_total', 'Runs ever created.', [['', usage.runs]]),
      ...counter('tokens_total', 'Tokens that turns used.', [
        ['{kind="input"}', usage.inputTokens],
        ['{kind="output"}', usage.outputTokens],
      ]),
      ...counter('cost_usd_total', 'Costs that programs reported, in dollars.', [['', usage.costUsd]]),
      ...gauge('deliveries_pending', 'Messages that agents have not received.', [['', deliveries]]),
      ...gauge('store_bytes', 'Size of the database; on SQLite without its write-ahead log.', [['', bytes]]),
      ...counter('store_commits_total', 'Commits of this process.', [['', api.store.commits()]]),
      ...counter('event_loop_active_seconds_total', 'Time in which the main thread was not idle.', [
        ['', performance.eventLoopUtilization().active / 1000],
      ]),
      ...latency.lines(),
    ];
    return c.text(`${text.join('\n')}\n`, 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  });
  return routes;
}

type Sample = readonly [labels: string, value: number];

function gauge(name: string, help: string, samples: readonly Sample[]): string[] {
  return metric(name, 'gauge', help, samples);
}

function counter(name: string, help: string, samples: readonly Sample[]): string[] {
  return metric(name, 'counter', help, samples);
}

function metric(name: string, type: string, help: string, samples: readonly Sample[]): string[] {
  const full = `substrat_${name}`;
  return [
    `# HELP ${full} ${help}`,
    `# TYPE ${full} ${type}`,
    ...samples.map(([labels, value]) => `${full}${labels} ${value}`),
  ];
}
