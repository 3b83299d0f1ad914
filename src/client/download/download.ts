/**
 * Downloads that resume after an interruption or a crash, and pay once for each allowance.
 */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isFields } from '../../core/encoding/fields.ts'
import { parseUrl } from '../../core/encoding/url.ts'
import { PaymentError } from '../errors.ts'
import type { FetchWith402 } from '../fetch.ts'
import type { Journal } from '../journal/journal.ts'
import type { ClientEvent, ClientOptions } from '../options.ts'
import { formatHeaders, isResumable, isWhole, judge } from './download-range.ts'
import { DownloadError, openPartFile, type PartFile } from './part-file.ts'
import { createPurchaseCheck, type PurchaseCheck } from './purchase-check.ts'

export interface Progress {
  /** The number of bytes in the file. */
  readonly bytes: number
  /** The size of the whole resource, if it is known. */
  readonly size?: number
}

export interface DownloadOptions extends ClientOptions {
  /**
   * For bytes sold in advance: buys more when they are used up, until the file is complete. The policy applies to each
   * purchase.
   */
  readonly buyMore?: boolean
  readonly onProgress?: (progress: Progress) => void
  /**
   * Receives the bytes that the file cannot take, if they were paid for and cannot be requested again. Without it, such
   * a download is aborted.
   */
  readonly overflow?: (bytes: Uint8Array) => void
}

export type Download =
  /** The complete resource is in the file. Without a response, it was complete already and only had to be renamed. */
  | { readonly kind: 'saved'; readonly path: string; readonly bytes: number; readonly response?: Response }
  /** The server's response is not the resource. Its body is unread. */
  | { readonly kind: 'answered'; readonly response: Response }

export type DownloadWith402 = (
  url: string | URL,
  path: string,
  options: DownloadOptions & RequestInit,
) => Promise<Download>

export interface DownloadParts {
  readonly fetchWith402: FetchWith402
  readonly journal: () => Journal | Promise<Journal>
}

/** The operations that a download repeats. */
interface Work {
  readonly url: URL
  readonly file: PartFile
  readonly isGet: boolean
  readonly buyMore: boolean
  readonly fetch: (headers: Readonly<Record<string, string>>) => Promise<Response>
  /** The payment behind the last response. Undefined if it was free. */
  readonly paid: () => Delivered | undefined
  readonly purchases: PurchaseCheck
  readonly told: (progress: Progress) => void
  readonly overflow: ((bytes: Uint8Array) => void) | undefined
}

type Delivered = Extract<ClientEvent, { kind: 'delivered' }>

export function createDownloadWith402(parts: DownloadParts): DownloadWith402 {
  return async (url, target, options) => {
    const address = checkArguments(url, target, options)
    const { buyMore = false, onProgress, overflow, ...init } = options
    const headers = new Headers(init.headers)
    if (headers.has('range')) throw new TypeError('downloadWith402: sets Range itself; use fetchWith402 for a part.')
    // Bytes are counted and joined as they are on the server.
    headers.set('accept-encoding', 'identity')
    const place = await choosePlace(target)
    const file = await openPartFile(place, address.href)
    const purchases = createPurchaseCheck(file.part, options.approve)
    let paid: Delivered | undefined
    const onEvent: DownloadOptions['onEvent'] = (event) => {
      if (event.kind === 'delivered') paid = event
      return options.onEvent?.(event)
    }
    const work: Work = {
      url: address,
      file,
      isGet: (init.method ?? 'GET').toUpperCase() === 'GET',
      buyMore,
      fetch: (more) => {
        paid = undefined
        const all = new Headers(headers)
        for (const [name, value] of Object.entries(more)) all.set(name, value)
        return parts.fetchWith402(address, { ...init, headers: all, onEvent, approve: purchases.approve })
      },
      paid: () => paid,
      purchases,
      told: (progress) => {
        try {
          onProgress?.(progress)
        } catch {}
      },
      overflow,
    }
    try {
      const response = await complete(work)
      if (response && 'answer' in response) return { kind: 'answered', response: response.answer }
      const { bytes } = file.part()
      await file.finish()
      // The server may count bytes as missing that arrived before the connection broke. The client knows that all are
      // here.
      if (paid?.allowance?.unit === 'file') await finishPayment(parts, init, paid.requestId)
      return { kind: 'saved', path: target, bytes, ...(response && { response: response.last }) }
    } finally {
      await file.close()
    }
  }
}

function checkArguments(url: unknown, target: unknown, options: unknown): URL {
  const address = parseUrl(String(url))
  if (!address)
    throw new TypeError(
      `downloadWith402: ${JSON.stringify(String(url))} is not a full address, such as https://data.example.com/set.`,
    )
  if (typeof target !== 'string' || target === '')
    throw new TypeError('downloadWith402: the path of the file is missing.')
  if (!isFields(options)) throw new TypeError('downloadWith402: the options are missing; pass at least { wallet }.')
  const { buyMore } = options
  // Any text, even 'false', would permit further payments.
  if (buyMore !== undefined && typeof buyMore !== 'boolean')
    throw new TypeError('downloadWith402: buyMore must be true or false.')
  for (const name of ['onProgress', 'overflow', 'onEvent', 'approve'])
    if (options[name] !== undefined && typeof options[name] !== 'function')
      throw new TypeError(`downloadWith402: ${name} must be a function.`)
  return address
}

/** Resolves a path to one canonical name, so that two downloads into the same file detect each other. */
async function choosePlace(target: string): Promise<string> {
  const ofDirectory = async (): Promise<string> => join(await realpath(dirname(target)), basename(target))
  return realpath(target)
    .catch(ofDirectory)
    .catch(() => resolve(target))
}

async function finishPayment(parts: DownloadParts, options: ClientOptions, requestId: string): Promise<void> {
  try {
    const journal = options.journal ?? (await parts.journal())
    await journal.change(requestId, { state: 'done' })
  } catch {
    // A failure here costs one request to the server at the next call.
  }
}

/** An honest resource changes less often during a download. */
const mostRestarts = 5

/** Sends requests until the file is complete. Undefined if it was complete from the start. */
async function complete(work: Work): Promise<{ last: Response } | { answer: Response } | undefined> {
  const { file, isGet } = work
  if (!isGet) await file.restart(undefined, undefined)
  let last: Response | undefined
  let mayAskForRest = true
  let [reached, restarts] = [0, 0]
  while (!isWhole(file.part())) {
    const part = file.part()
    const rest = mayAskForRest ? formatHeaders(part) : {}
    const asksForRest = 'Range' in rest
    const response = await work.fetch(rest).catch((error: unknown) => {
      if (asksForRest && isRangeMismatch(error)) return undefined
      throw error
    })
    const head = response && { status: response.status, header: readHeader(response) }
    const step = head ? judge(part, head, asksForRest) : ({ kind: 'again' } as const)
    if (!response || step.kind === 'again') {
      await response?.body?.cancel()
      work.purchases.excuse()
      mayAskForRest = false
      continue
    }
    if (step.kind === 'answer') return { answer: response }
    last = response
    if (step.kind === 'whole') {
      await response.body?.cancel()
      break
    }
    if (step.kind === 'append') await file.learn(step.size)
    else {
      if (step.validator !== part.validator && restarts < mostRestarts) reached = 0
      restarts += 1
      // The response to a POST cannot be continued by a GET.
      await file.restart(isGet ? step.validator : undefined, step.size)
    }
    const end = await copy(work, response)
    // A partial response without a total size can be followed by more.
    if (end.kind === 'ended' && file.part().size === undefined && response.status !== 206) break
    if (isWhole(file.part())) break
    checkProgress(work, end, reached)
    reached = file.part().bytes
    mayAskForRest = true
  }
  return last && { last }
}

function readHeader({ headers }: Response): (name: string) => string | undefined {
  return (name) => headers.get(name) ?? undefined
}

function isRangeMismatch(error: unknown): boolean {
  return error instanceof PaymentError && error.facts.refusal === 'range_mismatch'
}

/** Throws unless the rest should be requested: it must be wanted, possible, and making progress. */
function checkProgress({ file, buyMore, paid }: Work, end: BodyEnd, reached: number): void {
  const part = file.part()
  const { bytes, size } = part
  if (size !== undefined && bytes > size)
    throw new DownloadError('size_mismatch', `The server sent more than the announced ${size} bytes.`, bytes)
  const costsMore = end.kind === 'exhausted' || paid()?.allowance?.unit === 'request'
  const isStuck = !isResumable(part) || bytes <= reached
  if (!isStuck && (buyMore || !costsMore)) return
  const next = isStuck
    ? 'the server does not support resuming; buy the whole file with prepayBytes'
    : 'call again, or set buyMore, to pay for more and continue'
  const facts = end.kind === 'ended' ? {} : end.error.facts
  const of = size === undefined ? '' : ` of ${size}`
  throw new PaymentError('allowance_exhausted', `The allowance ended at byte ${bytes}${of}; ${next}.`, {
    ...facts,
    offset: bytes,
    resumable: !isStuck,
    ...(size !== undefined && { size }),
  })
}

/** How a body ended: completely, or because its allowance is used up. */
type BodyEnd = { readonly kind: 'ended' } | { readonly kind: 'exhausted'; readonly error: PaymentError }

async function copy(work: Work, response: Response): Promise<BodyEnd> {
  const { file, purchases, told } = work
  const reader = response.body?.getReader()
  for (;;) {
    let part: ReadableStreamReadResult<Uint8Array> | undefined
    try {
      part = await reader?.read()
    } catch (error) {
      if (error instanceof PaymentError && error.code === 'allowance_exhausted') return { kind: 'exhausted', error }
      throw error
    }
    if (!part || part.done) return { kind: 'ended' }
    purchases.arrived(part.value.byteLength)
    const { taken, failure } = await file.write(part.value)
    const { bytes, size } = file.part()
    told({ bytes, ...(size !== undefined && { size }) })
    if (failure !== undefined && reader) throw await giveUp(work, reader, part.value.subarray(taken), failure)
  }
}

/**
 * Handles a write failure, such as a full disk. If the rest can be requested again, the body is aborted. Otherwise it
 * goes to `overflow`.
 */
async function giveUp(
  { file, overflow, paid }: Work,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  rest: Uint8Array,
  failure: string,
): Promise<DownloadError> {
  const part = file.part()
  const payment = paid()
  // A sent response uses up a request even if the file had no room for it.
  const unit = payment?.allowance?.unit ?? 'request'
  const isLost = payment !== undefined && (unit === 'request' || part.validator === undefined)
  const isRescued = overflow !== undefined && isLost
  if (isRescued) {
    overflow(rest)
    for (let next = await reader.read(); !next.done; next = await reader.read()) overflow(next.value)
  } else await reader.cancel().catch(() => {})
  const message = `The file cannot be written (${failure}); ${part.bytes} bytes of it are kept.`
  return new DownloadError('file_unwritable', message, part.bytes, isRescued)
}
