/**
 * Was everybody paid what is owed, once? Judged from what was paid for (the payments that were made), what the ledger says
 * it shared out and sent, and what is on the chain, read without any code of the product.
 *
 * A *double* is money that went out beyond what is owed, or twice for the same. *Forgotten* is what is owed and did not come.
 */

/**
 * What is wrong, in words; nothing where all is well.
 *
 * @type {typeof import('./payouts-audit.mjs').judgePayouts}
 */
export function judgePayouts(evidence) {
  const wrongs = { doubles: [], forgotten: [] }
  judgeSharing(evidence, wrongs)
  judgeTransactions(evidence, wrongs)
  judgeLines(evidence, wrongs)
  judgeSums(evidence, wrongs)
  return wrongs
}

const nameOf = ({ role, payee }) => `${role} ${payee}`
const landedOf = ({ outgoing }) => outgoing.filter(({ state }) => state === 'landed')
const add = (sums, name, units) => sums.set(name, (sums.get(name) ?? 0n) + units)

/** Every payment was shared out once. */
function judgeSharing({ payments, accruals }, { doubles, forgotten }) {
  const times = new Map()
  for (const { tx } of accruals) times.set(tx, (times.get(tx) ?? 0) + 1)
  for (const { tx } of payments) {
    const count = times.get(tx) ?? 0
    if (count === 0) forgotten.push(`payment ${tx} was not shared out`)
    if (count > 1) doubles.push(`payment ${tx} was shared out ${count} times`)
  }
}

/** Every dispatch that landed is one transaction that succeeded, with its lines, and there is no other. */
function judgeTransactions(evidence, { doubles, forgotten }) {
  const byMemo = new Map()
  for (const transaction of evidence.transactions.filter(({ failed }) => !failed))
    byMemo.set(transaction.memo, [...(byMemo.get(transaction.memo) ?? []), transaction])
  for (const { id, lines } of landedOf(evidence)) {
    const own = byMemo.get(`paystile:${id}`) ?? []
    byMemo.delete(`paystile:${id}`)
    if (own.length === 0) forgotten.push(`dispatch ${id} did not land, and the ledger says so`)
    if (own.length > 1) doubles.push(`dispatch ${id} landed ${own.length} times`)
    const should = new Map()
    for (const line of lines) add(should, evidence.ownerOf(line), line.units)
    for (const { gains } of own) {
      for (const [owner, units] of should) {
        const got = gains.get(owner) ?? 0n
        if (got > units) doubles.push(`dispatch ${id} brought ${owner} ${got} instead of ${units}`)
        if (got < units) forgotten.push(`dispatch ${id} brought ${owner} ${got} instead of ${units}`)
      }
      for (const owner of gains.keys())
        if (!should.has(owner)) doubles.push(`dispatch ${id} brought ${owner} something`)
    }
  }
  for (const [memo, { length }] of byMemo)
    doubles.push(`${length} transactions with the memo ${memo} landed, and the ledger does not say so`)
}

/** Every share of an accrual is settled by one line of a dispatch that landed. */
function judgeLines(evidence, { doubles, forgotten }) {
  const linesOf = new Map()
  for (const { lines } of landedOf(evidence))
    for (const line of lines) linesOf.set(nameOf(line), [...(linesOf.get(nameOf(line)) ?? []), line])
  const grossOf = new Map()
  for (const { number, shares } of evidence.accruals) {
    for (const share of shares) {
      const own = (linesOf.get(nameOf(share)) ?? []).filter(({ from, through }) => number > from && number <= through)
      if (own.length === 0) forgotten.push(`accrual ${number} was not paid to ${nameOf(share)}`)
      if (own.length > 1) doubles.push(`accrual ${number} was paid to ${nameOf(share)} ${own.length} times`)
      for (const line of own) add(grossOf, line, share.units)
    }
  }
  for (const line of [...linesOf.values()].flat()) {
    const gross = grossOf.get(line) ?? 0n
    if (line.units + line.opening > gross) doubles.push(`a line of ${nameOf(line)} sends more than it settles`)
    // Rates do not move here, so that nothing but the opening of an account may be taken off.
    if (line.units + line.opening < gross) forgotten.push(`a line of ${nameOf(line)} sends less than it settles`)
  }
}

/** Everybody got what the payments come to, reckoned here by hand, less what was taken once for opening an account. */
function judgeSums(evidence, { doubles, forgotten }) {
  const [owed, openings, got] = [new Map(), new Map(), new Map()]
  for (const payment of evidence.payments)
    for (const [owner, units] of evidence.sharesOf(payment)) add(owed, owner, units)
  for (const line of landedOf(evidence).flatMap(({ lines }) => lines))
    if (line.opening > 0n)
      openings.set(evidence.ownerOf(line), [...(openings.get(evidence.ownerOf(line)) ?? []), line.opening])
  for (const { gains, failed } of evidence.transactions)
    if (!failed) for (const [owner, units] of gains) add(got, owner, units)
  for (const owner of new Set([...owed.keys(), ...got.keys()])) {
    const taken = openings.get(owner) ?? []
    const should = (owed.get(owner) ?? 0n) - taken.reduce((sum, units) => sum + units, 0n)
    const has = got.get(owner) ?? 0n
    if (taken.length > 1) forgotten.push(`${owner} paid for an account ${taken.length} times`)
    if (has > should) doubles.push(`${owner} received ${has} instead of ${should}`)
    if (has < should) forgotten.push(`${owner} received ${has} instead of ${should}`)
    const holds = evidence.balances.get(owner) ?? 0n
    if (holds !== has) forgotten.push(`${owner} holds ${holds}, and transactions brought ${has}`)
  }
}
