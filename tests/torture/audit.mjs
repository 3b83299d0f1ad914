/**
 * Was a payment served as it should be? Judged from three witnesses that cannot talk to each other: what the database
 * committed, what the servers sent, and when processes and databases died.
 *
 * A *double* is a grant that the rule forbids (the allowance was used up, or held by another live lease), bytes without a
 * grant of their own, or a second delivery after a whole one that nothing kept from being settled. A *loss* is a grant that
 * was acknowledged, since bytes followed it, and that the ledger does not know.
 */

/** Servers and database read the same clock, but not in the same millisecond. */
const toleranceMs = 5
/** Settling follows the last byte at once; who lives this long after it has settled. */
const settlingMs = 1_000

/** @typedef {{ doubles: string[], losses: string[] }} Wrongs */

/**
 * What is wrong with a payment, in words; nothing where all is well.
 *
 * @type {typeof import('./audit.mjs').judgePayment}
 */
export function judgePayment({ history, sends, outages, leaseMs }) {
  const ordered = sends.toSorted((one, other) => one.first - other.first)
  const { grants, wrongs } = readGrants(history, leaseMs)
  return merge(wrongs, matchSends(ordered, grants, leaseMs), judgeRepeats(ordered, outages, leaseMs))
}

function readGrants(history, leaseMs) {
  const grants = []
  /** @type {Wrongs} */
  const wrongs = { doubles: [], losses: [] }
  let before = { fence: 0, used: 0, version: 0, leases: [] }
  for (const state of history) {
    if (state.used < before.used || state.fence < before.fence) wrongs.losses.push('the ledger took back what it knew')
    if (state.version !== undefined && state.version !== before.version + 1)
      wrongs.doubles.push(`version ${state.version} was written over version ${before.version}`)
    if (state.fence > before.fence) {
      grants.push({ at: state.at, fence: state.fence })
      const own = state.leases.find(({ fence }) => fence === state.fence)
      const now = (own?.deadline ?? Number.POSITIVE_INFINITY) - leaseMs
      const live = before.leases.filter(({ deadline }) => deadline > now)
      const held = live.reduce((sum, { amount }) => sum + amount, before.used + (own?.amount ?? 0))
      if (held > state.amount) {
        const why = before.used >= state.amount ? 'after the settle was committed' : 'while another lease was live'
        wrongs.doubles.push(`grant ${state.fence} was given ${why}`)
      }
    }
    before = state
  }
  return { grants, wrongs }
}

/** Every send needs a grant of its own that was live when its first byte went out. */
function matchSends(sends, grants, leaseMs) {
  /** @type {Wrongs} */
  const wrongs = { doubles: [], losses: [] }
  const used = new Set()
  for (const { server, first } of sends) {
    const live = grants.filter(({ at }) => at <= first + toleranceMs && first <= at + leaseMs + toleranceMs)
    const own = live.findLast((grant) => !used.has(grant))
    if (own) used.add(own)
    else if (live.length > 0) wrongs.doubles.push(`server ${server} sent bytes under a grant that another one had`)
    else wrongs.losses.push(`server ${server} sent bytes under a grant that the ledger does not know`)
  }
  return wrongs
}

/** After a whole delivery another is right only if the first could not be settled: its server or the database died. */
function judgeRepeats(sends, outages, leaseMs) {
  /** @type {Wrongs} */
  const wrongs = { doubles: [], losses: [] }
  for (const { server, last, diedAt } of sends.slice(0, -1)) {
    if (last === undefined) continue
    const died = diedAt !== undefined && diedAt - last < settlingMs
    const away = outages.some(({ from, to }) => from <= last + leaseMs && last <= to)
    if (!died && !away) wrongs.doubles.push(`server ${server} had delivered everything, and it was delivered again`)
  }
  return wrongs
}

function merge(...all) {
  return { doubles: all.flatMap(({ doubles }) => doubles), losses: all.flatMap(({ losses }) => losses) }
}
