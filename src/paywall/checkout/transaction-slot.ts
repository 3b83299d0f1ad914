/**
 * Limits a purchase to one transaction at a time: the next is sent only when the one before can no longer land. All
 * servers agree, because each must write its transaction to the key-value store under the next number, and only one
 * write succeeds.
 */
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { PaymentDrafts, SignedDraft } from '../../core/ports/payment-drafts.ts'
import type { Clock } from '../../core/runtime.ts'

interface Subject {
  readonly name: string
  readonly claimableUntil: number
}

export interface TransactionSlots {
  /** The transaction that was sent last. */
  current(purchase: Subject): Promise<SignedDraft | undefined>
  /** Whether it failed or can no longer land, or is `vain`: the one that was found to have landed without paying. */
  isOver(sent: SignedDraft, vain?: string): Promise<boolean>
  /** True for the one transaction that may be sent now, also when it comes again. */
  take(purchase: Subject, signed: SignedDraft, vain?: string): Promise<boolean>
  /** Not more often than every two seconds. */
  sendAgain(sent: SignedDraft): Promise<void>
}

const resendMs = 2_000
/** The state of a transaction from the nodes is cached for this time. */
const fateMs = 1_000
const mostKept = 1_000

export function createTransactionSlots(
  kv: KeyValueStore,
  paymentDrafts: PaymentDrafts,
  clock: Clock,
): TransactionSlots {
  const sentAt = new Map<string, number>()
  const over = new Set<string>()
  const fates = new Map<string, { readonly at: number; readonly fate: ReturnType<PaymentDrafts['readFate']> }>()
  const fateOf: PaymentDrafts['readFate'] = (sent) => {
    const now = clock.monotonic()
    const known = fates.get(sent.signature)
    if (known && now - known.at < fateMs) return known.fate
    const fate = paymentDrafts.readFate(sent)
    if (fates.size >= mostKept) fates.clear()
    fates.set(sent.signature, { at: now, fate })
    return fate
  }
  const prefixOf = ({ name }: Subject): string => `checkout-gate/${name}/`
  const listOf = async (purchase: Subject): Promise<readonly SignedDraft[]> =>
    (await kv.list(prefixOf(purchase))).map(({ value }) => JSON.parse(value) as SignedDraft)
  const isOver: TransactionSlots['isOver'] = async (sent, vain) => {
    if (over.has(sent.signature)) return true
    const isVain = sent.signature === vain
    // That it landed is news since the nodes were asked last.
    const fate = await (isVain ? paymentDrafts.readFate(sent) : fateOf(sent))
    if (fate !== 'over' && !(fate === 'landed' && isVain)) return false
    if (over.size >= mostKept) over.clear()
    over.add(sent.signature)
    return true
  }
  return {
    current: async (purchase) => (await listOf(purchase)).at(-1),
    isOver,
    take: async (purchase, signed, vain) => {
      const before = await listOf(purchase)
      const last = before.at(-1)
      if (last?.signature === signed.signature) return true
      if (last && !(await isOver(last, vain))) return false
      const place = `${prefixOf(purchase)}${String(before.length).padStart(4, '0')}`
      return kv.put(place, JSON.stringify(signed), purchase.claimableUntil)
    },
    sendAgain: async (sent) => {
      const now = clock.monotonic()
      if (now - (sentAt.get(sent.signature) ?? Number.NEGATIVE_INFINITY) < resendMs) return
      if (sentAt.size >= mostKept) sentAt.clear()
      sentAt.set(sent.signature, now)
      await paymentDrafts.send(sent)
    },
  }
}
