/** A model of what is owed that knows nothing of sums: it keeps every share, and where it is. */
import { equal } from 'node:assert/strict'
import type { PayoutLine } from '../../src/core/payouts/ports/outgoing.ts'
import type { Accrual, PayeeName } from '../../src/core/payouts/ports/rewards.ts'

interface Share extends PayeeName {
  readonly number: number
  readonly units: bigint
  /** The dispatch that has it, or had it when it landed. */
  dispatch: string | undefined
  isPaid: boolean
}

/** A payment that may be used or refunded, but not both. */
interface Purchase {
  isUsed: boolean
  heldUntil: number
  refund: string | undefined
}

export type Book = ReturnType<typeof createBook>

export function createBook() {
  const shares: Share[] = []
  const sent = new Map<string, { readonly lines: readonly PayoutLine[]; state: 'open' | 'landed' | 'dropped' }>()
  const purchases = new Map<number, Purchase>()
  const of = (name: PayeeName) => shares.filter(({ role, payee }) => role === name.role && payee === name.payee)
  const total = (some: readonly { readonly units: bigint }[]) => some.reduce((sum, { units }) => sum + units, 0n)
  const purchase = (number: number): Purchase => {
    const known = purchases.get(number) ?? { isUsed: false, heldUntil: 0, refund: undefined }
    purchases.set(number, known)
    return known
  }
  const end = (id: string, state: 'landed' | 'dropped'): void => {
    const own = sent.get(id)
    if (own) own.state = state
    for (const share of shares.filter(({ dispatch }) => dispatch === id)) {
      equal(share.isPaid, false)
      if (state === 'landed') share.isPaid = true
      else share.dispatch = undefined
    }
  }

  return {
    share: (last: number, accruals: readonly Accrual[]): void => {
      for (const [index, accrual] of accruals.entries())
        for (const share of accrual.shares)
          shares.push({ ...share, number: last + 1 + index, dispatch: undefined, isPaid: false })
    },
    /** What nobody has reserved is what can be planned for. */
    owed: (name: PayeeName, most?: bigint) => {
      const all = of(name).filter(({ dispatch }) => dispatch === undefined)
      const isWithin = (index: number) => most === undefined || index === 0 || total(all.slice(0, index + 1)) <= most
      const free = all.filter((_, index) => isWithin(index))
      return free.length === 0
        ? undefined
        : { through: Math.max(...free.map(({ number }) => number)), units: total(free) }
    },
    reserve: (id: string, lines: readonly PayoutLine[]): void => {
      sent.set(id, { lines, state: 'open' })
      for (const line of lines) {
        const own = of(line)
        equal(own.filter(({ dispatch, isPaid }) => dispatch !== undefined && !isPaid).length, 0)
        const settled = own.filter(({ number }) => number > line.from && number <= line.through)
        equal(total(settled), line.gross)
        for (const share of settled) {
          equal(share.dispatch, undefined)
          share.dispatch = id
        }
      }
    },
    land: (id: string) => end(id, 'landed'),
    drop: (id: string): void => {
      end(id, 'dropped')
      for (const one of purchases.values()) if (one.refund === id) one.refund = undefined
    },
    planned: (): bigint =>
      total([...sent.values()].filter(({ state }) => state !== 'dropped').flatMap(({ lines }) => lines)),
    sums: (name: PayeeName): readonly bigint[] | undefined => {
      const own = of(name)
      if (own.length === 0) return undefined
      const landed = [...sent.values()].filter(({ state }) => state === 'landed').flatMap(({ lines }) => lines)
      const paid = landed.filter(({ role, payee }) => role === name.role && payee === name.payee)
      const free = own.filter(({ dispatch }) => dispatch === undefined)
      const reserved = own.filter(({ dispatch, isPaid }) => dispatch !== undefined && !isPaid)
      return [total(own), total(free), total(reserved), total(paid)]
    },
    /** What a refund that was asked for had to come to. */
    refund: (number: number, id: string | undefined, now: number): 'planned' | 'taken' | 'in_use' => {
      const one = purchase(number)
      if (one.refund !== undefined) return 'taken'
      if (one.isUsed || one.heldUntil > now) return 'in_use'
      one.refund = id
      return 'planned'
    },
    isRefunded: (number: number): boolean => purchase(number).refund !== undefined,
    use: (number: number, isUsed: boolean, until: number): void => {
      const one = purchase(number)
      equal(one.refund, undefined)
      one.isUsed ||= isUsed
      one.heldUntil = isUsed ? 0 : until
    },
  }
}
