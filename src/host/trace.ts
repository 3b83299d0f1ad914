/**
 * Spans by OpenTelemetry, through its API alone: an application that has set up a collector sees them among its own, and
 * without one nothing is made.
 */
import {
  type Attributes,
  context,
  ProxyTracerProvider,
  propagation,
  SpanStatusCode,
  trace as tracing,
} from '@opentelemetry/api'
import type { Facts, Trace } from '../core/runtime.ts'

export function createTrace(): Trace {
  const isOn = (): boolean => {
    const provider = tracing.getTracerProvider()
    return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('paystile') !== undefined
  }
  return {
    isOn,
    // Asked for anew each time: a tracer goes on with the collector that it met first.
    span: (name, facts, work) =>
      tracing.getTracer('paystile').startActiveSpan(name, { attributes: readAttributes(facts) }, async (span) => {
        try {
          return await work((more) => void span.setAttributes(readAttributes(more)))
        } catch (error) {
          // Its name and no more: messages may hold addresses and secrets, and traces go far.
          span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : typeof error })
          throw error
        } finally {
          span.end()
        }
      }),
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
