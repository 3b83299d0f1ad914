/** Attacks on payments in other protocols, and crashes in the middle of them: one payment, one delivery, one fee. */
import { generateKeyPairSigner } from '@solana/kit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { decodeSignature } from '../../src/core/encoding/base58.ts'
import type { RefusalCode } from '../../src/core/payment/refusals.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { postgresServer } from '../harness/database.ts'
import { bend } from '../harness/fake-node.ts'
import { cells, isLong, itInFull, size } from '../harness/length.ts'
import { anyAddress, codeOf, eventually } from '../harness/shop.ts'
import type { AttackFixture, Business, HeldCredential, Pay, Replica } from './attack-fixture.ts'
import {
  blindPreflight,
  createAttackFixture,
  createMortalLedger,
  decodeCredential,
  encodeCredential,
  feeLamports,
  hasChallenge,
  holdCredential,
  isOfferingX402,
  isPaid,
  present,
  priceUnits,
  recordFailures,
} from './attack-fixture.ts'
import type { Payer } from './clients.ts'
import { payWithMppx, payWithX402, payWithX402V1 } from './clients.ts'

let fixture: AttackFixture
beforeAll(async () => {
  fixture = await createAttackFixture()
})
afterAll(() => fixture.close())

const clients = [
  ['x402', payWithX402],
  ['x402 v1', payWithX402V1],
  ['MPP', payWithMppx],
] as const

function countStatuses(responses: readonly Response[]): Readonly<Record<number, number>> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** The clients whose credentials name the request. */
const sponsoredClients = clients.filter(([, pay]) => pay !== payWithX402V1)

type Place = () => Promise<string | undefined>
const inFile: Place = async () => undefined
const inDatabase: Place = () => postgresServer().place()

describe('the same credential 50 times at once, at three replicas', () => {
  // The blockhash must outlive the 50 checks of a busy machine.
  let fixture: AttackFixture
  beforeAll(async () => {
    fixture = await createAttackFixture(200)
  })
  afterAll(() => fixture.close())
  const rows = [
    ['x402, SQLite', payWithX402, inFile],
    ['x402 v1, SQLite', payWithX402V1, inFile],
    ['x402, PostgreSQL', payWithX402, inDatabase],
    ['MPP, SQLite', payWithMppx, inFile],
  ] as const
  it.each(cells(rows, 4, 2))('is served once, and the sponsor pays once: %s', async (_name, pay, place) => {
    const business = fixture.business(await place())
    const replicas = [await business.open(), await business.open(), await business.open()]
    const [payer, [first]] = [await fixture.payer(), replicas]
    const credential = await holdCredential(`${first?.url}/data`, payer, pay)
    const urls = Array.from({ length: 50 }, (_, index) => `${replicas[index % 3]?.url}/data`)
    const responses = await Promise.all(urls.map((url) => present(url, credential)))
    expect(countStatuses(responses)).toEqual({ 200: 1, 409: 49 })
    expect(business.served).toEqual(['/data'])
    expect(await business.paid()).toBe(feeLamports)
    expect(await fixture.usdc(payer)).toBe(1_000_000n - priceUnits)
  })
})

/** The transactions of a wallet that a reader of the chain sees, the latest first. */
async function listTransactions(wallet: { readonly address: string }): Promise<readonly string[]> {
  const found = await fixture.world.rpc<{ signature: string }[]>('getSignaturesForAddress', [
    wallet.address,
    { commitment: 'confirmed' },
  ])
  return found.map(({ signature }) => signature)
}

type ProofKeys = Pick<HeldCredential, 'requestId' | 'payer'> & Partial<Pick<HeldCredential, 'claim'>>

function presentProof(url: string, tx: string, { requestId, payer, claim }: ProofKeys): Promise<Response> {
  const proof = `tx=${tx}; requestId=${requestId}; payer=${payer}${claim === undefined ? '' : `; claim=${claim}`}`
  return fetch(url, { headers: { 'Payment-Proof': proof, 'X-Forwarded-For': anyAddress() } })
}

/** The proof that a reader of the chain can write. */
function stealProof(url: string, tx: string, { requestId, payer }: HeldCredential): Promise<Response> {
  return presentProof(url, tx, { requestId, payer })
}

/** The credential as a reader of the chain can build it: with the complete transaction, and without the claim. */
async function rebuildCredential(tx: string, credential: HeldCredential): Promise<HeldCredential> {
  const { transaction } = await fixture.world.rpc<{ transaction: [string, string] }>('getTransaction', [
    tx,
    { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
  ])
  const { payload, accepted, challenge, ...rest } = decodeCredential(credential.value)
  const { claim, ...extra } = accepted?.extra ?? {}
  const value = encodeCredential({
    ...rest,
    ...(accepted && { accepted: { ...accepted, extra } }),
    ...(challenge && { challenge: { ...challenge, id: credential.requestId } }),
    payload: { ...payload, transaction: transaction[0] },
  })
  return { ...credential, value }
}

/** All that a reader of the chain can present. */
async function steal(url: string, tx: string, credential: HeldCredential): Promise<readonly Response[]> {
  const rebuilt = await rebuildCredential(tx, credential)
  return Promise.all([stealProof(url, tx, credential), present(url, rebuilt)])
}

async function expectNoUse(responses: readonly Response[]): Promise<void> {
  for (const response of responses) {
    expect([402, 403, 409]).toContain(response.status)
    expect(await hasChallenge(response)).toBe(false)
  }
}

describe('T79: a thief who reads the chain', () => {
  const thefts = [
    ['x402', payWithX402, {}, size(2, 200)],
    ['x402 v1', payWithX402V1, {}, 30],
    ['MPP', payWithMppx, {}, size(1, 30)],
    ['MPP, where the payer pays the fee', payWithMppx, { floor: '2' }, 30],
  ] as const
  it.each(cells(thefts, 4))(
    'gets nothing at another replica, with a proof or a credential: %s',
    async (_name, pay, sponsor, rounds) => {
      const business = fixture.business()
      const [own, other] = [await business.open({ sponsor }), await business.open({ sponsor })]
      // The payer's replica learns of the payment after everybody else.
      own.node.withoutSockets()
      own.node.behave(async ({ method }, ask) => {
        if (method === 'getTransaction') await new Promise((resolve) => setTimeout(resolve, 40))
        return ask()
      })
      let attempts = 0
      for (let round = 0; round < rounds; round += 1) {
        const payer = await fixture.payer()
        const known = await listTransactions(payer.signer)
        const credential = await holdCredential(`${own.url}/data`, payer, pay)
        let isOver = false
        const watch = async (): Promise<readonly Response[]> => {
          const responses: Response[] = []
          while (!isOver) {
            const tx = (await listTransactions(payer.signer)).find((one) => !known.includes(one))
            if (tx === undefined) continue
            responses.push(...(await steal(`${other.url}/data`, tx, credential)))
          }
          return responses
        }
        const theft = watch()
        const response = await present(`${own.url}/data`, credential)
        isOver = true
        const responses = await theft
        attempts += responses.length
        expect(response.status).toBe(200)
        await expectNoUse(responses)
      }
      expect(attempts).toBeGreaterThan(rounds)
      expect(business.served).toHaveLength(rounds)
    },
  )
})

describe('a payment whose delivery failed', () => {
  it.each(cells(sponsoredClients, 2))(
    'serves nobody who read the chain, and then its client: %s',
    async (_name, pay) => {
      const business = fixture.business()
      const { url } = await business.open()
      const credential = await holdCredential(`${url}/data`, await fixture.payer(), pay)
      business.failNext()
      expect(await codeOf(await present(`${url}/data`, credential))).toBe('502 handler_failed')
      const [tx = ''] = await listTransactions(business.sponsor)
      const responses = await steal(`${url}/data`, tx, credential)
      expect(await Promise.all(responses.map(codeOf))).toEqual(['403 claim_required', '402 claim_required'])
      expect((await present(`${url}/data`, credential)).status).toBe(200)
      expect(business.served).toEqual(['/data'])
    },
  )
})

/** The hold of a dead server ends. Only a few slots pass, so the transaction can still land. */
function endHold(): void {
  fixture.world.localnet.advance(7, 1)
}

/** Sends it until another server's hold has ended. */
function presentAfterHold(send: () => Promise<Response>): Promise<Response> {
  return eventually(send, ({ status }) => status !== 409)
}

interface Crash {
  readonly business: Business
  readonly credential: HeldCredential
  readonly payer: Payer
  /** A server that was not there before. */
  readonly next: Replica
}

/** A server dies around a call of its ledger, while it settles a payment. */
async function crash(
  when: 'before' | 'after',
  call: string,
  { business = fixture.business(), pay = payWithX402 }: { business?: Business; pay?: Pay } = {},
): Promise<Crash> {
  let dying: Replica | undefined
  const die = (name: string): void => {
    if (name !== call || !dying) return
    ledger.die()
    dying.node.behave(() => 'reset')
  }
  const ledger = createMortalLedger(
    await business.connect(),
    (name) => when === 'before' && die(name),
    (name) => when === 'after' && die(name),
  )
  const replica = await business.open({ ledger, watch: false })
  const payer = await fixture.payer()
  const credential = await holdCredential(`${replica.url}/data`, payer, pay)
  dying = replica
  expect((await present(`${replica.url}/data`, credential)).status).toBe(503)
  expect(business.served).toEqual([])
  return { business, credential, payer, next: await business.open({ ledger: await business.connect() }) }
}

async function expectSettledOnce({ business, credential, payer, next }: Crash): Promise<void> {
  const again = await present(`${next.url}/data`, credential)
  expect(await codeOf(again)).toBe('409 payment_replay')
  expect(business.served).toEqual(['/data'])
  expect(await business.paid()).toBe(feeLamports)
  expect(await fixture.usdc(payer)).toBe(1_000_000n - priceUnits)
}

describe('a server that dies while it settles a payment', () => {
  const points = [
    ['after the record and before the transaction is sent', 'after', 'submissions.open'],
    ['after the transaction is sent and before the payment is registered', 'before', 'take'],
  ] as const
  const turns = clients.slice(0, 2).flatMap(([client, pay]) => points.map((point) => [client, ...point, pay] as const))

  it.each(cells(turns, 3))('%s, %s: another serves the same credential once, after the hold', async (...turn) => {
    const [, , when, call, pay] = turn
    const crashed = await crash(when, call, { pay })
    const send = () => present(`${crashed.next.url}/data`, crashed.credential)
    expect(await codeOf(await send())).toBe('409 payment_in_progress')
    endHold()
    expect((await presentAfterHold(send)).status).toBe(200)
    await expectSettledOnce(crashed)
  })

  it('and sent the transaction: another serves a Payment-Proof once, after the hold', async () => {
    const crashed = await crash('before', 'take')
    const [tx = ''] = await eventually(
      () => listTransactions(crashed.business.sponsor),
      ([latest]) => latest !== undefined,
    )
    const send = () => presentProof(`${crashed.next.url}/data`, tx, crashed.credential)
    expect(await codeOf(await send())).toBe('409 payment_in_progress')
    endHold()
    expect((await presentAfterHold(send)).status).toBe(200)
    await expectSettledOnce(crashed)
  })

  it('and sent the transaction: another serves the same credential long after its blockhash has expired', async () => {
    const crashed = await crash('before', 'take')
    await eventually(
      () => listTransactions(crashed.business.sponsor),
      ([latest]) => latest !== undefined,
    )
    fixture.world.localnet.advanceSlots(500)
    expect((await presentAfterHold(() => present(`${crashed.next.url}/data`, crashed.credential))).status).toBe(200)
    await expectSettledOnce(crashed)
  })

  const watchers = [
    ['with', true, payWithX402],
    ['without', false, payWithX402],
    ['with x402 v1 and', true, payWithX402V1],
  ] as const
  it.each(cells(watchers, 3, 1))(
    'and sent the transaction: a watcher %s a sponsor records it under its endpoint',
    async (_name, isSponsored, pay) => {
      const business = fixture.business()
      const ledger = await business.connect()
      await business.open({ ledger, watch: true }, isSponsored)
      await crash('before', 'take', { business, pay })
      const [sighting] = await eventually(
        () => ledger.journal.unclaimed(10),
        (found) => found.length > 0,
      )
      // The memo is only the end of the requestId, or there is none. The record names all of it.
      expect(sighting).toMatchObject({ endpoint: '/data', received: priceUnits, request: expect.stringMatching(/./) })
      const payment = await ledger.books.findPayment(sighting?.tx ?? new Uint8Array())
      expect(payment).toMatchObject({ status: 'pending', state: 'unclaimed', endpoint: '/data', units: priceUnits })
    },
  )

  it('and never sent the transaction: once it can no longer land, the payer gets a challenge and pays again', async () => {
    const { business, credential, payer, next } = await crash('after', 'submissions.open')
    fixture.world.localnet.advanceSlots(500)
    const response = await presentAfterHold(() => present(`${next.url}/data`, credential))
    expect([response.status, await hasChallenge(response)]).toEqual([402, true])
    expect(await fixture.usdc(payer)).toBe(1_000_000n)
    await eventually(
      () => isBlockhashValid(next),
      (isValid) => isValid,
    )
    expect((await payWithX402(`${next.url}/data`, payer)).response.status).toBe(200)
    expect(business.served).toEqual(['/data'])
    expect(await business.paid()).toBe(feeLamports)
  })
})

/** Whether the chain still knows the blockhash that the challenges of a server name. */
async function isBlockhashValid({ url }: Replica): Promise<boolean> {
  const header = (await fetch(`${url}/data`)).headers.get('payment-required') ?? ''
  const [, blockhash] = /"recentBlockhash":"(\w+)"/.exec(Buffer.from(header, 'base64').toString()) ?? []
  const answer = await fixture.world.rpc<{ value: boolean }>('isBlockhashValid', [
    blockhash,
    { commitment: 'confirmed' },
  ])
  return answer.value
}

describe('the sponsor', () => {
  it.each(cells(sponsoredClients, 2, 1))('pays nothing for a payer without funds: %s', async (_name, pay) => {
    const business = fixture.business()
    const { url } = await business.open()
    const { response, credentials } = await pay(`${url}/data`, await fixture.payer(0n))
    expect([response.status, await hasChallenge(response), credentials.length]).toEqual([402, false, 1])
    expect(await business.paid()).toBe(0n)
    expect(business.served).toEqual([])
  })

  it('is free for the next payment of the same payer as soon as one is served', async () => {
    const business = fixture.business()
    const { url } = await business.open()
    const payer = await fixture.payer()
    for (let purchase = 0; purchase < 2; purchase += 1) {
      const { response } = await payWithX402(`${url}/data`, payer)
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
    }
    expect(await business.paid()).toBe(2n * feeLamports)
  })

  it.each([
    ['is not used for a price below half of its margin', 400, 402, 0n],
    ['pays for a price that has fallen a little below its margin since the challenge', 60, 200, feeLamports],
  ])('%s', async (_name, minMargin, status, paid) => {
    const business = fixture.business()
    // 0.01 USDC at 20 dollars is 500,000 lamports, 50 times the usual fee.
    const rates = { SOL: '20' }
    const offering = await business.open({ rates, sponsor: { minMargin: 1 } })
    const strict = await business.open({ rates, sponsor: { minMargin } })
    const credential = await holdCredential(`${offering.url}/data`, await fixture.payer())
    expect((await fetch(`${strict.url}/data`)).headers.get('payment-required')).toBeNull()
    expect((await present(`${strict.url}/data`, credential)).status).toBe(status)
    expect(await business.paid()).toBe(paid)
  })

  it('is not kept busy by a client with many wallets without funds', async () => {
    const business = fixture.business()
    const { url } = await business.open()
    const { rpcUrl } = await fixture.payer()
    const wallets = await Promise.all(Array.from({ length: size(40, 500) }, () => generateKeyPairSigner()))
    const statuses = new Set<number>()
    for (const signer of wallets) {
      const credential = await holdCredential(`${url}/data`, { rpcUrl, signer })
      statuses.add((await present(`${url}/data`, credential, '192.0.2.1')).status)
    }
    expect(statuses).toEqual(new Set([402, 429]))
    expect((await payWithX402(`${url}/data`, await fixture.payer())).response.status).toBe(200)
    expect(await business.paid()).toBe(feeLamports)
  })

  it('pays once if one balance is signed 20 times at once', async () => {
    const business = fixture.business()
    const replicas = [await business.open(), await business.open()]
    const payer = await fixture.payer(priceUnits)
    const urls = Array.from({ length: 20 }, (_, index) => `${replicas[index % 2]?.url}/data`)
    const credentials = await Promise.all(urls.map((url) => holdCredential(url, payer)))
    expect(new Set(credentials.map(({ requestId }) => requestId)).size).toBe(20)
    const responses = await Promise.all(credentials.map((credential, index) => present(urls[index] ?? '', credential)))
    const { 200: served, ...refused } = countStatuses(responses)
    expect(served).toBe(1)
    expect(Object.keys(refused).every((status) => status === '402' || status === '429')).toBe(true)
    expect(business.served).toHaveLength(1)
    expect(await business.paid()).toBe(feeLamports)
  })

  it('T204: signs and simulates a payment once while it waits for another one of its wallet', async () => {
    const business = fixture.business()
    const [hasty, patient] = [await business.open({ waitSeconds: 0.1 }), await business.open({ waitSeconds: 2 })]
    const payer = await fixture.payer()
    const [first, second] = [
      await holdCredential(`${hasty.url}/data`, payer),
      await holdCredential(`${patient.url}/data`, payer),
    ]
    fixture.world.localnet.faults.set([{ methods: ['sendTransaction'], lose: true }])
    expect(await codeOf(await present(`${hasty.url}/data`, first))).toBe('503 settlement_pending')
    const response = await present(`${patient.url}/data`, second)
    fixture.world.localnet.faults.clear()
    expect(await codeOf(response)).toBe('429 rate_limited')
    expect(patient.node.asked.filter((method) => method === 'simulateTransaction')).toHaveLength(1)
  })

  it('loses three fees to a payer whose node hides that the balance is gone', async () => {
    const business = fixture.business()
    const ledger = await business.connect()
    const replica = await business.open({ ledger })
    blindPreflight(fixture, replica)
    const payer = await fixture.payer(priceUnits)
    const statuses: number[] = []
    const refused = size(2, 96)
    for (let turn = 0; turn < 4 + refused; turn += 1) {
      const credential = await holdCredential(`${replica.url}/data`, payer)
      statuses.push((await present(`${replica.url}/data`, credential)).status)
      await recordFailures(ledger)
    }
    expect(statuses).toEqual([200, 402, 402, 402, ...Array(refused).fill(429)])
    expect(await business.paid()).toBe(4n * feeLamports)
  })

  it.each([
    ['refuses an address with ten failures', '192.0.2.1', 429],
    ['lets no client without a known address lock out the others', 'unknown', 200],
  ] as const)('%s', async (_name, clientAddress, status) => {
    const business = fixture.business()
    const ledger = await business.connect()
    const replica = await business.open({ ledger })
    blindPreflight(fixture, replica)
    const pay = async (units: bigint) => {
      const credential = await holdCredential(`${replica.url}/data`, await fixture.payer(units))
      return (await present(`${replica.url}/data`, credential, clientAddress)).status
    }
    for (let turn = 0; turn < 10; turn += 1) expect(await pay(0n)).toBe(402)
    await recordFailures(ledger)
    expect(await pay(priceUnits)).toBe(status)
    expect(await business.paid()).toBe((status === 200 ? 11n : 10n) * feeLamports)
  })

  it('loses no more than its budget to many payers, and withdraws its offer', async () => {
    const business = fixture.business()
    const replica = await business.open({ sponsor: { lostPerDay: '0.000015' } })
    blindPreflight(fixture, replica)
    const credentials: HeldCredential[] = []
    for (let turn = 0; turn < 4; turn += 1)
      credentials.push(await holdCredential(`${replica.url}/data`, await fixture.payer(0n)))
    const statuses: number[] = []
    for (const credential of credentials) {
      const response = await present(`${replica.url}/data`, credential)
      statuses.push(response.status)
      // With the sponsor's signature, the client could send a transaction that no limit counts.
      if (response.status === 503) expect(await response.json()).not.toHaveProperty('tx')
      const told = JSON.parse(Buffer.from(response.headers.get('payment-response') ?? '', 'base64').toString() || '{}')
      if (response.status === 503) expect(told.transaction ?? '').toBe('')
    }
    expect(statuses).toEqual([402, 503, 503, 503])
    expect(await business.paid()).toBe(feeLamports)
    expect(isOfferingX402(await fetch(`${replica.url}/data`))).toBe(false)
  })

  it('pays no more than its budget: the next payment gets 503, and x402 is no longer offered', async () => {
    const business = fixture.business()
    const { url } = await business.open({ sponsor: { perDay: '0.000025' } })
    const credential = await holdCredential(`${url}/data`, await fixture.payer())
    for (let turn = 0; turn < 2; turn += 1)
      expect((await payWithX402(`${url}/data`, await fixture.payer())).response.status).toBe(200)
    expect(isOfferingX402(await fetch(`${url}/data`))).toBe(true)
    expect(await codeOf(await present(`${url}/data`, credential))).toBe('503 sponsor_exhausted')
    expect(await business.paid()).toBe(2n * feeLamports)
    const unpaid = await fetch(`${url}/data`)
    expect([unpaid.status, isOfferingX402(unpaid)]).toEqual([402, false])
    // MPP's payer pays the fee now.
    const payer = await fixture.payer()
    expect((await payWithMppx(`${url}/data`, payer)).response.status).toBe(200)
    expect(await business.paid()).toBe(2n * feeLamports)
  })
})

interface Failure {
  readonly options?: Partial<ProviderOptions>
  readonly units?: bigint
  /** Called when the client has signed, before its credential is sent. Returns another URL for it, if any. */
  readonly meddle?: (replica: Replica, payer: Payer) => unknown
  readonly status: number
  readonly code: RefusalCode
  /** Impossible with x402 v1: its credential names no request, and its client simulates the transaction first. */
  readonly isUnknownToV1?: true
}

const failures: readonly (readonly [name: string, failure: Failure])[] = [
  ['the payer has no funds', { units: 0n, status: 402, code: 'tx_failed', isUnknownToV1: true }],
  [
    'the requestId belongs to another resource',
    {
      meddle: ({ url }) => `${url}/other`,
      status: 402,
      code: 'binding_mismatch',
      isUnknownToV1: true,
    },
  ],
  [
    'the limit of the sponsor is reached',
    {
      options: { sponsor: { perDay: '0.00001' } },
      status: 503,
      code: 'sponsor_exhausted',
    },
  ],
  [
    'the chain is unavailable',
    {
      meddle: ({ node }) => node.behave(() => 'reset'),
      status: 503,
      code: 'chain_unavailable',
    },
  ],
  [
    'the transaction is not confirmed in time',
    {
      options: { waitSeconds: 0.1 },
      meddle: () => fixture.world.localnet.faults.set([{ methods: ['sendTransaction'], lose: true }]),
      status: 503,
      code: 'settlement_pending',
    },
  ],
]

describe.each(clients)('an unmodified client of %s sends one credential', (_protocol, pay) => {
  afterEach(() => fixture.world.localnet.faults.clear())

  const chosen = cells(failures, 2, pay === payWithX402 ? 0 : 1)
  const possible = chosen.filter(([, { isUnknownToV1 }]) => !isUnknownToV1 || pay !== payWithX402V1)
  it.each(possible)('if %s', async (_name, { options, units, meddle, status, code }) => {
    const business = fixture.business()
    const replica = await business.open(options)
    const payer = await fixture.payer(units)
    const meddling: typeof fetch = async (input, init) => {
      const other: unknown = isPaid(input, init) ? await meddle?.(replica, payer) : undefined
      return fetch(typeof other === 'string' ? new Request(other, new Request(input, init)) : input, init)
    }
    const { response, credentials } = await pay(`${replica.url}/data`, { ...payer, fetch: meddling })
    expect([await hasChallenge(response), await codeOf(response)]).toEqual([false, `${status} ${code}`])
    expect(credentials).toHaveLength(1)
    expect(business.served).toEqual([])
    expect(await business.paid()).toBe(0n)
  })

  // In the short form, with one client.
  const itOnce = isLong || pay === payWithX402 ? it : itInFull
  itOnce('if the payment was used before', async () => {
    const business = fixture.business()
    const { url } = await business.open()
    const payer = await fixture.payer()
    const used = await holdCredential(`${url}/data`, payer, pay)
    expect((await present(`${url}/data`, used)).status).toBe(200)
    const replaying: typeof fetch = (input, init) =>
      isPaid(input, init) ? present(`${url}/data`, used) : fetch(input, init)
    const { response, credentials } = await pay(`${url}/data`, { ...payer, fetch: replaying })
    expect([await hasChallenge(response), await codeOf(response)]).toEqual([false, '409 payment_replay'])
    expect(credentials).toHaveLength(1)
    expect(await business.paid()).toBe(feeLamports)
  })
})

describe('an expired quote', () => {
  it.each([
    ['x402', payWithX402, 1, 402, 0n],
    // mppx pays the fresh challenge. Nothing of the first payment can land.
    ['MPP', payWithMppx, 2, 200, feeLamports],
  ] as const)('gets a fresh challenge, and costs nothing: %s', async (_name, pay, credentials, status, fee) => {
    const business = fixture.business()
    const { url } = await business.open()
    const payer = await fixture.payer()
    let isExpired = false
    const waiting: typeof fetch = async (input, init) => {
      if (isPaid(input, init) && !isExpired) {
        isExpired = true
        await passTime(url, 400)
      }
      return fetch(input, init)
    }
    const paid = await pay(`${url}/data`, { ...payer, fetch: waiting })
    expect([paid.response.status, paid.credentials.length]).toEqual([status, credentials])
    expect(isOfferingX402(paid.response)).toBe(status === 402)
    expect(await business.paid()).toBe(fee)
    expect(1_000_000n - (await fixture.usdc(payer))).toBe(status === 200 ? priceUnits : 0n)
  })

  it('stays expired for a payment that was made too late and then comes as a credential', async () => {
    const business = fixture.business()
    const { url } = await business.open({ sponsor: { floor: '2' } })
    const credential = await holdCredential(`${url}/data`, await fixture.payer(), payWithMppx)
    await passTime(url, 400)
    const tx = await sendCredential(credential)
    expect(await codeOf(await presentProof(`${url}/data`, tx, credential))).toBe('403 payment_expired')
    const response = await present(`${url}/data`, credential)
    expect([await hasChallenge(response), await codeOf(response)]).toEqual([false, '402 payment_expired'])
    expect(business.served).toEqual([])
  })
})

/** The clock of the chain moves on, and the server follows it. */
async function passTime(url: string, seconds: number): Promise<void> {
  const readExpiry = async () => ((await (await fetch(`${url}/data`)).json()) as { expiresAt: string }).expiresAt
  const before = Date.parse(await readExpiry())
  fixture.world.localnet.advance(seconds, 1)
  await eventually(readExpiry, (at) => Date.parse(at) - before > (seconds - 10) * 1000)
}

/** Sends the complete transaction of an MPP credential past the server. */
async function sendCredential(credential: HeldCredential): Promise<string> {
  const { payload } = decodeCredential(credential.value)
  const { rpc } = fixture.world
  const tx = await rpc<string>('sendTransaction', [payload.transaction, { encoding: 'base64', skipPreflight: true }])
  await eventually(
    () => rpc<unknown>('getTransaction', [tx, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 }]),
    (found) => found !== null,
  )
  return tx
}

describe('a payment whose request gave up', () => {
  /** The service answers before the transaction lands. */
  const give = async (pay: Pay = payWithX402) => {
    const business = fixture.business()
    const ledger = await business.connect()
    const { url, node } = await business.open({ ledger, watch: true, waitSeconds: 0.1 })
    const { faults } = fixture.world.localnet
    const held = await holdCredential(`${url}/data`, await fixture.payer(), pay)
    // So many slots that the request gives up first, even on a machine that stands still for seconds.
    const delaySlots = 60
    faults.set([{ methods: ['sendTransaction'], delaySlots }])
    const response = await present(`${url}/data`, held)
    faults.clear()
    fixture.world.localnet.advanceSlots(delaySlots)
    const { code, tx, requestId } = (await response.json()) as { code: string; tx: string; requestId: string }
    const credential = { ...held, requestId }
    expect([response.status, code]).toEqual([503, 'settlement_pending'])
    await eventually(
      () => listTransactions(business.sponsor),
      (found) => found.includes(tx),
    )
    return { business, ledger, url, node, credential, tx }
  }

  it('is closed by the worker, is unclaimed in the books under its endpoint, and serves its credential', async () => {
    const { business, ledger, url, node, credential, tx } = await give()
    const find = () => ledger.books.findPayment(decodeSignature(tx) ?? new Uint8Array())
    const payment = await eventually(find, (found) => found !== undefined)
    expect(payment).toMatchObject({ status: 'pending', state: 'unclaimed', endpoint: '/data', units: priceUnits })
    fixture.world.localnet.advance(20, 1)
    await eventually(
      () => ledger.submissions.sums(0),
      ({ open }) => open === 0n,
      1_000,
    )
    expect(await ledger.submissions.sums(0)).toEqual({ spent: feeLamports, lost: 0n, open: 0n })
    fixture.world.localnet.advanceSlots(500)
    // The node no longer knows the status, but the record does.
    node.behave(bend('getSignatureStatuses', (result: object) => ({ ...result, value: [null] })))
    expect((await present(`${url}/data`, credential)).status).toBe(200)
    expect(await codeOf(await presentProof(`${url}/data`, tx, credential))).toBe('409 payment_replay')
    expect(business.served).toEqual(['/data'])
    expect(await business.paid()).toBe(feeLamports)
  })

  it.each(cells(sponsoredClients, 2, 1))(
    'serves nobody who read the chain, at any replica, and then its client: %s',
    async (_name, pay) => {
      const { business, url, credential, tx } = await give(pay)
      const other = await business.open({ ledger: await business.connect() })
      for (const target of [`${url}/data`, `${other.url}/data`]) {
        const responses = await steal(target, tx, credential)
        expect(await Promise.all(responses.map(codeOf))).toEqual(['403 claim_required', '402 claim_required'])
        const guessed = { ...credential, claim: 'A'.repeat(22) }
        expect(await codeOf(await presentProof(target, tx, guessed))).toBe('403 claim_invalid')
      }
      expect((await present(`${other.url}/data`, credential)).status).toBe(200)
      expect(business.served).toEqual(['/data'])
      expect(await business.paid()).toBe(feeLamports)
    },
  )

  it.each(cells(clients.slice(0, 2), 2))('serves a Payment-Proof once: %s', async (_name, pay) => {
    const { business, url, credential, tx } = await give(pay)
    expect((await presentProof(`${url}/data`, tx, credential)).status).toBe(200)
    expect(await codeOf(await present(`${url}/data`, credential))).toBe('409 payment_replay')
    expect(business.served).toEqual(['/data'])
    expect(await business.paid()).toBe(feeLamports)
  })
})

it('T206: an old reading of the watcher refuses no payment that an MPP client sent itself', async () => {
  interface Result {
    readonly meta: { readonly preTokenBalances: unknown }
  }
  const business = fixture.business()
  const replica = await business.open({ watch: true, mpp: { push: true } }, false)
  const emptied = ({ meta, ...rest }: Result) => ({
    ...rest,
    meta: { ...meta, postTokenBalances: meta.preTokenBalances },
  })
  replica.node.behave(bend('getTransaction', (result: Result | null) => result && emptied(result)))
  const url = `${replica.url}/data`
  const credential = await holdCredential(url, await fixture.payer(), (target, payer) =>
    payWithMppx(target, { ...payer, mode: 'push' }),
  )
  await eventually(
    () => replica.events.some(({ kind }) => kind === 'seen'),
    (isSeen) => isSeen,
  )
  replica.node.behave(undefined)
  expect((await present(url, credential)).status).toBe(200)
  expect(business.served).toEqual(['/data'])
})
