import type { MiddlewareHandler } from 'hono';
import type { Env } from './access.ts';

/** Upper bounds in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

interface Counts {
  readonly buckets: number[];
  count: number;
  seconds: number;
}

/** How long requests took, as a histogram for Prometheus. Only the method is a label: names and ids are not public. */
export class Latency {
  readonly #byMethod = new Map<string, Counts>();

  readonly measure: MiddlewareHandler<Env> = async (c, next) => {
    const began = performance.now();
    await next();
    this.add(c.req.method, (performance.now() - began) / 1000);
  };

  add(method: string, seconds: number): void {
    const known = METHODS.has(method) ? method : 'OTHER';
    let counts = this.#byMethod.get(known);
    if (!counts) {
      counts = { buckets: BOUNDS.map(() => 0), count: 0, seconds: 0 };
      this.#byMethod.set(known, counts);
    }
    const place = BOUNDS.findIndex((bound) => seconds <= bound);
    if (place >= 0) counts.buckets[place] = (counts.buckets[place] ?? 0) + 1;
    counts.count += 1;
    counts.seconds += seconds;
  }

  lines(): string[] {
    const name = 'substrat_http_request_duration_seconds';
    const lines = [`# HELP ${name} Time until a response began, by method.`, `# TYPE ${name} histogram`];
    for (const [method, { buckets, count, seconds }] of this.#byMethod) {
      let below = 0;
      for (const [i, bound] of BOUNDS.entries()) {
        below += buckets[i] ?? 0;
        lines.push(`${name}_bucket{method="${method}",le="${bound}"} ${below}`);
      }
      lines.push(`${name}_bucket{method="${method}",le="+Inf"} ${count}`);
      lines.push(`${name}_sum{method="${method}"} ${seconds}`, `${name}_count{method="${method}"} ${count}`);
    }
    return lines;
  }
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
