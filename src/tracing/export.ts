import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from '@opentelemetry/otlp-exporter-base/node-http';
import {
  JsonTraceSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { TracingLog } from './tracing.ts';

const PROTOBUF = { 'Content-Type': 'application/x-protobuf' };
const JSON_TEXT = { 'Content-Type': 'application/json' };
const TIMEOUT_MS = 10_000;
const COMPONENT = 'otlp_http_span_exporter';

type HttpOptions = Parameters<typeof createOtlpHttpExportDelegate>[0];

/** Exports to the collector configured in the environment. OTLP over HTTP, as protobuf unless JSON is configured. */
export function createCollectorExporter(env: Readonly<Record<string, string | undefined>>): SpanExporter {
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL;
  const json = protocol?.trim() === 'http/json';
  const options = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', json ? JSON_TEXT : PROTOBUF);
  return exporter(options, json ? JsonTraceSerializer : ProtobufTraceSerializer);
}

/** Exports to one URL only, ignoring the collector's settings in the environment, which contain keys. */
export function createExporter(url: string, headers: Readonly<Record<string, string>>): SpanExporter {
  const options: HttpOptions = {
    url,
    headers: async () => ({ ...headers, ...PROTOBUF }),
    timeoutMillis: TIMEOUT_MS,
    concurrencyLimit: 30,
    compression: 'gzip',
    agentFactory: httpAgentFactoryFromOptions({ keepAlive: true }),
  };
  return exporter(options, ProtobufTraceSerializer);
}

/** Logs the first failed export only; failed spans are dropped. */
export function tellingOnce(inner: SpanExporter, where: string, log: Pick<TracingLog, 'warn'>): SpanExporter {
  let told = false;
  return {
    export: (spans, done) =>
      inner.export(spans, (result) => {
        if (result.code !== 0 && !told) {
          told = true;
          // Not the message, because a URL in it can contain a key.
          const { name, code } = (result.error ?? {}) as { name?: string; code?: unknown };
          log.warn({ where, error: name ?? null, code: code ?? null }, 'spans could not be sent and were dropped');
        }
        done(result);
      }),
    shutdown: () => inner.shutdown(),
  };
}

function exporter(options: HttpOptions, serializer: typeof ProtobufTraceSerializer): SpanExporter {
  return new OTLPExporterBase<ReadableSpan[]>(
    createOtlpHttpExportDelegate(options, serializer, COMPONENT, TraceExporterMetricsHelper, undefined),
  );
}
