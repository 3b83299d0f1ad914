/** What is offered, by what real programs made of mints and accounts. */
import { address, type KeyPairSigner } from '@solana/kit'
import {
  AuthorityType,
  getApproveInstruction,
  getFreezeAccountInstruction,
  getSetAuthorityInstruction,
  getThawAccountInstruction,
} from '@solana-program/token'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Mint } from '../../src/core/money/tokens.ts'
import { token2022Program } from '../../src/core/money/tokens.ts'
import type { DoubtfulTrait } from '../../src/core/payment/token-rules.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { adapters, type Served } from '../harness/adapters.ts'
import { createLocalnetFixture, type LocalnetFixture, memo, newSigner, proofOf } from '../harness/localnet-fixture.ts'
import { instruction, succeed, u64 } from '../harness/message.ts'
import { createMint, type Extension, extensions, mintTo, move } from '../harness/mint.ts'
import { eventually, useTemporaryHome } from '../harness/shop.ts'
import { serveNode } from '../harness/shop-fixture.ts'

const home = useTemporaryHome()
const lines: string[] = []
const note = (level: string) => (event: string, facts?: unknown) =>
  void lines.push(`${level} ${event} ${JSON.stringify(facts ?? {})}`)
const log = { info: note('info'), warn: note('warn'), error: note('error') }
const shops: Served[] = []
let world: LocalnetFixture
let issuer: KeyPairSigner
let recipient: KeyPairSigner

beforeAll(async () => {
  world = await createLocalnetFixture()
  issuer = await world.person()
})
beforeEach(async () => {
  recipient = await newSigner()
  await world.localnet.fund(recipient.address, { SOL: 1_000_000_000n, USDC: 0n, NATIVE: 0n })
  lines.length = 0
})
afterEach(async () => {
  world.localnet.faults.clear()
  for (const shop of shops.splice(0)) await shop.close()
  vi.useRealTimers()
})
afterAll(async () => {
  await world.close()
  home.remove()
})

async function open(options: Partial<ProviderOptions> = {}, serve = serveNode): Promise<Served> {
  const common = { price: 0.01, token: 'USDC', network: 'localnet', ledger: 'memory:', watch: false } as const
  const shop = await serve(
    { ...common, recipient: recipient.address, rpc: world.localnet.rpcUrl, log, ...options },
    () => ({ body: 'the data' }),
  )
  shops.push(shop)
  return shop
}
const selling = (mint: Mint, allow: readonly DoubtfulTrait[] = []): Partial<ProviderOptions> => ({
  token: 'NATIVE',
  acceptedMints: ['NATIVE', 'SOL'],
  mints: { NATIVE: { ...mint, allow } },
})
async function offeredBy(shop: Served): Promise<readonly string[] | string> {
  const response = await fetch(`${shop.url}/data`)
  const body = (await response.json()) as Partial<Challenge> & { readonly code?: string }
  return body.acceptedMints ?? `${response.status} ${body.code}`
}
const accountOf = (mint: Mint) => world.tokenAccount(recipient.address, mint)
/** Tests jump over the pause between two looks; the real clock goes on. */
const skipTime = () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })

describe('a mint of Token-2022', () => {
  it.each<[string, () => readonly Extension[], DoubtfulTrait | undefined, string]>([
    [
      'T34: with a transfer hook',
      () => [extensions.transferHook(issuer.address, issuer.address)],
      'transferHook',
      'runs third-party code',
    ],
    [
      'T11: with a permanent delegate',
      () => [extensions.permanentDelegate(issuer.address)],
      'permanentDelegate',
      'can withdraw payments',
    ],
    [
      'T36: that bears interest',
      () => [extensions.interest(issuer.address, 100)],
      'interestBearing',
      'amounts that differ',
    ],
    [
      'T36: with a multiplier',
      () => [extensions.scaledAmount(issuer.address, 2)],
      'scaledUiAmount',
      'amounts that differ',
    ],
    ['that cannot be transferred', () => [extensions.nonTransferable()], undefined, 'is not transferable'],
  ])('%s is withheld with a reason, and the other token is offered', async (_what, added, doubt, words) => {
    const mint = await createMint(world, issuer, { extensions: added() })
    const shop = await open(selling(mint))
    const readiness = await shop.ready()
    expect(readiness).toEqual({ offered: ['SOL'], withheld: { NATIVE: expect.stringContaining(words) } })
    expect(await shop.readiness()).toEqual({ ready: true, ...readiness })
    expect(await offeredBy(shop)).toEqual(['SOL'])
    expect(lines).toEqual([expect.stringMatching(`^error token.withheld .*${words}`)])
    const allowing = await open(selling(mint, doubt ? [doubt] : ['unknown']))
    expect((await allowing.ready()).offered).toEqual(doubt ? ['NATIVE', 'SOL'] : ['SOL'])
  })

  it('T33: with a transfer fee is offered', async () => {
    const mint = await createMint(world, issuer, { extensions: [extensions.transferFee(100, issuer.address)] })
    expect(await (await open(selling(mint))).ready()).toEqual({ offered: ['NATIVE', 'SOL'], withheld: {} })
  })

  it('T33: with a fee that leaves nothing of the price is not', async () => {
    const fee = extensions.transferFee(10_000, issuer.address, 2n ** 64n - 1n)
    const shop = await open(selling(await createMint(world, issuer, { extensions: [fee] })))
    expect((await shop.ready()).withheld.NATIVE).toContain('too high for this price')
  })

  it('that is paused is not offered until that is over', async () => {
    const mint = await createMint(world, issuer, { extensions: [extensions.pausable(issuer.address)] })
    const set = (kind: 1 | 2) =>
      succeed(
        world,
        [
          instruction(
            token2022Program,
            [
              ['w', mint.address],
              ['r', issuer],
            ],
            44,
            kind,
          ),
        ],
        issuer,
      )
    await set(1)
    skipTime()
    const shop = await open(selling(mint))
    expect((await shop.ready()).withheld.NATIVE).toContain('is paused')
    await set(2)
    await vi.advanceTimersByTimeAsync(30_000)
    await eventually(
      () => offeredBy(shop),
      (offered) => offered.length === 2,
    )
    expect(lines.at(-1)).toBe('info token.offered {"token":"NATIVE","routes":"default"}')
  })

  it('under the wrong program says which is right', async () => {
    const mint = await createMint(world, issuer, { extensions: [extensions.closeAuthority(issuer.address)] })
    const { withheld } = await (await open(selling({ ...mint, tokenProgram: world.usdc.tokenProgram }))).ready()
    expect(withheld.NATIVE).toContain(`${token2022Program}, not to ${world.usdc.tokenProgram}; set tokenProgram`)
  })

  it('in which all is well is sold for', async () => {
    const shop = await open(selling(await createMint(world, issuer, { tokenProgram: token2022Program })))
    expect(await shop.ready()).toEqual({ offered: ['NATIVE', 'SOL'], withheld: {} })
    expect(lines).toEqual([])
  })
})

describe('the account of the recipient', () => {
  it('T8: that was transferred to another owner is reported, and nothing is sold for it', async () => {
    const handOver = getSetAuthorityInstruction({
      owned: await accountOf(world.usdc),
      owner: recipient,
      authorityType: AuthorityType.AccountOwner,
      newAuthority: issuer.address,
    })
    await succeed(world, [handOver], recipient)
    const shop = await open()
    await expect(shop.ready()).rejects.toThrow(`transferred to ${issuer.address}`)
    expect(await offeredBy(shop)).toBe('503 not_priced')
    expect(await shop.readiness()).toMatchObject({ ready: false, offered: [], withheld: { USDC: expect.any(String) } })
    expect(lines.filter((line) => line.startsWith('error'))).toHaveLength(2)
  })

  it('that is frozen takes nothing until it is thawed', async () => {
    const mint = await createMint(world, issuer)
    await mintTo(world, mint, issuer, { [recipient.address]: 0n })
    const parts = { account: await accountOf(mint), mint: address(mint.address), owner: issuer }
    await succeed(world, [getFreezeAccountInstruction(parts)], issuer)
    skipTime()
    const shop = await open(selling(mint))
    expect((await shop.ready()).withheld.NATIVE).toContain('is frozen')
    await succeed(world, [getThawAccountInstruction(parts)], issuer)
    await vi.advanceTimersByTimeAsync(30_000)
    await eventually(
      () => offeredBy(shop),
      (offered) => offered.length === 2,
    )
  })

  it('that becomes unusable later is detected, and earlier payments are served', async () => {
    const mint = await createMint(world, issuer)
    await mintTo(world, mint, issuer, { [recipient.address]: 0n, [issuer.address]: 10n ** 9n })
    skipTime()
    const shop = await open(selling(mint))
    expect((await shop.ready()).offered).toEqual(['NATIVE', 'SOL'])
    const challenge = (await (await fetch(`${shop.url}/data`)).json()) as Challenge
    const pay = await move(world, mint, issuer, recipient.address, 10_000n)
    const tx = await succeed(world, [memo(challenge.requestId), pay], issuer)
    const parts = { account: await accountOf(mint), mint: address(mint.address), owner: issuer }
    await succeed(world, [getFreezeAccountInstruction(parts)], issuer)
    await vi.advanceTimersByTimeAsync(300_000)
    await eventually(
      () => offeredBy(shop),
      (offered) => offered.length === 1,
    )
    expect((await shop.ready()).withheld.NATIVE).toContain('is frozen')
    const headers = { 'Payment-Proof': proofOf(tx, challenge, issuer) }
    expect(await (await fetch(`${shop.url}/data`, { headers })).text()).toBe('the data')
  })

  it('T10: with a delegate is warned of, and sold for', async () => {
    const source = await accountOf(world.usdc)
    const approve = getApproveInstruction({ source, delegate: issuer.address, owner: recipient, amount: 5n })
    await succeed(world, [approve], recipient)
    expect((await (await open()).ready()).offered).toEqual(['USDC'])
    expect(lines).toEqual([expect.stringMatching(/^warn token_account\.at_risk .*delegate/)])
  })

  it('that is missing on a localnet is opened by the payer', async () => {
    const mint = await createMint(world, issuer)
    expect((await (await open(selling(mint))).ready()).offered).toEqual(['NATIVE', 'SOL'])
  })

  it('that would open frozen is not left to the payer', async () => {
    const mint = await createMint(world, issuer, { extensions: [extensions.accountState(2)] })
    expect((await (await open(selling(mint))).ready()).withheld.NATIVE).toContain('ask the issuer to thaw it')
  })

  it('that demands memos is fine', async () => {
    const mint = await createMint(world, issuer, { tokenProgram: token2022Program })
    await mintTo(world, mint, issuer, { [recipient.address]: 0n })
    const account = await accountOf(mint)
    const grow = instruction(
      token2022Program,
      [
        ['w', account],
        ['w', recipient],
        ['r', '11111111111111111111111111111111'],
        ['r', recipient],
      ],
      29,
      8,
      0,
    )
    const demand = instruction(
      token2022Program,
      [
        ['w', account],
        ['r', recipient],
      ],
      30,
      0,
    )
    await succeed(world, [grow, demand], recipient)
    expect((await (await open(selling(mint))).ready()).offered).toEqual(['NATIVE', 'SOL'])
  })
})

describe('the wallet of the recipient', () => {
  it('without money cannot be paid little SOL, until it has some', async () => {
    recipient = await newSigner()
    const options = { token: 'SOL', price: '0.00002' } as const
    skipTime()
    const shop = await open(options)
    await expect(shop.ready()).rejects.toThrow('send it 0.00089088 SOL once')
    const enough = await open({ ...options, price: '0.00089088', scope: 'enough' })
    expect((await enough.ready()).offered).toEqual(['SOL'])
    const tooLittle = await open({ ...options, price: '0.000890879', scope: 'too-little' })
    await expect(tooLittle.ready()).rejects.toThrow('too little to open it')
    await world.localnet.fund(recipient.address, { SOL: 890_880n })
    await vi.advanceTimersByTimeAsync(5_000)
    await eventually(
      () => offeredBy(shop),
      (offered) => offered.includes('SOL'),
    )
  })

  it('and the chain itself agree on how little is too little', async () => {
    const pay = async (units: bigint) => {
      const { address: empty } = await newSigner()
      await succeed(world, [await world.transfer(issuer, empty, 'SOL', units)], issuer)
    }
    await pay(890_880n)
    await expect(pay(890_879n)).rejects.toThrow('InsufficientFundsForRent')
  })

  it.each<[string, () => Promise<string>, RegExp]>([
    ['a token account', () => accountOf(world.usdc), /is a token account or a mint, not a wallet/],
    ['a mint of their own', async () => (await createMint(world, issuer)).address, /is a token account or a mint/],
  ])('is not %s', async (_what, find, why) => {
    const shop = await open({ recipient: await find(), acceptedMints: ['USDC', 'SOL'] })
    await expect(shop.ready()).rejects.toThrow(why)
    expect(lines.filter((line) => line.includes('route.not_selling'))).toHaveLength(1)
  })
})

describe('a fee that changes', () => {
  it('T33: counts with the next epoch, an epoch ahead', async () => {
    const fee = extensions.transferFee(100, issuer.address)
    const mint = await createMint(world, issuer, { extensions: [fee] })
    const everything = [10_000 & 255, 10_000 >> 8, ...u64(2n ** 64n - 1n)]
    await succeed(
      world,
      [
        instruction(
          token2022Program,
          [
            ['w', mint.address],
            ['r', issuer],
          ],
          26,
          5,
          everything,
        ),
      ],
      issuer,
    )
    skipTime()
    const shop = await open(selling(mint))
    expect((await shop.ready()).offered).toEqual(['NATIVE', 'SOL'])
    // It was decided on in this epoch and comes into force in the one after the next.
    world.localnet.advanceSlots(432_000)
    await vi.advanceTimersByTimeAsync(300_000)
    await eventually(
      () => offeredBy(shop),
      (offered) => offered.length === 1,
    )
    expect((await shop.ready()).withheld.NATIVE).toContain('too high for this price')
  })
})

describe('nodes', () => {
  const garbage = (change: (value: { data: unknown; owner: string }) => unknown) =>
    world.localnet.faults.intercept((method, _params, answer) => {
      if (method !== 'getMultipleAccounts' || !('result' in answer)) return answer
      const result = answer.result as { readonly value: readonly ({ data: unknown; owner: string } | null)[] }
      return { result: { ...result, value: result.value.map((one) => one && change(one)) } }
    })

  it.each<[string, (value: { data: unknown; owner: string }) => unknown, string]>([
    ['bytes that are none', (one) => ({ ...one, data: ['%', 'base64'] }), 'cannot be read yet'],
    ['accounts without owners', ({ data }) => ({ data, lamports: 1 }), 'cannot be read yet'],
    ['other bytes', (one) => ({ ...one, data: ['AAAA', 'base64'] }), 'is not a mint'],
    ['other owners', (one) => ({ ...one, owner: recipient.address }), 'belongs to the program'],
  ])('that tell %s are not believed to be right', async (_what, change, words) => {
    garbage(change)
    const shop = await open({ acceptedMints: ['USDC'], mints: { USDC: world.usdc } })
    await expect(shop.ready()).rejects.toThrow(words)
    // What is known without them is offered until they speak against it.
    expect(await offeredBy(shop)).toEqual(words.startsWith('cannot') ? ['USDC'] : '503 not_priced')
  })

  it('that fall silent later change nothing', async () => {
    skipTime()
    const shop = await open()
    await shop.ready()
    world.localnet.faults.set([{ methods: ['getMultipleAccounts'], status: 503 }])
    await vi.advanceTimersByTimeAsync(300_000)
    await eventually(
      () => lines,
      (all) => all.some((line) => line.includes('token.unchecked')),
    )
    expect(await shop.ready()).toEqual({ offered: ['USDC'], withheld: {} })
  })
})

describe('a start like any other', () => {
  it.each(adapters)('reports the offered tokens, on %s', async (_name, serve) => {
    const shop = await open({ acceptedMints: ['USDC', 'SOL', 'NATIVE'] }, serve)
    expect(await shop.ready()).toEqual({ offered: ['USDC', 'SOL', 'NATIVE'], withheld: {} })
    expect(await shop.readiness()).toEqual({ ready: true, offered: ['USDC', 'SOL', 'NATIVE'], withheld: {} })
    expect(lines).toEqual([])
  })

  it('on a chain of its own waits until the recipient can receive', async () => {
    const shop = await serveNode(
      {
        price: '0.00001',
        token: 'SOL',
        network: 'localnet',
        recipient: (await newSigner()).address,
        service: 'own',
        log,
      },
      () => ({ body: 'the data' }),
    )
    shops.push(shop)
    expect((await shop.ready()).offered).toEqual(['SOL'])
    expect(lines).toEqual([expect.stringContaining('localnet.started')])
  })

  it('that fails is reported, and not thrown, to health checks', async () => {
    const shop = await open({ rpc: 'http://127.0.0.1:9', service: 'nowhere' })
    expect(await shop.readiness()).toEqual({
      ready: false,
      offered: [],
      withheld: {},
      why: expect.stringContaining('does not respond'),
    })
  })
})
