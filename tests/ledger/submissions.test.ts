/** Submissions: transactions that the service sends for others, and the limits on them. The same in every store. */
import { deepEqual } from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mapLimit } from '../../src/core/collections/map-limit.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import type {
  Submission,
  SubmissionLimits,
  SubmissionOpening,
  SubmissionOutcome,
  Submissions,
} from '../../src/core/ports/sponsor.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openDatabase } from '../../src/ledger/postgres/database.ts'
import { postgresServer } from '../harness/database.ts'
import { isLong, size } from '../harness/length.ts'
import { templateDatabase } from '../setup/postgres.ts'
import { useDesk } from './grants-fixture.ts'
import { createPayment, createTestClock, identity, startOfTests, takeOf } from './payments.ts'
import { places } from './places.ts'
import { createReferenceLedger } from './reference/ledger.ts'
import { stores } from './stores.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const fee = 10_001n
const many = Array.from({ length: 20 }, (_, index) => index)

const wide: SubmissionLimits = {
  perDay: 10n ** 15n,
  lostPerDay: 10n ** 15n,
  failuresPerPayer: 99,
  failuresPerClient: 99,
}

/** Of a transaction, a requestId, a payer and a client of its own. */
function createSubmission(changes: Partial<Submission> = {}): Submission {
  const tx = new Uint8Array(randomBytes(64))
  const name = Buffer.from(tx).toString('hex')
  return {
    tx,
    message: new Uint8Array(createHash('sha256').update(tx).digest()),
    request: `request-${name}`,
    payer: `payer-${name}`,
    client: `client-${name}`,
    sealed: 'sealed \u0000 "text"',
    slot: 400_000_000,
    lamports: fee,
    heldUntil: startOfTests + 30_000,
    at: startOfTests,
    ...changes,
  }
}

function countKinds(openings: readonly SubmissionOpening[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const opening of openings) {
    const detail = opening.kind === 'other' ? opening.of : opening.kind === 'exceeded' ? opening.limit : ''
    const name = `${opening.kind} ${detail}`.trim()
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

describe.each(stores)('submissions of the %s ledger', (name, open) => {
  const desk = useDesk(open)
  const submissions = () => desk.ledger.submissions
  const opened = async (changes: Partial<Submission> = {}): Promise<Submission> => {
    const submission = createSubmission({ at: desk.clock.now(), ...changes })
    expect(await submissions().open(submission, wide)).toEqual({ kind: 'opened' })
    return submission
  }
  const closed = async (outcome: SubmissionOutcome, changes: Partial<Submission> = {}): Promise<Submission> => {
    const submission = await opened(changes)
    await submissions().close(submission.tx, outcome, submission.lamports)
    return submission
  }
  const tryOpen = (limits: Partial<SubmissionLimits>, changes: Partial<Submission> = {}) =>
    submissions().open(createSubmission({ at: desk.clock.now(), ...changes }), { ...wide, ...limits })

  it('are found as they were recorded', async () => {
    const submission = await opened({ request: 'ü\ud800', lamports: 10n ** 12n })
    expect(await submissions().find(submission.tx)).toEqual(submission)
    expect(await submissions().find(createSubmission().tx)).toBeUndefined()
  })

  it('keep times of a fraction of a millisecond as whole ones', async () => {
    const { tx } = await opened({ at: startOfTests + 0.5, heldUntil: startOfTests + 0.5 })
    expect(await submissions().find(tx)).toMatchObject({ at: startOfTests, heldUntil: startOfTests + 1 })
    await submissions().hold(tx, startOfTests + 1.5)
    expect(await submissions().find(tx)).toMatchObject({ heldUntil: startOfTests + 2 })
    expect(await submissions().listOpen(startOfTests + 0.5, 9)).toHaveLength(1)
    expect(await submissions().sums(startOfTests - 0.5)).toEqual({ spent: 0n, lost: 0n, open: fee })
    expect(await submissions().forget(startOfTests + 0.5)).toBe(0)
  })

  it('refuse values that no transaction has', async () => {
    const wrong: readonly Partial<Submission>[] = [
      { tx: new Uint8Array(63) },
      { message: new Uint8Array(31) },
      { slot: 0.5 },
      { lamports: -1n },
      { lamports: 10n ** 12n + 1n },
      { at: Number.NaN },
      { heldUntil: Number.POSITIVE_INFINITY },
    ]
    for (const changes of wrong) await expect(tryOpen({}, changes)).rejects.toThrow(RangeError)
    const { tx } = await opened()
    await expect(submissions().close(tx, 'landed', -1n)).rejects.toThrow(RangeError)
    await expect(submissions().hold(tx, Number.NaN)).rejects.toThrow(RangeError)
    await expect(submissions().find(new Uint8Array(1))).rejects.toThrow(RangeError)
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(submissions().listOpen(time, 1)).rejects.toThrow(RangeError)
      await expect(submissions().sums(time)).rejects.toThrow(RangeError)
      await expect(submissions().forget(time)).rejects.toThrow(RangeError)
    }
  })

  it('are known by their transaction or by their message, with their outcome', async () => {
    const submission = await opened()
    const known = { kind: 'known', submission, outcome: undefined }
    const sameTx = createSubmission({ tx: submission.tx })
    const sameMessage = createSubmission({ message: submission.message })
    for (const again of [submission, sameTx, sameMessage]) expect(await submissions().open(again, wide)).toEqual(known)
    await submissions().close(submission.tx, 'landed', 7n)
    for (const again of [submission, sameTx, sameMessage])
      expect(await submissions().open(again, wide)).toEqual({
        kind: 'known',
        submission: { ...submission, lamports: 7n },
        outcome: 'landed',
      })
    expect(await submissions().find(sameMessage.tx)).toBeUndefined()
  })

  it('are known by the transaction before the message', async () => {
    const [one, other] = [await opened(), await opened()]
    for (const [tx, message] of [
      [one, other],
      [other, one],
    ] as const)
      expect(await submissions().open({ ...tx, message: message.message }, wide)).toMatchObject({
        kind: 'known',
        submission: { tx: tx.tx },
      })
  })

  it('are known whatever the limits are', async () => {
    const submission = await opened()
    const none = { perDay: 0n, lostPerDay: 0n, failuresPerPayer: 0, failuresPerClient: 0 }
    expect(await submissions().open(submission, none)).toMatchObject({ kind: 'known' })
  })

  it.each(['landed', 'failed', 'expired'] as const)(
    'allow one open transaction for a request and one of a payer, until it has %s',
    async (outcome) => {
      const { tx, request, payer } = await opened()
      expect(await tryOpen({}, { request })).toEqual({ kind: 'other', of: 'request' })
      expect(await tryOpen({}, { payer })).toEqual({ kind: 'other', of: 'payer' })
      expect([await submissions().hasOpen(payer), await submissions().hasOpen('another')]).toEqual([true, false])
      expect(await tryOpen({}, { request, payer })).toEqual({ kind: 'other', of: 'request' })
      // Whichever of them is exceeded.
      const none = { perDay: 0n, lostPerDay: 0n, failuresPerPayer: 0, failuresPerClient: 0 }
      expect(await tryOpen(none, { payer })).toEqual({ kind: 'other', of: 'payer' })
      desk.clock.advance(2 * dayMs)
      expect(await tryOpen({}, { payer })).toEqual({ kind: 'other', of: 'payer' })
      await submissions().close(tx, outcome, 0n)
      expect(await submissions().hasOpen(payer)).toBe(false)
      expect(await tryOpen({}, { request, payer })).toEqual({ kind: 'opened' })
    },
  )

  it.each([
    ['payer', 'failuresPerPayer'],
    ['client', 'failuresPerClient'],
  ] as const)('count the failures of a %s for an hour, whoever pays the fee', async (who, limit) => {
    const own = { [who]: 'one' }
    await closed('failed', { ...own, lamports: 0n })
    desk.clock.advance(1)
    await closed('failed', own)
    await closed('landed', own)
    await closed('expired', own)
    await closed('failed')
    expect(await tryOpen({ [limit]: 2 }, own)).toEqual({ kind: 'exceeded', limit: who })
    expect(await tryOpen({ [limit]: 2 }, { ...own, lamports: 0n })).toEqual({ kind: 'exceeded', limit: who })
    expect(await tryOpen({ [limit]: 2 })).toEqual({ kind: 'opened' })
    desk.clock.advance(hourMs - 1)
    expect(await tryOpen({ [limit]: 2 }, own)).toEqual({ kind: 'exceeded', limit: who })
    desk.clock.advance(1)
    expect(await tryOpen({ [limit]: 2 }, own)).toEqual({ kind: 'opened' })
  })

  it('lose no more than the limit within a day', async () => {
    await closed('failed', { lamports: 60n })
    await closed('landed', { lamports: 500n })
    await closed('expired', { lamports: 500n })
    const ten = { lamports: 10n }
    expect(await tryOpen({ lostPerDay: 69n }, ten)).toEqual({ kind: 'exceeded', limit: 'lost' })
    expect(await tryOpen({ lostPerDay: 69n }, { lamports: 0n })).toEqual({ kind: 'opened' })
    expect(await tryOpen({ lostPerDay: 70n }, ten)).toEqual({ kind: 'opened' })
    // An open one may still fail.
    expect(await tryOpen({ lostPerDay: 79n }, ten)).toEqual({ kind: 'exceeded', limit: 'lost' })
    desk.clock.advance(dayMs)
    expect(await tryOpen({ lostPerDay: 79n }, ten)).toEqual({ kind: 'exceeded', limit: 'lost' })
    desk.clock.advance(1)
    expect(await tryOpen({ lostPerDay: 79n }, ten)).toEqual({ kind: 'opened' })
  })

  it('spend no more than the limit within a day, those that may still land included', async () => {
    await closed('landed', { lamports: 60n })
    await closed('failed', { lamports: 500n })
    await closed('expired', { lamports: 500n })
    const open = await opened({ lamports: 30n })
    expect(await tryOpen({ perDay: 99n }, { lamports: 10n })).toEqual({ kind: 'exceeded', limit: 'day' })
    expect(await tryOpen({ perDay: 99n }, { lamports: 0n })).toEqual({ kind: 'opened' })
    desk.clock.advance(dayMs)
    expect(await tryOpen({ perDay: 99n }, { lamports: 10n })).toEqual({ kind: 'exceeded', limit: 'day' })
    desk.clock.advance(1)
    // An open one may still land, whenever it was recorded.
    expect(await tryOpen({ perDay: 39n }, { lamports: 10n })).toEqual({ kind: 'exceeded', limit: 'day' })
    expect(await tryOpen({ perDay: 40n }, { lamports: 10n })).toEqual({ kind: 'opened' })
    await submissions().close(open.tx, 'expired', 0n)
    expect(await tryOpen({ perDay: 20n }, { lamports: 10n })).toEqual({ kind: 'opened' })
  })

  it('name the limits in the order payer, client, lost, day', async () => {
    const limits = { perDay: 0n, lostPerDay: 0n, failuresPerPayer: 0, failuresPerClient: 0 }
    expect(await tryOpen(limits)).toEqual({ kind: 'exceeded', limit: 'payer' })
    expect(await tryOpen({ ...limits, failuresPerPayer: 1 })).toEqual({ kind: 'exceeded', limit: 'client' })
    const failing = { failuresPerPayer: 1, failuresPerClient: 1 }
    expect(await tryOpen({ ...limits, ...failing })).toEqual({ kind: 'exceeded', limit: 'lost' })
    expect(await tryOpen({ ...limits, ...failing, lostPerDay: 10n ** 12n })).toEqual({ kind: 'exceeded', limit: 'day' })
    // Clients without a known address share no limit.
    const unknown = await tryOpen({ ...limits, failuresPerPayer: 1 }, { client: '' })
    expect(unknown).toEqual({ kind: 'exceeded', limit: 'lost' })
  })

  it('that were refused leave nothing behind', async () => {
    const { request } = await opened()
    const refused = [createSubmission({ request }), createSubmission()]
    await submissions().open(refused[0] ?? expect.fail(), wide)
    await submissions().open(refused[1] ?? expect.fail(), { ...wide, perDay: 0n })
    for (const { tx } of refused) expect(await submissions().find(tx)).toBeUndefined()
    expect(await submissions().sums(0)).toEqual({ spent: 0n, lost: 0n, open: fee })
  })

  it('are closed once, with the fee that was paid', async () => {
    const { tx } = await opened()
    await submissions().close(tx, 'failed', 5_000n)
    for (const outcome of ['landed', 'failed', 'expired'] as const) await submissions().close(tx, outcome, 1n)
    expect(await submissions().sums(startOfTests)).toEqual({ spent: 0n, lost: 5_000n, open: 0n })
    expect(await submissions().listOpen(startOfTests + 1, 9)).toEqual([])
    await submissions().close(createSubmission().tx, 'landed', 1n)
    expect(await submissions().sums(0)).toEqual({ spent: 0n, lost: 5_000n, open: 0n })
  })

  it('are held until a time, which can be set anew, also after they were closed', async () => {
    const [one, other] = [await opened(), await opened()]
    const heldUntil = async ({ tx }: Submission) => (await submissions().find(tx))?.heldUntil
    for (const until of [startOfTests + 60_000, 0, startOfTests + 1]) {
      await submissions().hold(one.tx, until)
      expect([await heldUntil(one), await heldUntil(other)]).toEqual([until, other.heldUntil])
    }
    await submissions().close(one.tx, 'landed', fee)
    await submissions().hold(one.tx, 0)
    expect(await heldUntil(one)).toBe(0)
    await submissions().hold(createSubmission().tx, 1)
    expect(await submissions().listOpen(startOfTests + 1, 9)).toEqual([other])
  })

  it('list those without an outcome before a time, the oldest first', async () => {
    const newest = await opened({ at: startOfTests + 3 })
    const oldest = await opened({ at: startOfTests + 1 })
    await closed('landed', { at: startOfTests + 2 })
    const middle = await opened({ at: startOfTests + 2 })
    expect(await submissions().listOpen(startOfTests + 4, 9)).toEqual([oldest, middle, newest])
    expect(await submissions().listOpen(startOfTests + 3, 9)).toEqual([oldest, middle])
    expect(await submissions().listOpen(startOfTests + 4, 1)).toEqual([oldest])
    expect(await submissions().listOpen(startOfTests + 4, 0)).toEqual([])
  })

  it('add up what was spent and lost since a time, and what is reserved at any time', async () => {
    expect(await submissions().sums(0)).toEqual({ spent: 0n, lost: 0n, open: 0n })
    for (const [index, at] of [startOfTests, startOfTests + 5].entries()) {
      await closed('landed', { at, lamports: 1n + BigInt(index) })
      await closed('failed', { at, lamports: 10n + BigInt(index) })
      await closed('expired', { at, lamports: 100n })
      await opened({ at, lamports: 10n ** 12n })
    }
    const open = 2n * 10n ** 12n
    expect(await submissions().sums(startOfTests)).toEqual({ spent: 3n, lost: 21n, open })
    expect(await submissions().sums(startOfTests + 1)).toEqual({ spent: 2n, lost: 11n, open })
    expect(await submissions().sums(startOfTests + 6)).toEqual({ spent: 0n, lost: 0n, open })
  })

  it('forget those with an outcome before a time', async () => {
    const outcomes = ['landed', 'failed', 'expired'] as const
    const old = await Promise.all(outcomes.map((outcome) => closed(outcome)))
    const open = await opened()
    const recent = await closed('landed', { at: startOfTests + 1 })
    expect(await submissions().forget(startOfTests)).toBe(0)
    expect(await submissions().forget(startOfTests + 1)).toBe(3)
    expect(await submissions().forget(startOfTests + 1)).toBe(0)
    for (const { tx } of old) expect(await submissions().find(tx)).toBeUndefined()
    for (const { tx } of [open, recent]) expect(await submissions().find(tx)).toBeDefined()
  })

  // The databases share the loop that forgets. The reference forgets any number.
  const mostAtOnce = isLong || name === 'sqlite' ? 1_001 : 3
  it('forget any number at once', async () => {
    const all = Array.from({ length: mostAtOnce }, () => createSubmission({ lamports: 0n }))
    // As many at once as a ledger has connections: on a busy machine, none of them waits for long.
    await mapLimit(all, 8, (submission) => submissions().open(submission, wide))
    await mapLimit(all, 8, ({ tx }) => submissions().close(tx, 'landed', 0n))
    expect(await submissions().forget(startOfTests + 1)).toBe(mostAtOnce)
  })

  it('of one transaction at once open one, and the others know it', async () => {
    const submission = createSubmission()
    const openings = await Promise.all(many.map(() => submissions().open(submission, wide)))
    expect(countKinds(openings)).toEqual({ opened: 1, known: 19 })
  })

  it('end with the ledger', async () => {
    const { tx } = await opened()
    await desk.ledger.close()
    const calls = [
      () => tryOpen({}),
      () => submissions().find(tx),
      () => submissions().hold(tx, 0),
      () => submissions().hasOpen('payer'),
      () => submissions().close(tx, 'landed', 0n),
      () => submissions().listOpen(0, 1),
      () => submissions().sums(0),
      () => submissions().forget(0),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow(LedgerUnavailable)
  })
})

describe.each(places)('servers on one %s ledger that send for others', (_name, make) => {
  const openMany = async () => {
    const place = await make()
    const ledgers = await Promise.all([1, 2, 3, 4].map(() => place.open()))
    const serverOf = (index: number): Submissions => ledgers[index % 4]?.submissions ?? expect.fail()
    const openAll = (all: readonly Submission[], limits: SubmissionLimits) =>
      Promise.all(all.map((submission, index) => serverOf(index).open(submission, limits)))
    return { clock: place.clock, serverOf, openAll }
  }

  it('open one of 20 that are the same transaction, or the same message', async () => {
    const { openAll } = await openMany()
    const submission = createSubmission()
    const same = await openAll(
      many.map(() => submission),
      wide,
    )
    expect(countKinds(same)).toEqual({ opened: 1, known: 19 })
    const { message } = createSubmission()
    const signatures = await openAll(
      many.map(() => createSubmission({ message })),
      wide,
    )
    expect(countKinds(signatures)).toEqual({ opened: 1, known: 19 })
  })

  it('open one of 20 transactions for one request, and one of 20 of one payer', async () => {
    const { openAll } = await openMany()
    const ofRequest = await openAll(
      many.map(() => createSubmission({ request: 'one' })),
      wide,
    )
    expect(countKinds(ofRequest)).toEqual({ opened: 1, 'other request': 19 })
    const ofPayer = await openAll(
      many.map(() => createSubmission({ payer: 'one' })),
      wide,
    )
    expect(countKinds(ofPayer)).toEqual({ opened: 1, 'other payer': 19 })
  })

  it('keep the budget of a day to the lamport', async () => {
    const { openAll, serverOf } = await openMany()
    const exact = await openAll(
      many.map(() => createSubmission()),
      { ...wide, perDay: 7n * fee },
    )
    expect(countKinds(exact)).toEqual({ opened: 7, 'exceeded day': 13 })
    const less = await openAll(
      many.map(() => createSubmission()),
      { ...wide, perDay: 10n * fee - 1n },
    )
    expect(countKinds(less)).toEqual({ opened: 2, 'exceeded day': 18 })
    expect(await serverOf(0).sums(0)).toEqual({ spent: 0n, lost: 0n, open: 9n * fee })
  })

  it('keep the budget while others close', async () => {
    const { openAll, serverOf } = await openMany()
    const limits = { ...wide, perDay: 10n * fee }
    let landed = 0
    for (let round = 0; round < 10; round += 1) {
      const open = await serverOf(round).listOpen(startOfTests + 1, 99)
      const closing = open.map(({ tx }, index) =>
        serverOf(index).close(tx, index % 2 === 0 ? 'landed' : 'expired', index % 2 === 0 ? fee : 0n),
      )
      landed += Math.ceil(open.length / 2)
      const openings = openAll(
        many.map(() => createSubmission()),
        limits,
      )
      await Promise.all([...closing, openings])
      const sums = await serverOf(round).sums(0)
      expect(sums.spent + sums.open).toBeLessThanOrEqual(limits.perDay)
      expect(sums.spent).toBe(BigInt(landed) * fee)
    }
    expect(landed).toBeGreaterThan(7)
  })

  it('record one outcome of those that several report at once', async () => {
    const { openAll, serverOf } = await openMany()
    const all = many.map(() => createSubmission())
    await openAll(all, wide)
    const outcomes = ['landed', 'failed', 'expired'] as const
    await Promise.all(
      all.flatMap(({ tx }, index) => outcomes.map((outcome, turn) => serverOf(index + turn).close(tx, outcome, 1n))),
    )
    const found = await openAll(all, wide)
    const counted = { landed: 0n, failed: 0n, expired: 0n }
    for (const opening of found) {
      if (opening.kind !== 'known' || !opening.outcome) return expect.fail(opening.kind)
      counted[opening.outcome] += 1n
    }
    expect(await serverOf(0).sums(0)).toEqual({ spent: counted.landed, lost: counted.failed, open: 0n })
  })
})

it('PostgreSQL: submissions that wait for another server keep no payment waiting', async () => {
  const database = await postgresServer().copy(templateDatabase)
  const ledger = await openLedger(database.url, { clock: createTestClock(), identity })
  const other = openDatabase(database.url, 5_000)
  onTestFinished(async () => {
    await Promise.all([ledger.close(), other.close()])
    await database.drop()
  })
  const openings = await other.transact(async (query) => {
    await query('SELECT pg_advisory_xact_lock($1)', [7_402_402_404])
    let isAnyOpened = false
    const waiting = many.map(async () => {
      const opening = await ledger.submissions.open(createSubmission(), wide)
      isAnyOpened = true
      return opening
    })
    expect((await ledger.take(takeOf(createPayment()))).kind).toBe('granted')
    expect(isAnyOpened).toBe(false)
    return { waiting }
  })
  expect(countKinds(await Promise.all(openings.waiting))).toEqual({ opened: 20 })
})

describe.each(places)('a %s ledger that is opened again', (_name, make) => {
  it('has the submissions', async () => {
    const place = await make()
    const ledger = await place.open()
    const submission = createSubmission()
    expect(await ledger.submissions.open(submission, wide)).toEqual({ kind: 'opened' })
    await ledger.submissions.close(submission.tx, 'landed', 7n)
    await ledger.close()
    const again = await place.open()
    expect(await again.submissions.find(submission.tx)).toEqual({ ...submission, lamports: 7n })
    expect(await again.submissions.sums(0)).toEqual({ spent: 7n, lost: 0n, open: 0n })
  })
})

/** `which`, `tx` and `message` point to a transaction of the story, the newest being 0. */
type Step =
  | {
      readonly act: 'open'
      readonly tx: number | undefined
      readonly message: number | undefined
      readonly request: number
      readonly payer: number
      readonly client: number
      readonly lamports: bigint
    }
  | { readonly act: 'close'; readonly which: number; readonly outcome: SubmissionOutcome; readonly lamports: bigint }
  | { readonly act: 'hold'; readonly which: number; readonly ms: number }
  | { readonly act: 'forget' | 'list' | 'sums' | 'wait'; readonly ms: number }

const which = fc.constantFrom(0, 0, 0, 1, 1, 2, 5)
const perhaps = fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, 0, 1)
const lamports = fc.constantFrom(0n, 1n, 2n, 5n, 9n)
const ms = fc.constantFrom(0, 0, 1, 1, 1_000, hourMs / 2, hourMs, dayMs / 2, dayMs)
const story: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        ...{ act: fc.constant('open' as const), tx: perhaps, message: perhaps, lamports },
        ...{ request: fc.nat({ max: 9 }), payer: fc.nat({ max: 4 }), client: fc.nat({ max: 1 }) },
      }),
    },
    {
      weight: 9,
      arbitrary: fc.record({
        ...{ act: fc.constant('close' as const), which, lamports },
        outcome: fc.constantFrom<SubmissionOutcome[]>('landed', 'failed', 'failed', 'expired'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('hold' as const), which, ms }) },
    { weight: 4, arbitrary: fc.record({ act: fc.constantFrom('forget' as const, 'list', 'sums', 'wait'), ms }) },
  ),
  { minLength: 30, maxLength: 60, size: 'max' },
)
const narrow: SubmissionLimits = { perDay: 20n, lostPerDay: 14n, failuresPerPayer: 2, failuresPerClient: 3 }

/** `told` are the transactions of the story, the newest first. */
function createFromStep(step: Extract<Step, { act: 'open' }>, told: readonly Submission[], now: number): Submission {
  const fresh = createSubmission()
  return {
    ...fresh,
    tx: told[step.tx ?? -1]?.tx ?? fresh.tx,
    message: told[step.message ?? -1]?.message ?? fresh.message,
    request: `request-${step.request}`,
    payer: `payer-${step.payer}`,
    client: `client-${step.client}`,
    lamports: step.lamports,
    at: now,
  }
}

async function perform(
  step: Exclude<Step, { act: 'open' }>,
  submissions: Submissions,
  told: readonly Submission[],
  now: number,
): Promise<unknown> {
  const { tx } = told['which' in step ? step.which : 0] ?? createSubmission()
  switch (step.act) {
    case 'close':
      return submissions.close(tx, step.outcome, step.lamports)
    case 'hold':
      return submissions.hold(tx, now + step.ms)
    case 'forget':
      return submissions.forget(now - step.ms)
    case 'list':
      return submissions.listOpen(now - step.ms, 3)
    case 'sums':
      return submissions.sums(now - step.ms)
    case 'wait':
      return submissions.find(tx)
  }
}

/** Leaves nothing of the story before. */
async function clear(submissions: Submissions): Promise<void> {
  const ever = Number.MAX_SAFE_INTEGER
  for (const { tx } of await submissions.listOpen(ever, 99)) await submissions.close(tx, 'expired', 0n)
  await submissions.forget(ever)
}

const databases = stores.filter(([name]) => name !== 'reference')

describe.each(databases)('a story of submissions in the %s ledger', (_name, open) => {
  it('goes as in the reference', async () => {
    const clock = createTestClock()
    const shelf = await open(clock)
    onTestFinished(() => shelf.clear())
    const { submissions } = shelf.ledger
    const openings: SubmissionOpening[] = []
    await fc.assert(
      fc.asyncProperty(story, async (steps) => {
        await clear(submissions)
        const reference = createReferenceLedger({ clock }).submissions
        const told: Submission[] = []
        for (const step of steps) {
          if (step.act === 'wait') clock.advance(step.ms)
          const now = clock.now()
          if (step.act === 'open') {
            const submission = createFromStep(step, told, now)
            const opening = await submissions.open(submission, narrow)
            deepEqual(opening, await reference.open(submission, narrow))
            if (opening.kind === 'opened') told.unshift(submission)
            openings.push(opening)
          } else deepEqual(await perform(step, submissions, told, now), await perform(step, reference, told, now))
        }
        deepEqual(await submissions.sums(0), await reference.sums(0))
      }),
      { numRuns: size(30, 120) },
    )
    const kinds = ['known', 'opened', 'other request', 'other payer']
    const limits = ['day', 'lost', 'payer', 'client'].map((limit) => `exceeded ${limit}`)
    expect(Object.keys(countKinds(openings)).toSorted()).toEqual([...kinds, ...limits].toSorted())
  })
})
