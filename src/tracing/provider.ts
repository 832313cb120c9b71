import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Environment } from '../core/environment.ts';

/** Our own names, ids and codes are shorter; foreign values are truncated. */
const MAX_VALUE = 256;

export function createProvider(
  env: Environment,
  about: { readonly version: string; readonly nodeId: string; readonly exporters: readonly SpanExporter[] },
): TracerProvider {
  const own = { 'service.name': 'substrat', 'service.version': about.version, 'service.instance.id': about.nodeId };
  const said = detectResources({ detectors: [envDetector] });
  return new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(own)).merge(said),
    sampler: samplerOf(env),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE },
    spanProcessors: about.exporters.map((exporter) => new BatchSpanProcessor({ exporter, ...batchOf(env) })),
  });
}

/** `OTEL_BSP_*`, as named in the OpenTelemetry specification. */
function batchOf(env: Environment) {
  const number = (name: string, key: string) => {
    const value = Number(env[name]?.trim() || Number.NaN);
    return Number.isInteger(value) && value > 0 ? { [key]: value } : {};
  };
  return {
    ...number('OTEL_BSP_SCHEDULE_DELAY', 'scheduledDelayMillis'),
    ...number('OTEL_BSP_EXPORT_TIMEOUT', 'exportTimeoutMillis'),
    ...number('OTEL_BSP_MAX_QUEUE_SIZE', 'maxQueueSize'),
    ...number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'maxExportBatchSize'),
  };
}

/** `OTEL_TRACES_SAMPLER` and its argument; unknown values are ignored. */
function samplerOf(env: Environment): Sampler {
  const [, parentBased, name] = /^(parentbased_)?(\w+)$/.exec(env.OTEL_TRACES_SAMPLER?.trim() ?? '') ?? [];
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG?.trim() || 1);
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio >= 0 && ratio <= 1 ? ratio : 1),
  };
  const root = name === undefined ? undefined : roots[name]?.();
  if (root && !parentBased) return root;
  return new ParentBasedSampler({ root: root ?? new AlwaysOnSampler() });
}
