/**
 * The body of a paid answer, watched to its end: whether it came whole, was cut because no more was paid for, or broke off.
 * A part is never passed off as the whole: after the last byte that was paid for, reading fails.
 */
import { parseContentRange } from '../../core/encoding/content-range.ts'
import type { AllowanceLeft } from '../../core/payment/allowance.ts'
import { statusHeader } from '../../core/payment/delivery.ts'

/** What the head of an answer says of its body. */
export interface Extent {
  /** The position in the resource at which it begins. */
  readonly from: number
  /** There is more, although the caller asked for no less. */
  readonly isCut: boolean
  readonly to: number | undefined
  /** Of the whole resource, where it is known. */
  readonly size: number | undefined
  /** How many bytes are paid for, where the length is not known: a body that breaks off exactly there was cut. */
  readonly limit: number | undefined
  /** Decoded on the way, so that its bytes are not those that were paid for, and a cut breaks the decoder. */
  readonly isEncoded: boolean
}

export function readExtent(response: Response, asksForPart: boolean, left: AllowanceLeft | undefined): Extent {
  const { status, headers } = response
  const range = status === 206 ? parseContentRange(headers.get('content-range') ?? undefined) : undefined
  const isWhole = range?.from === 0n && range.to === range.size
  const isEncoded = (headers.get('content-encoding') ?? 'identity') !== 'identity'
  const length = isEncoded ? null : headers.get('content-length')
  // Of a file it is told what has not arrived yet, which is no limit.
  const isMeasured = left?.unit === 'byte'
  const size = range ? range.size : status === 200 && length !== null ? Number(length) : undefined
  return {
    from: Number(range?.from ?? 0n),
    isCut: headers.get(statusHeader) === 'partial' || (status === 206 && !asksForPart && !isWhole),
    to: range && Number(range.to),
    size: size === undefined ? undefined : Number(size),
    limit: isMeasured && length === null && !isEncoded ? left.remaining : undefined,
    isEncoded,
  }
}

export type Ending = 'whole' | 'cut' | 'broken'

export interface WatchParts {
  readonly extent: Extent
  /** Called once, before the reader hears of the end. */
  readonly end: (ending: Ending, bytes: number) => Promise<void>
  /** What a reader of a body that was cut is told after its last byte. */
  readonly exhausted: (offset: number, size: number | undefined) => Error
}

/** The same response, with a word when its body has come to its end. Only then is it known what the payment has brought. */
export async function watchBody(response: Response, { extent, end, exhausted }: WatchParts): Promise<Response> {
  const { body, status, statusText, headers, url, redirected, type } = response
  // A fetch that is not the platform's may have a body of another kind.
  if (typeof body?.getReader !== 'function') {
    await end(extent.isCut ? 'cut' : 'whole', 0)
    return response
  }
  const reader = body.getReader()
  const read = extent.limit === undefined ? () => reader.read() : readAhead(reader, extent.limit)
  let bytes = 0
  const cut = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await end('cut', bytes)
    controller.error(exhausted(extent.to ?? extent.from + bytes, extent.size))
  }
  const stream: UnderlyingDefaultSource<Uint8Array> = {
    pull: async (controller) => {
      try {
        const { done, value } = await read()
        if (!done) {
          bytes += value.byteLength
          return controller.enqueue(value)
        }
      } catch (error) {
        if (bytes === extent.limit || (extent.isCut && extent.isEncoded)) return cut(controller)
        await end('broken', bytes)
        return controller.error(error)
      }
      if (extent.isCut) return cut(controller)
      await end('whole', bytes)
      controller.close()
    },
    cancel: async (reason) => {
      await end('broken', bytes)
      await reader.cancel(reason)
    },
  }
  const watched = new Response(new ReadableStream(stream, { highWaterMark: 0 }), { status, statusText, headers })
  // What a response that was not fetched cannot say of itself.
  return Object.defineProperties(watched, {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
  })
}

const nearMiss = 1_048_576

/**
 * Reads the end of a limited body before it is asked for: a connection that breaks takes with it what the platform has
 * received and nobody has read, and then it could not be told whether it broke at the limit.
 */
function readAhead(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
): () => Promise<ReadableStreamReadResult<Uint8Array>> {
  const waiting: Promise<ReadableStreamReadResult<Uint8Array>>[] = []
  let arrived = 0
  const readOne = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    const result = await reader.read()
    arrived += result.value?.byteLength ?? 0
    if (!result.done && limit - arrived < nearMiss) add()
    return result
  }
  const add = (): void => {
    const next = readOne()
    next.catch(() => {})
    waiting.push(next)
  }
  if (limit < nearMiss) add()
  return () => {
    if (waiting.length === 0) add()
    return waiting.shift() as Promise<ReadableStreamReadResult<Uint8Array>>
  }
}
