import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoProgram } from '../../src/chain/accounts/programs.ts'
import { createWallet, type Wallet } from '../../src/chain/keys/keypair.ts'
import { walletFromSigner } from '../../src/chain/keys/signer.ts'
import { openTransaction, verifySignatures } from '../../src/chain/read/decode.ts'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { type Mint, token2022Program } from '../../src/core/money/tokens.ts'
import { computeGain } from '../../src/core/payment/verify.ts'
import type { TransferOrder } from '../../src/core/payouts/outgoing-wallet.ts'
import { createVerifier } from '../../src/host/keys/ed25519.ts'
import { newSigner } from '../harness/localnet-fixture.ts'
import { instruction, succeed } from '../harness/message.ts'
import { createMint, extensions, mintTo } from '../harness/mint.ts'
import { honest, lying, NodeError, type NodeScript } from './nodes-fixture.ts'
import { createOffice, type PayoutFixture, signedIn, transfer } from './payout-fixture.ts'

let fixture: PayoutFixture
let native: Mint
const memo = `paystile:${'x'.repeat(22)}`

beforeAll(async () => {
  fixture = await createOffice()
  native = fixture.native
})
afterAll(() => fixture.close())

const dead: NodeScript = () => Promise.reject(new Error('no route'))
const sign = (order: Partial<TransferOrder>, outgoingWallet = fixture.outgoingWallet) =>
  outgoingWallet.sign({ mint: native, transfers: [], memo, ...order })
/** Its memory begins later than what it is asked for. */
const forgetful: NodeScript = async ({ method }, forward) => {
  const answer = await forward()
  if (method === 'getTransaction') return null
  return method === 'getSignatureStatuses' ? { ...(answer as object), value: [null] } : answer
}
const finalize = () => fixture.localnet.advance(0, 40)

describe('a payout', () => {
  it('pays seventeen people in one transaction, each exactly theirs, and can be read again', async () => {
    const people = await fixture.people(17)
    const transfers = people.map((owner, index) => transfer(owner, BigInt(1_000 + index)))
    expect(fixture.outgoingWallet.fit({ mint: native, transfers, memo })).toBe(17)
    const before = await fixture.held(fixture.sender.address, native)
    const signed = signedIn(await sign({ transfers }))
    expect(await fixture.outgoingWallet.readOutcome(signed)).toMatchObject({ kind: 'open' })
    expect(await fixture.outgoingWallet.read(signed.signature)).toBeUndefined()
    await fixture.land(signed)
    for (const [index, owner] of people.entries()) expect(await fixture.held(owner, native)).toBe(BigInt(1_000 + index))
    const total = transfers.reduce((sum, { units }) => sum + units, 0n)
    expect(before - (await fixture.held(fixture.sender.address, native))).toBe(total)

    expect(await fixture.outgoingWallet.readOutcome(signed)).toMatchObject({
      kind: 'open',
      why: expect.stringContaining('final'),
    })
    expect(await fixture.outgoingWallet.read(signed.signature)).toBeUndefined()
    finalize()
    expect(await fixture.outgoingWallet.readOutcome(signed)).toMatchObject({ kind: 'landed', slot: expect.any(Number) })
    const effect = await fixture.outgoingWallet.read(signed.signature)
    if (!effect) throw new Error('it cannot be read')
    expect(effect.memos).toEqual([memo])
    expect(effect.failed).toBe(false)
    for (const { owner, units } of transfers) expect(computeGain(effect, owner, native.address)).toBe(units)
    expect(computeGain(effect, fixture.sender.address, native.address)).toBe(-total)
    // 5,000 for the signature, the rest for priority.
    expect(effect.fee).toBe(5_000n + 2_300n)
  })

  it('is signed by the wallet alone, pays for its computation, and says from which slot on it could land', async () => {
    const [owner = ''] = await fixture.people(1)
    const first = fixture.localnet.slot()
    const { wire, signature, lastValidBlockHeight, slot } = signedIn(await sign({ transfers: [transfer(owner, 5n)] }))
    const transaction = openTransaction(wire)
    expect(transaction.version).toBe(0)
    expect(transaction.signatures.map(encodeBase58)).toEqual([signature])
    expect(encodeBase58(transaction.keys[0] ?? new Uint8Array())).toBe(fixture.sender.address)
    expect(verifySignatures(transaction, createVerifier())).toBe(true)
    const programs = transaction.instructions.map(({ program }) =>
      encodeBase58(transaction.keys[program] as Uint8Array),
    )
    expect(programs.slice(0, 3)).toEqual([
      'ComputeBudget111111111111111111111111111111',
      'ComputeBudget111111111111111111111111111111',
      memoProgram,
    ])
    expect(lastValidBlockHeight).toBeGreaterThan(first)
    expect(slot).toBeLessThanOrEqual(first)
    expect(slot).toBeGreaterThan(first - 3)
  })

  it('T155: opens missing accounts, also pre-funded ones, and a second run does no harm', async () => {
    const people = await Promise.all(Array.from({ length: 7 }, newSigner))
    for (const { address } of people) {
      await fixture.localnet.fund(await fixture.tokenAccount(address, native), { SOL: 1_000_000n })
    }
    const transfers = people.map(({ address }) => transfer(address, 9n, true))
    expect(fixture.outgoingWallet.fit({ mint: native, transfers, memo })).toBe(7)
    const lamports = await fixture.held(fixture.sender.address)
    await fixture.land(signedIn(await sign({ transfers })))
    for (const { address } of people) expect(await fixture.held(address, native)).toBe(9n)
    const cost = (await fixture.outgoingWallet.openingCost(native)) ?? 0n
    expect(cost).toBe(2_039_280n)
    const spent = lamports - (await fixture.held(fixture.sender.address))
    expect(spent).toBeGreaterThan(7n * (cost - 1_000_000n))
    expect(spent).toBeLessThan(7n * cost)
    await fixture.land(signedIn(await sign({ transfers, memo: 'again' })))
    for (const { address } of people) expect(await fixture.held(address, native)).toBe(18n)
    // One more would be one call too many for the chain.
    const more = await Promise.all(Array.from({ length: 8 }, newSigner))
    for (const { address } of more) {
      await fixture.localnet.fund(await fixture.tokenAccount(address, native), { SOL: 1_000_000n })
    }
    expect(await sign({ transfers: more.map(({ address }) => transfer(address, 9n, true)) })).toMatchObject({
      kind: 'impossible',
      why: expect.stringContaining('MaxInstructionTraceLengthExceeded'),
    })
  })

  it('pays SOL', async () => {
    const people = await Promise.all(Array.from({ length: 19 }, newSigner))
    const transfers = people.map(({ address }, index) => transfer(address, 1_000_000n + BigInt(index)))
    expect(fixture.outgoingWallet.fit({ mint: undefined, transfers, memo })).toBe(19)
    const signed = signedIn(await sign({ mint: undefined, transfers }))
    await fixture.land(signed)
    for (const [index, { address }] of people.entries())
      expect(await fixture.held(address)).toBe(1_000_000n + BigInt(index))
    finalize()
    const effect = await fixture.outgoingWallet.read(signed.signature)
    if (!effect) throw new Error('it cannot be read')
    expect(people.map(({ address }, index) => computeGain(effect, address, 'SOL') - BigInt(index))).toEqual(
      people.map(() => 1_000_000n),
    )
  })

  it('pays under Token-2022, and opens accounts there', async () => {
    const authority = await fixture.person()
    const mint = await createMint(fixture, authority, { tokenProgram: token2022Program })
    const [old, young] = [await newSigner(), await newSigner()]
    await mintTo(fixture, mint, authority, { [fixture.sender.address]: 1_000n, [old.address]: 0n })
    const transfers = [transfer(old.address, 5n), transfer(young.address, 6n, true)]
    await fixture.land(signedIn(await sign({ mint, transfers })))
    expect(await fixture.held(old.address, mint)).toBe(5n)
    expect(await fixture.held(young.address, mint)).toBe(6n)
  })

  it.each<[string, readonly NodeScript[], string]>([
    ['though those asked first have forgotten it', [forgetful, forgetful, honest, honest], 'effect'],
    ['though most have', [forgetful, forgetful, honest, forgetful, honest], 'effect'],
    ['though nobody answers first', [dead, dead, honest, honest], 'effect'],
    ['but not from one alone', [honest, forgetful], 'undefined'],
    ['but not from one alone of many', [forgetful, forgetful, forgetful, honest], 'undefined'],
    ['and not where nobody has it', [forgetful, forgetful, forgetful], 'undefined'],
  ])('can be read when it has landed, %s', async (_how, nodes, expected) => {
    const [owner = ''] = await fixture.people(1)
    const signed = signedIn(await sign({ transfers: [transfer(owner, 5n)] }))
    await fixture.land(signed)
    finalize()
    const effect = await fixture.courierOf(nodes).read(signed.signature)
    expect(typeof effect === 'object' ? 'effect' : String(effect)).toBe(expected)
  })

  it('sends two transfers to one payee as two', async () => {
    const [owner = ''] = await fixture.people(1)
    await fixture.land(signedIn(await sign({ transfers: [transfer(owner, 5n), transfer(owner, 6n)] })))
    expect(await fixture.held(owner, native)).toBe(11n)
  })

  it('costs no more than it may', async () => {
    const [owner = ''] = await fixture.people(1)
    const feeOf = async (maxFeeLamports: bigint, attempts = 7) => {
      const outgoingWallet = fixture.courierOf([honest], { maxFeeLamports })
      const signed = signedIn(
        await outgoingWallet.sign({
          mint: native,
          transfers: [transfer(owner, 1n)],
          memo: `${maxFeeLamports} ${attempts}`,
          attempts,
        }),
      )
      await fixture.land(signed)
      finalize()
      const effect = await outgoingWallet.read(signed.signature)
      return effect?.fee
    }
    expect(await feeOf(5_000n)).toBe(5_000n)
    expect(await feeOf(6_001n)).toBe(6_001n)
    expect(await feeOf(10n ** 9n, 0)).toBe(5_700n)
    expect(await feeOf(10n ** 9n)).toBe(94_600n)
    const mean = fixture.courierOf([honest], { maxFeeLamports: 4_999n })
    expect(await sign({ transfers: [transfer(owner, 1n)] }, mean)).toMatchObject({
      kind: 'impossible',
      why: expect.stringContaining('at least 5000 lamports'),
    })
  })
})

describe('before it is signed', () => {
  it.each<[string, Partial<TransferOrder>, string]>([
    ['nothing', { transfers: [] }, 'nothing to send'],
    ['an amount of nothing', { transfers: [transfer('11111111111111111111111111111111', 0n)] }, 'amount'],
    ['more than there can be', { transfers: [transfer('11111111111111111111111111111111', 2n ** 64n)] }, 'amount'],
    ['what is no address', { transfers: [transfer('somewhere', 1n)] }, 'address'],
  ])('%s is refused', async (_name, order, why) => {
    expect(await sign(order)).toEqual({ kind: 'impossible', why: expect.stringContaining(why) })
  })

  it('more transfers than fit are refused', async () => {
    const people = await Promise.all(Array.from({ length: 19 }, newSigner))
    const transfers = people.map(({ address }) => transfer(address, 1n))
    expect(await sign({ transfers })).toMatchObject({
      kind: 'impossible',
      why: expect.stringContaining('send at most 18'),
    })
  })

  it('T147: no node sees a signature that it could send', async () => {
    const [owner = ''] = await fixture.people(1)
    const seen: string[] = []
    const curious: NodeScript = (question, forward) => {
      if (question.method === 'simulateTransaction') seen.push(String(question.params[0]))
      expect(question.method).not.toBe('sendTransaction')
      return forward()
    }
    const signed = signedIn(await sign({ transfers: [transfer(owner, 1n)] }, fixture.courierOf([curious, curious])))
    expect(seen.length).toBeGreaterThan(0)
    for (const wire of seen) {
      const { signatures } = openTransaction(Buffer.from(wire, 'base64'))
      expect(signatures.every((signature) => signature.every((byte) => byte === 0))).toBe(true)
      await fixture.rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }]).catch(() => {})
    }
    fixture.localnet.advance(0, 1)
    expect(await fixture.held(owner, native)).toBe(0n)
    await fixture.land(signed)
    expect(await fixture.held(owner, native)).toBe(1n)
  })

  it('T155: a frozen account is blamed, by its place and not by its name', async () => {
    const authority = await fixture.person()
    const mint = await createMint(fixture, authority)
    const [first, second, third] = [await newSigner(), await newSigner(), await newSigner()]
    const accounts = { [fixture.sender.address]: 50n, [first.address]: 0n, [second.address]: 0n }
    await mintTo(fixture, mint, authority, accounts)
    await fixture.freeze(second.address, mint, authority)
    const transfers = [transfer(first.address, 5n), transfer(second.address, 5n)]
    const signing = await sign({ mint, transfers })
    expect(signing).toEqual({ kind: 'impossible', why: expect.stringContaining('transfer 2 of 2'), transfer: 1 })
    expect(JSON.stringify(signing)).toContain('frozen')
    expect(JSON.stringify(signing)).not.toContain(second.address)
    // An account that is not there is somebody's, too.
    expect(await sign({ mint, transfers: [transfer(third.address, 5n)] })).toMatchObject({
      why: expect.stringContaining('the payee has no token account'),
      transfer: 0,
    })
    expect(await sign({ mint, transfers: [transfer(third.address, 5n, true)] })).toMatchObject({ kind: 'signed' })
    // Where the sender is frozen, nobody else is to blame.
    await fixture.freeze(fixture.sender.address, mint, authority)
    const own = await sign({ mint, transfers: [transfer(first.address, 5n)] })
    expect(own).toEqual({
      kind: 'impossible',
      why: expect.stringContaining(`frozen the token account of ${fixture.sender.address}`),
    })
  })

  it('too little money is blamed on no payee, and is reported in numbers', async () => {
    const [one = '', two = ''] = await fixture.people(2)
    const poor = await newSigner()
    const outgoingWallet = fixture.courierOf([honest], { wallet: await createWallet(poor) })
    const transfers = [transfer(one, 1_500_000_000n), transfer(two, 1_500_000_000n)]
    expect(await sign({ transfers }, outgoingWallet)).toEqual({
      kind: 'impossible',
      why: expect.stringContaining(`${poor.address} has too little SOL for the fee`),
    })
    await fixture.localnet.fund(poor.address, { SOL: 1_000_000_000n })
    expect(await sign({ transfers }, outgoingWallet)).toEqual({
      kind: 'impossible',
      why: expect.stringContaining(`${poor.address} holds none of the token`),
    })
    await fixture.localnet.fund(poor.address, { NATIVE: 2_000_000_000n })
    const short = `${poor.address} holds 2 of the token and needs 3`
    expect(await sign({ transfers }, outgoingWallet)).toEqual({
      kind: 'impossible',
      why: expect.stringContaining(short),
    })
    expect(await sign({ mint: undefined, transfers }, outgoingWallet)).toEqual({
      kind: 'impossible',
      why: expect.stringContaining(`${poor.address} holds 1 SOL and needs 3`),
    })
    expect(await sign({ mint: undefined, transfers: [transfer(one, 999_500_000n)] }, outgoingWallet)).toEqual({
      kind: 'impossible',
      why: expect.stringContaining('would keep less SOL than an account must hold'),
    })
    await fixture.land(
      signedIn(await sign({ mint: undefined, transfers: [transfer(one, 998_000_000n)] }, outgoingWallet)),
    )
    const stranger = await newSigner()
    expect(await sign({ transfers: [transfer(stranger.address, 1n, true)] }, outgoingWallet)).toEqual({
      kind: 'impossible',
      why: expect.stringContaining('too little SOL to open the accounts'),
    })
  })

  it('a transfer that would leave an empty wallet below the rent is blamed', async () => {
    const [rich = ''] = await fixture.people(1)
    await fixture.localnet.fund(rich, { SOL: 1_000_000n })
    const empty = await newSigner()
    const transfers = [transfer(rich, 1n), transfer(empty.address, 1_000n)]
    expect(await sign({ mint: undefined, transfers })).toEqual({
      kind: 'impossible',
      why: 'transfer 2 of 2 is too small to open an empty wallet',
      transfer: 1,
    })
  })

  it('a paused mint is blamed on no payee', async () => {
    const authority = await fixture.person()
    const mint = await createMint(fixture, authority, { extensions: [extensions.pausable(authority.address)] })
    const person = await newSigner()
    await mintTo(fixture, mint, authority, { [fixture.sender.address]: 50n, [person.address]: 0n })
    const order = { mint, transfers: [transfer(person.address, 5n)] }
    expect((await sign(order)).kind).toBe('signed')
    await succeed(
      fixture,
      [
        instruction(
          mint.tokenProgram,
          [
            ['w', mint.address],
            ['r', authority],
          ],
          44,
          1,
        ),
      ],
      authority,
    )
    expect(await sign(order)).toEqual({ kind: 'impossible', why: expect.stringMatching(/^the transfer would fail \(/) })
  })
})

describe('a node that cannot be asked', () => {
  const order = async () => ({ transfers: [transfer((await fixture.people(1))[0] ?? '', 1n)] })
  const failing = (err: unknown) =>
    lying('simulateTransaction', (result) => ({ ...(result as object), value: { err } }))

  it.each<[string, readonly NodeScript[]]>([
    ['is dead', [dead]],
    [
      'refuses to try',
      [
        (question, forward) =>
          question.method === 'simulateTransaction' ? Promise.reject(new NodeError(-32005)) : forward(),
      ],
    ],
    ['does not know the block yet', [failing('BlockhashNotFound')]],
    ['has no room', [failing('WouldExceedMaxBlockCostLimit')]],
    ['says nothing of the outcome', [lying('simulateTransaction', () => ({ context: { slot: 1 }, value: {} }))]],
    ['says no slot', [lying('simulateTransaction', () => ({ value: { err: null } }))]],
    [
      'says no slot with its block',
      [lying('getLatestBlockhash', (result) => ({ value: (result as { value: unknown }).value }))],
    ],
    ['is of another chain', [lying('getGenesisHash', () => 'elsewhere')]],
  ])('that %s makes it unavailable', async (_name, scripts) => {
    expect(await sign(await order(), fixture.courierOf(scripts))).toMatchObject({ kind: 'unavailable' })
  })

  it('T73: that goes over to another chain in between does so, too', async () => {
    let asked = 0
    const leaving: NodeScript = (question, forward) => {
      if (question.method !== 'getGenesisHash') return forward()
      asked += 1
      return asked > 1 ? Promise.resolve('elsewhere') : forward()
    }
    expect(await sign(await order(), fixture.courierOf([leaving]))).toMatchObject({ kind: 'unavailable' })
  })

  it('does not matter where another can be', async () => {
    const others: readonly NodeScript[] = [dead, failing('BlockhashNotFound'), failing('AccountNotFound')]
    for (const other of others) {
      expect((await sign(await order(), fixture.courierOf([other, honest]))).kind).toBe('signed')
      expect((await sign(await order(), fixture.courierOf([honest, other]))).kind).toBe('signed')
    }
  })

  it('an unknown cause is blamed on no payee', async () => {
    const odd = fixture.courierOf([failing({ InstructionError: [3, { Custom: 1 }] })])
    const why = 'the transfer would fail ({"InstructionError":[3,{"Custom":1}]})'
    expect(await sign(await order(), odd)).toEqual({ kind: 'impossible', why })
    const strange = fixture.courierOf([failing({ InstructionError: [2, 'InvalidInstructionData'] })])
    expect(await sign(await order(), strange)).toEqual({
      kind: 'impossible',
      why: expect.stringMatching(/^it would fail/),
    })
  })

  it('keeps the reason of another payee', async () => {
    const { address } = await newSigner()
    const transfers = [transfer(address, 1n)]
    expect(await sign({ transfers }, fixture.courierOf([honest, dead]))).toMatchObject({
      kind: 'impossible',
      transfer: 0,
    })
    expect(await sign({ transfers }, fixture.courierOf([dead, honest]))).toMatchObject({
      kind: 'impossible',
      transfer: 0,
    })
  })

  it('T148: of two slots the later is kept, and nothing is signed where they are far apart', async () => {
    fixture.localnet.advanceSlots(2_000)
    const at = (method: string, slot: number) =>
      lying(method, (result) => ({ ...(result as object), context: { slot } }))
    const now = fixture.localnet.slot()
    const early = at('getLatestBlockhash', now - 900)
    expect(signedIn(await sign(await order(), fixture.courierOf([early]))).slot).toBeGreaterThan(now - 100)
    const past = at('simulateTransaction', now - 900)
    expect(signedIn(await sign(await order(), fixture.courierOf([past]))).slot).toBeGreaterThan(now - 100)
    for (const lie of [at('getLatestBlockhash', 10 ** 9), at('getLatestBlockhash', 4), at('simulateTransaction', 4)]) {
      const why = expect.stringContaining('too far apart')
      expect(await sign(await order(), fixture.courierOf([lie]))).toEqual({ kind: 'unavailable', why })
    }
  })
})

describe('a wallet', () => {
  const order = async () => ({ transfers: [transfer((await fixture.people(1))[0] ?? '', 1n)] })
  const courierWith = (wallet: Wallet) => fixture.courierOf([honest], { wallet })

  it('of a kit signer will do', async () => {
    const { address, signTransactions } = fixture.sender
    const outgoingWallet = courierWith(walletFromSigner({ address, signTransactions }))
    await fixture.land(signedIn(await sign(await order(), outgoingWallet)))
  })

  it('that changes the message is refused, because nothing may be added to a payout', async () => {
    const wallet = await createWallet(fixture.sender)
    const other = signedIn(await sign({ ...(await order()), memo: 'more for me' }))
    const changing: Wallet = { ...wallet, signTransaction: async () => other.wire }
    expect(await sign(await order(), courierWith(changing))).toEqual({
      kind: 'impossible',
      why: 'the wallet changed the transaction',
    })
  })

  it('that does not sign is refused, and one out of reach is asked again', async () => {
    const wallet = await createWallet(fixture.sender)
    const idle: Wallet = { ...wallet, signTransaction: async (bytes) => bytes }
    expect(await sign(await order(), courierWith(idle))).toMatchObject({ kind: 'impossible' })
    const away: Wallet = {
      ...wallet,
      signTransaction: () => Promise.reject(new TypeError('fetch failed: https://keys.test/s3cret')),
    }
    expect(await sign(await order(), courierWith(away))).toEqual({
      kind: 'unavailable',
      why: 'the wallet did not sign (TypeError)',
    })
  })
})

describe('sending', () => {
  const order = async () => ({ transfers: [transfer((await fixture.people(1))[0] ?? '', 1n)] })

  it('again is fine, also when it has landed', async () => {
    const signed = signedIn(await sign(await order()))
    expect(await fixture.outgoingWallet.send(signed)).toEqual({ kind: 'sent' })
    expect(await fixture.outgoingWallet.send(signed)).toEqual({ kind: 'sent' })
    fixture.localnet.advance(0, 1)
    expect(await fixture.outgoingWallet.send(signed)).toEqual({ kind: 'sent' })
  })

  it('reaches the chain through any node, also when another takes it and loses it', async () => {
    const [owner = ''] = await fixture.people(1)
    const signed = signedIn(await sign({ transfers: [transfer(owner, 3n)] }))
    const losing: NodeScript = (question, forward) =>
      question.method === 'sendTransaction' ? Promise.resolve(signed.signature) : forward()
    const slow: NodeScript = async (question, forward) => {
      const result = await forward()
      if (question.method === 'sendTransaction') arrived()
      return result
    }
    let arrived = () => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    expect(await fixture.courierOf([losing, slow, dead]).send(signed)).toEqual({ kind: 'sent' })
    await arrival
    fixture.localnet.advance(0, 1)
    expect(await fixture.held(owner, native)).toBe(3n)
  })

  it('gives the reason if it was not sent, and reports unknown if no node responds', async () => {
    const signed = signedIn(await sign(await order()))
    fixture.localnet.advance(0, 400)
    expect(await fixture.outgoingWallet.send(signed)).toEqual({ kind: 'rejected', why: 'BlockhashNotFound' })
    expect(await fixture.courierOf([dead]).send(signed)).toMatchObject({ kind: 'unknown' })
    expect(await fixture.courierOf([honest, dead]).send(signed)).toMatchObject({ kind: 'unknown' })
  })

  it('takes no bytes under another signature: their fate would be told of another', async () => {
    const [one, two] = [signedIn(await sign(await order())), signedIn(await sign(await order()))]
    const mixed = { ...one, signature: two.signature }
    await expect(fixture.outgoingWallet.send(mixed)).rejects.toThrow(TypeError)
    await expect(fixture.outgoingWallet.readOutcome(mixed)).rejects.toThrow(TypeError)
    await expect(fixture.outgoingWallet.send({ ...one, wire: new Uint8Array() })).rejects.toThrow(TypeError)
  })
})
