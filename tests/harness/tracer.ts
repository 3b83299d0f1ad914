/** The least that OpenTelemetry's API asks of a collector: spans in a list, with their parents, and a context that follows promises. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  type SpanStatus,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'

export interface Collected {
  readonly name: string
  readonly attributes: Attributes
  readonly parent: string | undefined
  readonly id: string
  readonly traceId: string
  status: SpanStatus | undefined
  ended: boolean
}

export interface Collector {
  readonly spans: Collected[]
  /** Takes itself out of the API's globals. */
  remove(): void
}

export function installCollector(): Collector {
  const spans: Collected[] = []
  const hex = (length: number, value: number) => value.toString(16).padStart(length, '0')
  const startSpan = (name: string, options: SpanOptions = {}, parentContext: Context = context.active()): Span => {
    const parent = trace.getSpanContext(parentContext)
    const id = hex(16, spans.length + 1)
    const traceId = parent?.traceId ?? hex(32, spans.length + 1)
    const collected: Collected = {
      name,
      attributes: { ...options.attributes },
      parent: parent?.spanId,
      id,
      traceId,
      status: undefined,
      ended: false,
    }
    spans.push(collected)
    const spanContext: SpanContext = { traceId, spanId: id, traceFlags: TraceFlags.SAMPLED }
    const span = {
      spanContext: () => spanContext,
      setAttributes: (more: Attributes) => Object.assign(collected.attributes, more) && span,
      setAttribute: (key: string, value: string) => Object.assign(collected.attributes, { [key]: value }) && span,
      setStatus: (status: SpanStatus) => {
        collected.status = status
        return span
      },
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      updateName: () => span,
      recordException: () => {},
      isRecording: () => !collected.ended,
      end: () => {
        collected.ended = true
      },
    } as unknown as Span
    return span
  }
  const startActiveSpan = (name: string, ...rest: readonly unknown[]): unknown => {
    const work = rest.at(-1) as (span: Span) => unknown
    const options = rest.length > 1 ? (rest[0] as SpanOptions) : {}
    const span = startSpan(name, options)
    return context.with(trace.setSpan(context.active(), span), () => work(span))
  }
  const tracer = { startSpan, startActiveSpan } as unknown as Tracer
  context.setGlobalContextManager(createManager())
  propagation.setGlobalPropagator({
    inject: (from, carrier, setter) => {
      const span = trace.getSpanContext(from)
      if (span) setter.set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-01`)
    },
    extract: (from) => from,
    fields: () => ['traceparent'],
  })
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
  return {
    spans,
    remove: () => {
      trace.disable()
      context.disable()
      propagation.disable()
    },
  }
}

function createManager(): ContextManager {
  const storage = new AsyncLocalStorage<Context>()
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (given, work, self, ...args) => storage.run(given, () => work.call(self, ...args)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  return manager
}
