/** Which notices follow from what becomes of a payment, the same in every store. */
import type { NoticeKind } from '../core/ports.ts'
import type { Ruling } from './account.ts'

type Written = { readonly [Part in 'registers' | 'restores']: Ruling[Part] | undefined }

/** One that is final when it is registered will not be concluded any more, so both are told at once. */
export function noticesOf({ registers, restores }: Written): readonly NoticeKind[] {
  if (restores) return ['payment.finalized']
  if (!registers) return []
  return registers.finality === 'finalized' ? ['payment.confirmed', 'payment.finalized'] : ['payment.confirmed']
}
