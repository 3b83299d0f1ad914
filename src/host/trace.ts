/**
 * OpenTelemetry spans, through its API only. An application with a collector sees them among its own. Without a
 * collector no span is created.
 */
import type { Attributes } from '@opentelemetry/api'
import { context, ProxyTracerProvider, propagation, SpanStatusCode, trace as tracing } from '@opentelemetry/api'
import type { Facts, Trace } from '../core/runtime.ts'

export function createTrace(): Trace {
  const isOn = (): boolean => {
    const provider = tracing.getTracerProvider()
    return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('paystile') !== undefined
  }
  return {
    isOn,
    // Looked up each time, because a tracer stays bound to its first collector.
    span: (name, facts, work) => {
      if (!isOn()) return work(() => {})
      return tracing
        .getTracer('paystile')
        .startActiveSpan(name, { attributes: readAttributes(facts) }, async (span) => {
          try {
            return await work((more) => void span.setAttributes(readAttributes(more)))
          } catch (error) {
            // Only the name: messages can contain addresses and secrets, and traces leave the machine.
            span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : typeof error })
            throw error
          } finally {
            span.end()
          }
        })
    },
    headers: () => {
      const headers: Record<string, string> = {}
      propagation.inject(context.active(), headers)
      return headers
    },
  }
}

function readAttributes(facts: Facts): Attributes {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Attributes
}
