/**
 * Watches the body of a paid response to its end: complete, cut at the end of the allowance, or interrupted. A part
 * never appears as the whole: after the last purchased byte, reading fails.
 */
import { parseContentRange } from '../../core/http/content-range.ts'
import type { AllowanceLeft } from '../../core/payment/allowance.ts'
import { statusHeader } from '../../core/payment/delivery.ts'

/** The description of a body in the head of its response. */
export interface Extent {
  /** The position in the resource at which the body begins. */
  readonly from: number
  /** The resource continues beyond the body, although the caller did not ask for a part. */
  readonly isCut: boolean
  readonly to: number | undefined
  /** The size of the whole resource, if it is known. */
  readonly size: number | undefined
  /** The number of purchased bytes, if the length is unknown. A body that ends exactly there was cut. */
  readonly limit: number | undefined
  /** The body is decoded on the way. Its bytes are not the purchased ones, and a cut breaks the decoder. */
  readonly isEncoded: boolean
}

export function readExtent(response: Response, asksForPart: boolean, left: AllowanceLeft | undefined): Extent {
  const { status, headers } = response
  const range = status === 206 ? parseContentRange(headers.get('content-range') ?? undefined) : undefined
  const isWhole = range?.from === 0n && range.to === range.size
  const isEncoded = (headers.get('content-encoding') ?? 'identity') !== 'identity'
  const length = isEncoded ? null : headers.get('content-length')
  // For a file, the header reports the missing bytes, which is not a limit.
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
  /** Called once, before the reader sees the end. */
  readonly end: (ending: Ending, bytes: number) => Promise<void>
  /** The error for the reader of a cut body, after its last byte. */
  readonly exhausted: (offset: number, size: number | undefined) => Error
}

/** Returns the same response, and reports the end of its body. Only the end shows how much of the payment was used. */
export async function watchBody(response: Response, { extent, end, exhausted }: WatchParts): Promise<Response> {
  const { body, status, statusText, headers, url, redirected, type } = response
  // A custom fetch can have a body of another kind.
  if (typeof body?.getReader !== 'function') {
    await end(extent.isCut ? 'cut' : 'whole', 0)
    return response
  }
  const reader = body.getReader()
  const read = extent.limit === undefined ? () => reader.read() : readAhead(reader, extent.limit)
  let bytes = 0
  let isOver = false
  // A canceled body also answers the read that was under way, as if it had ended.
  const finish = async (ending: Ending): Promise<void> => {
    if (isOver) return
    isOver = true
    await end(ending, bytes)
  }
  const cut = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await finish('cut')
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
        await finish('broken')
        return controller.error(error)
      }
      if (extent.isCut) return cut(controller)
      await finish('whole')
      controller.close()
    },
    cancel: async (reason) => {
      await finish('broken')
      await reader.cancel(reason)
    },
  }
  const watched = new Response(new ReadableStream(stream, { highWaterMark: 0 }), { status, statusText, headers })
  // Properties that a constructed response lacks.
  return Object.defineProperties(watched, {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
  })
}

const nearMiss = 1_048_576

/**
 * Reads the end of a limited body before the caller asks for it. A broken connection discards data that the platform
 * has received and the caller has not read. Then it would be unknown whether it broke at the limit.
 */
function readAhead(reader: ReadableStreamDefaultReader<Uint8Array>, limit: number) {
  const waiting: Promise<ReadableStreamReadResult<Uint8Array>>[] = []
  let arrived = 0
  const readOne = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    const result = await reader.read()
    arrived += result.value?.byteLength ?? 0
    // Beyond the limit, only the caller's pace limits the size of what waits here.
    if (!result.done && limit - arrived < nearMiss && arrived <= limit) add()
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
