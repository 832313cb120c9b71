import type { Environment } from '../core/environment.ts';
import type { Tracing, TracingOptions, TracingWish } from './tracing.ts';

/** Starts tracing if the environment configures it. Otherwise returns null and loads nothing. */
export async function openTracing(env: Environment, options: TracingOptions): Promise<Tracing | null> {
  const wish = readWish(env);
  if (!wish) return null;
  try {
    const { startTracing } = await import('./start.ts');
    return startTracing(env, wish, options);
  } catch (error) {
    // Agents work with or without tracing. Not the error's message, which could contain an endpoint's key.
    options.log.warn({ error: (error as Error).name }, 'tracing is off: check the OTEL_* variables and SENTRY_DSN');
    return null;
  }
}

function readWish(env: Environment): TracingWish | null {
  const said = (name: string) => env[name]?.trim() || null;
  const spans = said('OTEL_SDK_DISABLED')?.toLowerCase() !== 'true';
  const exporters = said('OTEL_TRACES_EXPORTER')?.split(',') ?? null;
  const endpoint = said('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? said('OTEL_EXPORTER_OTLP_ENDPOINT');
  const otlp = spans && (exporters?.some((name) => name.trim() === 'otlp') ?? endpoint !== null);
  const sentryDsn = said('SENTRY_DSN');
  return otlp || sentryDsn !== null ? { otlp, sentryDsn, spans } : null;
}
