import * as otel from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import type { Attributes, Span, Tracer } from '../core/tracing.ts';

/** Maps our spans to OpenTelemetry's. We track the current span ourselves and set nothing global. */
export function createTracer(tracer: otel.Tracer): Tracer {
  return {
    start: (name, attributes, { parent, links = [], at, server = false }) => {
      const above = parent === null ? null : parseTraceParent(parent);
      const context = above
        ? otel.trace.setSpanContext(otel.ROOT_CONTEXT, { ...above, isRemote: true })
        : otel.ROOT_CONTEXT;
      const linked = links.map(parseTraceParent).filter((one) => one !== null);
      const options = {
        kind: server ? otel.SpanKind.SERVER : otel.SpanKind.INTERNAL,
        links: linked.map((one) => ({ context: one })),
      };
      return wrap(tracer, start(tracer, name, attributes, context, at, options));
    },
  };
}

function wrap(tracer: otel.Tracer, span: otel.Span): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceId,
    trace: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    child: (name, attributes, at) =>
      wrap(tracer, start(tracer, name, attributes, otel.trace.setSpan(otel.ROOT_CONTEXT, span), at)),
    rename: (name) => void span.updateName(name),
    set: (attributes) => void span.setAttributes(known(attributes)),
    fail: (code) => {
      span.setAttribute('error.type', code);
      span.setStatus({ code: otel.SpanStatusCode.ERROR });
    },
    end: (at) => span.end(at),
  };
}

function start(
  tracer: otel.Tracer,
  name: string,
  attributes: Attributes,
  context: otel.Context,
  at: number | undefined,
  options: otel.SpanOptions = {},
): otel.Span {
  const began = at === undefined ? {} : { startTime: at };
  return tracer.startSpan(name, { ...options, ...began, attributes: known(attributes) }, context);
}

function known(attributes: Attributes): otel.Attributes {
  const entries = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as otel.Attributes;
}
