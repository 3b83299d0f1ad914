/** The doctor on the sponsor: its balance, its limits, and prices that x402 clients refuse. */
import { randomBytes } from 'node:crypto'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readKeyring } from '../../src/core/protocol/keyring.ts'
import { makeKeyFile, viewKeyFile } from '../../src/host/keys/key-file.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import {
  clock,
  directory,
  examine,
  play,
  recipient,
  secret,
  settings,
  troubles,
  useDoctorFixture,
  world,
  write,
} from './doctor-fixture.ts'

useDoctorFixture()

const fee = 10_001n

const nameFile = () => relative('.', join(directory, 'paystile.yaml'))
const look = (sponsor: object, more: object = {}) => examine(write(settings({ network: 'localnet', sponsor, ...more })))

function makeSponsor() {
  const key = join(directory, 'sponsor.json')
  makeKeyFile(key)
  return { key, address: viewKeyFile(key).address }
}

/** Records one fee of each outcome, and one without an outcome. */
async function recordFees(): Promise<void> {
  const reading = readKeyring(secret)
  if (reading.kind !== 'keyring') throw new Error(reading.why)
  const identity = { network: 'localnet', service: 'default', fingerprint: reading.keyring.fingerprint } as const
  const { genesisHash: genesis } = world.localnet
  const ledger = await openLedger(join(directory, 'ledger.sqlite'), { clock, identity: { ...identity, genesis } })
  const limits = { perDay: fee * 10n, lostPerDay: fee * 10n, failuresPerPayer: 9, failuresPerClient: 9 }
  for (const outcome of ['landed', 'landed', 'failed', undefined] as const) {
    const tx = randomBytes(64)
    const names = { request: tx.toString('hex'), payer: tx.toString('hex'), client: '', sealed: '' }
    const times = { heldUntil: 0, at: clock.now() }
    await ledger.submissions.open({ tx, message: randomBytes(32), ...names, slot: 1, lamports: fee, ...times }, limits)
    if (outcome) await ledger.submissions.close(tx, outcome, fee)
  }
  await ledger.close()
}

const ofSponsor = ({ checks }: Awaited<ReturnType<typeof look>>) =>
  checks.filter(({ check }) => check === 'sponsor').map(({ level, finding }) => `${level}: ${finding}`)

describe('a gateway that is only a facilitator', () => {
  /** Without paid routes. */
  const examineOnly = (key: string, payTo: readonly string[], network = 'devnet') => {
    const { routes: _, upstream: __, recipient: ___, token: ____, ...rest } = settings({ network })
    return examine(write({ ...rest, routes: [], sponsor: { key }, facilitator: { payTo } }))
  }

  it('is checked: nodes, ledger, sponsor, limits and the wallets that it pays to', async () => {
    const { key, address } = makeSponsor()
    await world.localnet.fund(address, { SOL: 1_000_000_000n })
    const { checks, next } = await examineOnly(key, [recipient.address])
    const found = (name: string) => checks.filter(({ check }) => check === name).map(({ level }) => level)
    expect(checks.filter(({ level }) => level === 'fail')).toEqual([])
    for (const name of ['secret', 'keys', 'nodes', 'ledger', 'clock', 'sponsor', 'payTo'])
      expect(found(name)).toContain('ok')
    const findings = checks.map(({ check, finding }) => `${check}: ${finding}`)
    expect(findings).toContain(`config: ${nameFile()}: 0 paid routes, a facilitator on devnet`)
    expect(findings.filter((one) => one.startsWith('payTo'))).toEqual([
      expect.stringContaining(`${recipient.address} can receive `),
    ])
    expect(findings.some((one) => one.startsWith(`sponsor: ${address} holds 1 SOL: about `))).toBe(true)
    expect(next).toEqual([`npx paystile serve ${nameFile()}`])
  })

  it('has a problem if its sponsor is empty, or a wallet cannot be paid', async () => {
    const { key, address } = makeSponsor()
    const stranger = (await newSigner()).address
    expect(troubles(await examineOnly(key, [stranger, world.usdc.address]))).toEqual([
      expect.stringMatching(/^warn sponsor: .* less than the floor of 0.02 SOL, so x402 is not settled → send SOL to /),
      expect.stringMatching(
        `^warn payTo: ${stranger} has no token account yet, so payments to it cannot be settled → `,
      ),
      expect.stringMatching(`^fail payTo: ${world.usdc.address} is .*, not a wallet → correct facilitator.payTo`),
    ])
    const own = troubles(await examineOnly(key, [address]))
    expect(own).toContain(`fail payTo: ${address} is the wallet of sponsor.key → give sponsor a key of its own`)
  })
})

it('names the address, the balance and the number of payments', async () => {
  play('localnet')
  const { key, address } = makeSponsor()
  const poor = await look({ key })
  expect(troubles(poor)).toEqual([
    `warn sponsor: ${address} holds 0 SOL, less than the floor of 0.02 SOL, so x402 is not offered → send SOL to ${address}, or lower sponsor.floor`,
  ])
  await world.localnet.fund(address, { SOL: 20_000_000n + 10_001n * 5n })
  expect(ofSponsor(await look({ key }))).toEqual([
    `ok: ${address} holds 0.020050005 SOL: about 5 payments until the floor of 0.02 SOL`,
  ])
  expect(ofSponsor(await look({}))).toEqual(['ok: the service creates a wallet on localnet and funds it'])
})

it('compares the fees of the last 24 hours with the limits', async () => {
  play('localnet')
  const { key, address } = makeSponsor()
  await world.localnet.fund(address, { SOL: 30_000_000n })
  await recordFees()
  const [, sums] = ofSponsor(await look({ key }))
  expect(sums).toBe(
    'ok: fees of 0.000020002 SOL were paid within 24 hours (perDay: 0.1 SOL); 0.000010001 SOL were lost to failed transactions (lostPerDay: 0.005 SOL)',
  )
  const near = troubles(await look({ key, perDay: 0.000_037, lostPerDay: 0.000_025 }))
  expect(near).toHaveLength(2)
  expect(near[0]).toMatch(/^warn sponsor: fees of 0\.000020002 SOL .* under way → raise sponsor\.perDay$/)
  expect(near[1]).toMatch(/^warn sponsor: 0\.000010001 SOL were lost .* → search the log for tx_failed; /)
})

it('reports prices that x402 clients refuse by default', async () => {
  play('localnet')
  const routes = [
    { path: '/cheap', price: 0.1 },
    { path: '/middle', price: 1 },
    { path: '/dear', price: 1.01 },
    { path: '/sol', price: 0.01, token: 'SOL' },
    { path: '/bundle', price: 50, per: { requests: 1000 } },
  ]
  const findings = ofSponsor(await look({}, { routes, rates: { SOL: 150, USDC: 1 } }))
  expect(findings.slice(1)).toEqual([
    expect.stringMatching(
      /^warn: unmodified x402 clients pay at most 1 USD, and refuse GET \/dear \(1\.01 USD\), GET \/sol \(1\.5 USD\)$/,
    ),
    expect.stringMatching(
      /^ok: clients of x402 version 1 pay at most 0\.1 USD by default, and refuse GET \/middle \(1 USD\)$/,
    ),
  ])
  expect(ofSponsor(await examine(write(settings({ network: 'localnet', routes: routes.slice(2, 3) }))))).toEqual([])
})
