/**
 * Sends a body as far as its quota allows. Bytes that may not be sent yet are held back, bytes beyond the quota are
 * dropped. It holds no more than the handler writes without waiting for `drain`.
 */
import type { ByteQuota } from '../../paywall/delivery/byte-quota.ts'

export interface QuotaWriterParts {
  readonly quota: ByteQuota
  /** The announced length, if there is one. */
  readonly announced: number | undefined
  readonly write: (bytes: Uint8Array, callback?: Callback) => boolean
  readonly end: (callback?: Callback) => void
  /** Breaks the response off, so that it does not look complete. */
  readonly breakOff: () => void
  /** Tells the handler to continue. */
  readonly drain: () => void
}

export interface QuotaWriter {
  write(bytes: Uint8Array, callback?: Callback): boolean
  end(bytes: Uint8Array | undefined, callback?: Callback): void
}

type Callback = (error?: Error | null) => void

interface Held {
  readonly bytes: Uint8Array
  readonly callback: Callback | undefined
}

export function createQuotaWriter({ quota, announced, write, end, breakOff, drain }: QuotaWriterParts): QuotaWriter {
  let held: Held[] = []
  let waiting = false
  let isOver = false
  let isEnded = false
  let ending: { readonly callback: Callback | undefined } | undefined
  const call = (callback: Callback | undefined): void => {
    if (callback) queueMicrotask(() => callback())
  }

  const send = ({ bytes, callback }: Held): boolean => {
    const taken = quota.take(bytes.byteLength)
    if (taken === bytes.byteLength) return write(bytes, callback)
    if (taken > 0) write(bytes.subarray(0, taken))
    held.unshift({ bytes: bytes.subarray(taken), callback })
    wait()
    return false
  }
  const wait = (): void => {
    waiting = true
    void quota.more().then((isMore) => {
      waiting = false
      if (isMore) flush()
      else stop()
    })
  }
  const flush = (): void => {
    let isFree = true
    for (let next = held.shift(); next; next = held.shift()) {
      isFree = send(next)
      if (waiting) return
    }
    if (ending) end(ending.callback)
    else if (isFree) drain()
  }
  const stop = (): void => {
    isOver = true
    for (const { callback } of held) call(callback)
    held = []
    call(ending?.callback)
    if (announced === quota.sent()) end()
    else breakOff()
  }

  return {
    write: (bytes, callback) => {
      // After the end nothing is sent, so nothing is counted.
      if (isOver || isEnded) {
        call(callback)
        return true
      }
      if (!waiting) return send({ bytes, callback })
      held.push({ bytes, callback })
      return false
    },
    end: (bytes, callback) => {
      if (isEnded) {
        call(callback)
        return
      }
      isEnded = true
      if (bytes && !isOver) {
        if (waiting) held.push({ bytes, callback: undefined })
        else send({ bytes, callback: undefined })
      }
      if (isOver) call(callback)
      else if (waiting) ending = { callback }
      else end(callback)
    },
  }
}
