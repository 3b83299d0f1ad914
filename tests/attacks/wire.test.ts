/** The same payment in other clothes: versions, lookup tables, nonces, secret amounts, and other spellings of its name. */
import { address, getAddressEncoder, getProgramDerivedAddress, type Instruction, type KeyPairSigner } from '@solana/kit'
import { getCreateAccountInstruction, getInitializeNonceAccountInstruction } from '@solana-program/system'
import { getTransferInstruction } from '@solana-program/token'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeAddress, decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { token2022Program } from '../../src/core/money/tokens.ts'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
  price,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo, newSigner, proofOf } from '../harness/localnet-fixture.ts'
import { instruction, post, signMessage, succeed, u32, u64 } from '../harness/message.ts'
import { auxiliary, createMint, mintTo, move } from '../harness/mint.ts'

const system = '11111111111111111111111111111111'
const lookupTables = 'AddressLookupTab1e1111111111111111111111111'

let fixture: AttackFixture
let world: LocalnetFixture
let attackedShop: AttackedShop
let payer: KeyPairSigner
let transfer: Instruction
let destination: string

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  attackedShop = await fixture.open()
  payer = await world.person()
  transfer = await move(world, world.usdc, payer, world.recipient.address, price)
  destination = await world.tokenAccount(world.recipient.address, world.usdc)
})
afterAll(() => fixture.close())

/** Makes a table by real instructions, and lets a slot pass, as it must before it can be used. */
async function createTable(entries: readonly string[]): Promise<string> {
  const recent = (await world.rpc<number>('getSlot', [{ commitment: 'confirmed' }])) as number
  const seeds = [getAddressEncoder().encode(payer.address), u64(BigInt(recent))]
  const [table, bump] = await getProgramDerivedAddress({ programAddress: address(lookupTables), seeds })
  const create = instruction(
    lookupTables,
    [
      ['w', table],
      ['r', payer],
      ['w', payer],
      ['r', system],
    ],
    u32(0),
    u64(BigInt(recent)),
    bump,
  )
  const keys = entries.map((entry) => decodeAddress(entry) as Uint8Array)
  const extend = instruction(
    lookupTables,
    [
      ['w', table],
      ['r', payer],
      ['w', payer],
      ['r', system],
    ],
    u32(2),
    u64(BigInt(keys.length)),
    ...keys,
  )
  await succeed(world, [create, extend], payer)
  world.localnet.advance(0, 2)
  return table
}

describe('a transaction of another version', () => {
  it.each([
    ['T32: version 1', 1],
    ['T32: version 0', 0],
    ['T32: the oldest, without a version', 'legacy'],
  ] as const)('%s', async (_name, version) => {
    await attackedShop.serves(await fixture.commit(attackedShop, payer, [transfer], { version }))
  })

  it('T31: the recipient’s account is named by a lookup table only', async () => {
    const table = await createTable([world.recipient.address, world.usdc.address, destination])
    const entries = [world.recipient.address, world.usdc.address, destination]
    const attempt = await fixture.commit(attackedShop, payer, [transfer], { tables: { [table]: entries } })
    const found = await world.rpc<{ meta: { loadedAddresses: unknown } }>('getTransaction', [
      attempt.tx,
      { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 1 },
    ])
    expect(found.meta.loadedAddresses).toEqual({ writable: [destination], readonly: [world.usdc.address] })
    await attackedShop.serves(attempt)
  })

  it('T31: the thief’s account is named by one table, the recipient’s by another at the same place', async () => {
    const thief = await world.person()
    const account = await world.tokenAccount(thief.address, world.usdc)
    const [first, second] = [
      await createTable([account, world.usdc.address]),
      await createTable([destination, world.recipient.address]),
    ]
    const tables = { [first]: [account, world.usdc.address], [second]: [destination, world.recipient.address] }
    const away = await move(world, world.usdc, payer, thief.address, price)
    const decoy = instruction(memo('').programAddress, [], new TextEncoder().encode('decoy'))
    const crumb = await move(world, world.usdc, payer, world.recipient.address, 1n)
    const attempt = await fixture.commit(attackedShop, payer, [away, decoy, crumb], { tables })
    await expectNothing(attackedShop, 'underpaid', attempt)
  })
})

describe('a transfer that says little', () => {
  const unchecked = (source: string, to: string) =>
    getTransferInstruction({ source: address(source), destination: address(to), authority: payer, amount: price })

  it('T30: the unchecked kind does not name its mint', async () => {
    const source = await world.tokenAccount(payer.address, world.usdc)
    await attackedShop.serves(await fixture.commit(attackedShop, payer, [unchecked(source, destination)]))
  })

  it('T30: the unchecked kind, of a worthless mint', async () => {
    const mint = await createMint(world, payer)
    await mintTo(world, mint, payer, { [payer.address]: price, [world.recipient.address]: 0n })
    const [source, to] = [
      await world.tokenAccount(payer.address, mint),
      await world.tokenAccount(world.recipient.address, mint),
    ]
    await expectNothing(attackedShop, 'wrong_mint', await fixture.commit(attackedShop, payer, [unchecked(source, to)]))
  })

  it('T35: a confidential transfer has no public amount (a real one needs proofs, so the node is made to say it worked)', async () => {
    const mint = await createMint(world, payer, { tokenProgram: token2022Program })
    const wallets = [payer, fixture.honest, world.recipient]
    await mintTo(world, mint, payer, Object.fromEntries(wallets.map((wallet) => [wallet.address, price])))
    const shop = await fixture.open({ token: 'NATIVE', price: '0.01', mints: { NATIVE: mint }, scope: 'confidential' })
    const [source, to] = [
      await world.tokenAccount(payer.address, mint),
      await world.tokenAccount(world.recipient.address, mint),
    ]
    const second = await auxiliary(payer, world.recipient.address, mint)
    await succeed(world, second.open, payer)
    for (const [kind, account] of [
      [7, to],
      [13, to],
      [7, second.address],
    ] as const) {
      const hidden = instruction(
        token2022Program,
        [
          ['w', source],
          ['r', mint.address],
          ['w', account],
          ['r', 'Sysvar1nstructions1111111111111111111111111'],
          ['r', payer],
        ],
        27,
        kind,
        new Uint8Array(64),
      )
      const attempt = await fixture.commit(shop, payer, [hidden], { mayFail: true })
      world.localnet.faults.intercept((method, _params, answer) => {
        if (method !== 'getTransaction' || !('result' in answer)) return answer
        const result = answer.result as { readonly meta: object }
        return { result: { ...result, meta: { ...result.meta, err: null, status: { Ok: null } } } }
      })
      await shop.refuses('unsupported_transfer', attempt)
      world.localnet.faults.clear()
      await shop.refuses('tx_failed', attempt)
    }
  })
})

it('T42: a transaction that lives by a nonce lands long after it was signed, and still in time', async () => {
  const account = await newSigner()
  const opening = { payer, newAccount: account, lamports: 2_000_000n, space: 80, programAddress: address(system) }
  await succeed(
    world,
    [
      getCreateAccountInstruction(opening),
      getInitializeNonceAccountInstruction({ nonceAccount: account.address, nonceAuthority: payer.address }),
    ],
    payer,
  )
  const stored = world.localnet.getAccount(account.address)?.data ?? new Uint8Array()
  const nonce = { account: account.address, authority: payer, value: encodeBase58(stored.subarray(40, 72)) }
  const challenge = await attackedShop.challenge()
  const signed = await signMessage(world, [memo(challenge.requestId), transfer], payer, { nonce })
  // Far more slots than a blockhash lives.
  world.localnet.advance(0, 400)
  const tx = await post(world, signed)
  world.localnet.advance(0, 1)
  await attackedShop.serves({ tx, challenge, payer })
})

describe('another spelling of a used signature', () => {
  it.each<[string, (signature: string) => string]>([
    ['T41: with a leading zero byte', (tx) => `1${tx}`],
    ['T41: in quotes', (tx) => `"${tx}"`],
    ['T41: in single quotes', (tx) => `'${tx}'`],
    ['T41: with a space in front', (tx) => ` ${tx}`],
    ['T41: with a space inside', (tx) => `${tx.slice(0, 40)} ${tx.slice(40)}`],
    ['T41: percent-encoded', (tx) => `%${tx.charCodeAt(0).toString(16)}${tx.slice(1)}`],
    ['T41: with a percent-encoded end', (tx) => `${tx}%20`],
    ['T41: with a query', (tx) => `${tx}?`],
    ['T41: with a fragment', (tx) => `${tx}#`],
    ['T41: cut short', (tx) => tx.slice(0, -4)],
    ['T41: with letters more', (tx) => `${tx}1111`],
    ['T41: in hexadecimal', (tx) => Buffer.from(decodeSignature(tx) ?? []).toString('hex')],
    ['T41: in base64', (tx) => Buffer.from(decodeSignature(tx) ?? []).toString('base64')],
    ['T41: twice, joined by a comma', (tx) => `${tx}, ${tx}`],
    ['T41: as a soft-hyphenated text', (tx) => `${tx.slice(0, 40)}\u00ad${tx.slice(40)}`],
  ])('%s', async (_name, spell) => {
    const attempt = await fixture.commit(attackedShop, payer, [transfer])
    const odd = proofOf(spell(attempt.tx), attempt.challenge, payer)
    expect(await attackedShop.presentHeader(odd)).toMatchObject({ status: 403, code: 'proof_malformed' })
    expect(await fixture.ledger.peek(decodeSignature(attempt.tx) as Uint8Array)).toBeUndefined()
    await attackedShop.serves(attempt)
    expect(await attackedShop.presentHeader(odd)).toMatchObject({ status: 403, code: 'proof_malformed' })
    await attackedShop.refuses('payment_replay', attempt)
  })

  it('T41: with spaces around the pairs, which is the same proof', async () => {
    const attempt = await fixture.commit(attackedShop, payer, [transfer])
    await attackedShop.serves(attempt)
    const spaced = proofOf(attempt.tx, attempt.challenge, payer).replaceAll('; ', ' ;   ')
    expect(await attackedShop.presentHeader(`${spaced}  `)).toMatchObject({ status: 409, code: 'payment_replay' })
  })

  it('T41: the second signature of the transaction instead of the first', async () => {
    const sponsor = await world.person()
    const challenge = await attackedShop.challenge()
    const signed = await signMessage(world, [memo(challenge.requestId), transfer], sponsor)
    await post(world, signed)
    world.localnet.advance(0, 1)
    const bytes = Buffer.from(signed.wire, 'base64')
    expect(bytes[0]).toBe(2)
    const second = encodeBase58(bytes.subarray(65, 129))
    await attackedShop.refuses('tx_not_found', { tx: second, challenge, payer })
    await attackedShop.serves({ tx: signed.signature, challenge, payer })
  })
})
