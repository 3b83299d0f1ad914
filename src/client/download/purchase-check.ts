/** Compares the bytes that a download receives with what each of its payments announced. */
import { PaymentError } from '../errors.ts'
import type { ClientOptions, PaymentOffer } from '../options.ts'
import { isResumable, type Part } from './download-range.ts'

export interface PurchaseCheck {
  /** Called before every payment. Throws if the previous one brought clearly less than it announced. */
  readonly approve: NonNullable<ClientOptions['approve']>
  arrived(bytes: number): void
  /** The last payment was for a request that the server could not serve, so it is not compared. Works once. */
  excuse(): void
}

/** Enough bytes for a payment that announced no number of bytes. */
const leastBytes = 65_536

export function createPurchaseCheck(part: () => Part, approve: ClientOptions['approve']): PurchaseCheck {
  let last: { readonly least: number; arrived: number } | undefined
  let isExcused = false
  return {
    approve: async (offer) => {
      if (last && last.arrived < last.least) throw createError(part(), last.arrived)
      const isApproved = approve === undefined || (await approve(offer)) === true
      if (isApproved) last = { least: computeLeast(offer), arrived: 0 }
      return isApproved
    },
    arrived: (bytes) => {
      if (last) last.arrived += bytes
    },
    excuse: () => {
      if (!isExcused) last = undefined
      isExcused = true
    },
  }
}

/** Half of the announced bytes: other calls can use a part, and a failed request can cost a few. */
function computeLeast({ allowance }: PaymentOffer): number {
  const isInBytes = allowance?.unit === 'byte' || allowance?.unit === 'file'
  return isInBytes ? allowance.amount / 2 : leastBytes
}

function createError(part: Part, arrived: number): PaymentError {
  const { bytes, size } = part
  const next = 'the client makes no further payment in this call'
  return new PaymentError(
    'allowance_exhausted',
    `The last payment brought only ${arrived} bytes, clearly fewer than it announced; ${next}.`,
    { offset: bytes, resumable: isResumable(part), ...(size !== undefined && { size }) },
  )
}
