// Ledgers that are broken on purpose, as real ones have been, to prove that a history would show it.
import pg from 'pg'

/** The store's own statements, without the guard. */
export function breakStatements(fault) {
  if (fault !== 'writes over') return
  const guard = ' AND kept.version = given.version - 1'
  /** @type {{ query: any }} */
  const prototype = pg.Client.prototype
  const { query } = prototype
  prototype.query = function (order, ...rest) {
    const isReplacing = order.text?.includes('UPDATE paystile_payments AS kept')
    if (isReplacing && !order.text.includes(guard)) throw new Error('the guard to be taken out is not there')
    return query.call(this, isReplacing ? { ...order, text: order.text.replace(guard, '') } : order, ...rest)
  }
}

export function breakLedger(fault, ledger) {
  switch (fault) {
    case 'writes over':
      return ledger
    case 'checks, then takes':
      return checksThenTakes(ledger)
    case 'shows what was':
      return showsWhatWas(ledger)
    case 'ends for anybody':
      return endsForAnybody(ledger)
    case 'adds up what was used':
      return addsUp(ledger)
    default:
      throw new Error(`there is no fault "${fault}"`)
  }
}

/** What it saw before it took is what it goes by. */
function checksThenTakes(ledger) {
  return {
    ...ledger,
    take: async (take) => {
      const standing = await ledger.peek(take.tx)
      const taken = await ledger.take(take)
      if (taken.kind !== 'busy' || standing?.state !== 'open') return taken
      return { kind: 'granted', grant: { tx: take.tx, fence: 1_000_000n, amount: 1n, from: 0n }, remaining: 0n }
    },
  }
}

/** Answers from what it saw a moment ago. */
function showsWhatWas(ledger) {
  const shown = new Map()
  return {
    ...ledger,
    peek: async (tx) => {
      const name = Buffer.from(tx).toString('hex')
      const before = shown.get(name)
      if (before && performance.now() - before.at < 50) return before.standing
      const standing = await ledger.peek(tx)
      shown.set(name, { standing, at: performance.now() })
      return standing
    },
  }
}

/** Ends the last grant it knows of, whichever one is named. */
function endsForAnybody(ledger) {
  const last = new Map()
  return {
    ...ledger,
    take: async (take) => {
      const taken = await ledger.take(take)
      if (taken.kind === 'granted') last.set(Buffer.from(take.tx).toString('hex'), taken.grant.fence)
      return taken
    },
    end: (grant, outcome, used) => {
      const fence = last.get(Buffer.from(grant.tx).toString('hex')) ?? grant.fence
      return ledger.end({ ...grant, fence }, outcome, used)
    },
  }
}

/** Takes what was used in all for what was used since the last time. */
function addsUp(ledger) {
  const sums = new Map()
  return {
    ...ledger,
    advance: (grant, used, more) => {
      const name = `${Buffer.from(grant.tx).toString('hex')} ${grant.fence}`
      const sum = (sums.get(name) ?? 0n) + used
      sums.set(name, sum)
      return ledger.advance(grant, sum, more)
    },
  }
}
