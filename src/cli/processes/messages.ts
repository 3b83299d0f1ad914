/** The messages between the supervisor of a gateway and its processes, with the form of their values. */
import { z } from 'zod'
import { type Metric, type MetricsDump, metrics } from '../../core/observability/metrics.ts'
import type { Effect } from '../../core/payment/verify.ts'

/** The configuration of all processes: the same text and the same variables, even if the files have changed since. */
const settings = z.strictObject({
  /** The text of the file. Undefined for a module, which each process loads itself. */
  text: z.string().optional(),
  /** The variables of `.env`. */
  variables: z.record(z.string(), z.string()),
  port: z.number(),
  host: z.string(),
})
export type Settings = z.output<typeof settings>

const metric = z.enum(Object.keys(metrics) as [Metric, ...Metric[]])
const histogram = z.strictObject({ counts: z.array(z.number()), sum: z.number() })
const dump: z.ZodType<MetricsDump> = z.strictObject({
  values: z.map(metric, z.map(z.string(), z.number())),
  histograms: z.map(metric, z.map(z.string(), histogram)),
})

const bucket = z.strictObject({
  book: z.string(),
  name: z.string(),
  rate: z.strictObject({ most: z.number(), secondsEach: z.number() }),
})
const cost = z.union([z.literal(0), z.literal(1)])

const unknown = z.string().or(z.undefined())
const transfer = z.strictObject({
  asset: z.string(),
  destination: z.string(),
  destinationOwner: unknown,
  sourceOwner: unknown,
  authority: z.string(),
  units: z.bigint().or(z.undefined()),
  signers: z.array(z.string()),
  memos: z.array(z.string()),
})
const holding = z.strictObject({
  asset: z.string(),
  account: z.string(),
  ownerBefore: unknown,
  ownerAfter: unknown,
  before: z.bigint(),
  after: z.bigint(),
})
const effect: z.ZodType<Effect> = z.strictObject({
  signature: z.string(),
  slot: z.number(),
  blockTime: z.number(),
  failed: z.boolean(),
  feePayer: z.string(),
  fee: z.bigint(),
  memos: z.array(z.string()),
  transfers: z.array(transfer),
  holdings: z.array(holding),
})

const notice = z.strictObject({
  service: z.string(),
  notice: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('seen'), effect }),
    z.strictObject({ kind: z.literal('current'), isCurrent: z.boolean() }),
  ]),
})

const none = z.undefined()

/** From a process to its supervisor. */
export const toSupervisor = {
  /** Asks for the settings. */
  hello: none,
  serving: z.strictObject({ url: z.string() }),
  readiness: z.strictObject({ ready: z.boolean(), offered: z.array(z.string()), why: z.string().optional() }),
  /** The process cannot start. */
  failed: z.strictObject({ code: z.string(), message: z.string(), exitCode: z.number() }),
  /** Asks to enter limits. */
  enter: z.strictObject({ buckets: z.array(bucket), cost, mostAtOnce: z.number().optional() }),
  leave: z.strictObject({ visit: z.number(), cost }),
  /** Asks for a free request. */
  free: z.strictObject({ quota: z.string(), address: z.string(), most: z.number(), period: z.number() }),
  notice,
  /** Asks to prepare a recipient on the chain of the supervisor. */
  prepareRecipient: z.strictObject({ recipient: z.string() }),
  /** Asks for the metrics of all processes. */
  metrics: none,
  /** Asks for the reload of all processes. */
  reload: none,
  /** The last metrics of a process that ends. */
  ended: dump,
}

/** From the supervisor to a process. */
export const toProcess = {
  /** Asks to open a configuration beside the current one. */
  prepare: settings,
  /** Asks to serve by the prepared configuration. */
  commit: none,
  abort: none,
  /** This process leads from now on. */
  lead: none,
  /** Asks for the metrics of this process. */
  dump: none,
  notice,
  /** Ends after the running responses. */
  stop: none,
}

/** The answers to questions. */
export const answers = {
  entry: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('in'), isFull: z.boolean(), visit: z.number() }),
    z.strictObject({ kind: z.literal('later'), seconds: z.number() }),
  ]),
  free: z.boolean(),
  dump,
  settings,
}
