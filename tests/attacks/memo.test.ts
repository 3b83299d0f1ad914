/** The memo ties a payment to a request: byte for byte, from the memo programs, and one transaction for one request. */
import {
  AccountRole,
  address,
  getAddressEncoder,
  getProgramDerivedAddress,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeAddress, decodeSignature } from '../../src/core/encoding/base58.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import {
  type AttackedShop,
  type AttackFixture,
  createAttackFixture,
  expectNothing,
  price,
} from '../harness/attacker-program.ts'
import { type LocalnetFixture, memo, memoV3, newSigner } from '../harness/localnet-fixture.ts'
import { instruction, land, succeed, u32 } from '../harness/message.ts'
import { auxiliary, createMint, extensions, mintTo, move } from '../harness/mint.ts'
import { deployScriptedProgram, type ScriptedProgram, withoutHeights } from '../harness/scripted-program.ts'
import { eventually } from '../harness/shop.ts'

const memoV1 = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo'
const memoV4 = 'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH'
const bytesOf = (text: string) => new TextEncoder().encode(text)

let fixture: AttackFixture
let world: LocalnetFixture
let shop: AttackedShop
let payer: KeyPairSigner
let transfer: Instruction

beforeAll(async () => {
  fixture = await createAttackFixture()
  world = fixture.world
  shop = await fixture.open()
  payer = await world.person()
  transfer = await move(world, world.usdc, payer, world.recipient.address, price)
})
afterAll(() => fixture.close())

const commit = (plan: (challenge: Challenge) => readonly Instruction[] | Promise<readonly Instruction[]>) =>
  fixture.commit(shop, payer, async (challenge) => [...(await plan(challenge)), transfer], { bare: true })

describe('a memo that is not the requestId', () => {
  it.each<[string, (requestId: string) => readonly (string | Uint8Array)[]]>([
    ['T22: none at all', () => []],
    ['T22: another text', () => ['hello']],
    ['T22: something in front of it', (id) => [`x${id}`]],
    ['T22: something behind it', (id) => [`${id}x`]],
    ['T22: a space behind it', (id) => [`${id} `]],
    ['T22: a line end behind it', (id) => [`${id}\n`]],
    ['T22: a NUL behind it', (id) => [`${id}\0`]],
    ['T22: a byte order mark in front of it', (id) => [`\ufeff${id}`]],
    ['T22: in quotes', (id) => [`"${id}"`]],
    ['T22: in capitals', (id) => [id.toUpperCase()]],
    ['T22: the beginning of it', (id) => [id.slice(0, -1)]],
    ['T22: twice in one memo', (id) => [`${id}${id}`]],
    ['T22: in letters that normalise to the same', (id) => [`${fullWidth(id.slice(0, 8))}${id.slice(8)}`]],
    ['T22: with a mark that normalisation keeps apart', (id) => [`${id}\u0301`]],
    ['T22: empty', () => ['']],
    ['T+: split over two memos', (id) => [id.slice(0, 20), id.slice(20)]],
    ['T+: the bytes behind its base64url', (id) => [Buffer.from(id, 'base64url').toString('hex')]],
  ])('%s', async (_name, texts) => {
    const attempt = await commit(({ requestId }) => texts(requestId).map((text) => memo(text)))
    await expectNothing(shop, 'memo_mismatch', attempt)
  })

  it('T44: an old payment of the same amount, made for something else', async () => {
    const tx = await succeed(world, [transfer], payer)
    await expectNothing(shop, 'memo_mismatch', { tx, challenge: await shop.challenge(), payer })
  })

  it('T25: not UTF-8, which all memo programs refuse', async () => {
    for (const program of [memoV1, memoV3, memoV4]) {
      const plan = ({ requestId }: Challenge) => [memo(Uint8Array.of(...bytesOf(requestId), 0xff), program), transfer]
      const attempt = await fixture.commit(shop, payer, plan, { bare: true, mayFail: true })
      await expectNothing(shop, 'tx_failed', attempt)
    }
  })

  it('T+: a program that is no memo program, though it has the same code', async () => {
    const copy = (await newSigner()).address
    world.localnet.setProgram(copy, world.localnet.getAccount(memoV3)?.data ?? new Uint8Array())
    await expectNothing(shop, 'memo_mismatch', await commit(({ requestId }) => [memo(requestId, copy)]))
  })

  it('T+: written into the log by a failed call only', async () => {
    const scriptedProgram = await deployScriptedProgram(world)
    const account = await auxiliary(payer, payer.address, world.usdc)
    const attempt = await fixture.commit(
      shop,
      payer,
      // The memo runs; the step after it fails, and everything with it.
      ({ requestId }) => [transfer, scriptedProgram.act([memo(requestId), memo(Uint8Array.of(0xff))]), ...account.open],
      { bare: true, mayFail: true },
    )
    await expectNothing(shop, 'tx_failed', attempt)
  })

  it('T+: only in the data of another program', async () => {
    const scriptedProgram = await deployScriptedProgram(world)
    const plan = ({ requestId }: Challenge) => [instruction(scriptedProgram.address, [], bytesOf(requestId))]
    await expectNothing(shop, 'memo_mismatch', await commit(plan))
  })
})

describe('a memo that is the requestId', () => {
  it.each([
    ['T23: by version 1 of the program', memoV1],
    ['T23: by version 3 of the program', memoV3],
    ['T23: by version 4 of the program', memoV4],
  ])('%s', async (_name, program) => {
    await shop.serves(await commit(({ requestId }) => [memo(requestId, program)]))
  })

  it.each([
    ['T24: signed by the payer and by a stranger, under version 3', memoV3, true],
    ['T24: signed by the payer and by a stranger, under version 4', memoV4, true],
    ['T24: with accounts that did not sign, which version 1 allows', memoV1, false],
  ])('%s', async (_name, program, signs) => {
    const stranger = await world.person()
    const attempt = await commit(({ requestId }) => [
      instruction(
        program,
        [['r', payer] as const, ['r', signs ? stranger : stranger.address] as const],
        bytesOf(requestId),
      ),
    ])
    await shop.refuses('payer_mismatch', { ...attempt, payer: stranger })
    await shop.serves(attempt)
  })

  it.each([
    ['T28: first of three', ['', 'a', 'b']],
    ['T28: between others', ['a', '', 'b']],
    ['T28: last of three', ['a', 'b', '']],
  ])('%s', async (_name, texts) => {
    const attempt = await commit(({ requestId }) => texts.map((text) => memo(text || requestId)))
    await shop.serves(attempt)
    await shop.refuses('payment_replay', attempt)
  })

  it('T+: behind the transfer', async () => {
    const plan = ({ requestId }: Challenge) => [transfer, memo(requestId)]
    await shop.serves(await fixture.commit(shop, payer, plan, { bare: true }))
  })
})

/** The payer pays for its own request, and a program that its transaction reaches names the thief's. */
describe('a memo of a program on the way', () => {
  /** Instructions that write the thief's memo, beside the payer's own memo and transfer. */
  type Route = (own: string, stolen: string) => readonly Instruction[] | Promise<readonly Instruction[]>

  let [router, scribe]: ScriptedProgram[] = []
  beforeAll(async () => {
    router = await deployScriptedProgram(world)
    scribe = await deployScriptedProgram(world)
  })
  const act = (scriptedProgram: ScriptedProgram | undefined, ...steps: readonly Instruction[]) =>
    (scriptedProgram as ScriptedProgram).act(steps)

  it.each<[string, Route]>([
    ['a swap route', (own, stolen) => [memo(own), transfer, act(router, memo(stolen))]],
    ['a swap route before the payment', (own, stolen) => [act(router, memo(stolen)), transfer, memo(own)]],
    [
      'a call below the program that pays',
      (own, stolen) => [act(router, memo(own), transfer, act(scribe, memo(stolen)))],
    ],
    [
      'the program above the one that pays',
      (own, stolen) => [act(scribe, memo(stolen), act(router, memo(own), transfer))],
    ],
    [
      'another call of the program that pays',
      (own, stolen) => [act(router, memo(own), transfer), act(router, memo(stolen))],
    ],
    ['a transfer hook', async (own, stolen) => [memo(own), transfer, await hooked(memo(stolen))]],
    [
      'a transfer hook below the program that pays',
      async (own, stolen) => [act(router, memo(own), transfer, await hooked(memo(stolen)))],
    ],
  ])('T173: %s takes nothing, and the payer is served', async (_name, route) => {
    const [own, stolen] = [await shop.challenge(), await shop.challenge()]
    const tx = await succeed(world, await route(own.requestId, stolen.requestId), payer)
    await shop.refuses('memo_mismatch', { tx, challenge: stolen, payer })
    await shop.serves({ tx, challenge: own, payer })
    await shop.sellsHonestly(stolen)
  })

  it.each<[string, (requestId: string) => readonly Instruction[]]>([
    ['the program that passes on the order', (id) => [act(router, memo(id), transfer)]],
    ['that program, after the transfer', (id) => [act(router, transfer, memo(id))]],
    ['that program, two calls deep', (id) => [act(scribe, act(router, memo(id), transfer))]],
    ['the payer, while a program passes on the order', (id) => [memo(id), act(scribe, act(router, transfer))]],
  ])('T173: of %s counts', async (_name, plan) => {
    await shop.serves(await fixture.commit(shop, payer, ({ requestId }) => plan(requestId), { bare: true }))
  })

  it('T173: is not refused for good while a node does not tell which program called', async () => {
    const attempt = await fixture.commit(shop, payer, ({ requestId }) => [act(router, memo(requestId), transfer)], {
      bare: true,
    })
    world.localnet.faults.intercept(withoutHeights)
    await shop.refuses('chain_unavailable', attempt)
    const plain = await fixture.commit(shop, payer, [act(router, transfer)])
    await shop.serves(plain)
    world.localnet.faults.clear()
    await shop.serves(attempt)
  })

  /** A transfer of a token whose mint has a hook, which writes a memo. */
  async function hooked({ programAddress, data = new Uint8Array() }: Instruction): Promise<Instruction> {
    const { honest: issuer } = fixture
    // A call of the program at position 5, without accounts: behind the five accounts of every hook.
    const hook = await deployScriptedProgram(world, undefined, 0, Uint8Array.from([1, data.length, 0, 5, 0, ...data]))
    const hookOf = extensions.transferHook(hook.address, issuer.address)
    const mint = await createMint(world, issuer, { extensions: [hookOf] })
    await mintTo(world, mint, issuer, { [payer.address]: 1n, [issuer.address]: 0n })
    const [list] = await getProgramDerivedAddress({
      programAddress: hook.address,
      seeds: ['extra-account-metas', getAddressEncoder().encode(address(mint.address))],
    })
    // The name of the hook's instruction, then one further account: neither signer nor writable.
    const head = [105, 37, 101, 197, 75, 251, 102, 26, ...u32(4 + 35), ...u32(1)]
    world.localnet.setAccount(list, {
      lamports: 10_000_000n,
      data: Uint8Array.from([...head, 0, ...(decodeAddress(programAddress) ?? []), 0, 0]),
      owner: hook.address,
      executable: false,
      rentEpoch: 0n,
    })
    const moving = await move(world, mint, payer, issuer.address, 1n)
    const more = [programAddress, hook.address, list].map((one) => ({ address: one, role: AccountRole.READONLY }))
    return { ...moving, accounts: [...(moving.accounts ?? []), ...more] }
  }
})

describe('one transaction for many requests', () => {
  it.each([
    ['T29: four memos and the price of one', price],
    ['T29: four memos and four times the price', 4n * price],
  ])('%s', async (_name, units) => {
    const challenges = await Promise.all(Array.from({ length: 4 }, () => shop.challenge()))
    const paying = await move(world, world.usdc, payer, world.recipient.address, units)
    const memos = challenges.map(({ requestId }) => memo(requestId))
    const tx = await land(world, [...memos, paying], payer)
    const answers = await Promise.all(challenges.map((challenge) => shop.present({ tx, challenge, payer })))
    const refused = answers.filter(({ status }) => status === 409)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(refused.map(({ code }) => code)).toEqual(Array.from({ length: 3 }, () => 'payment_replay'))
    // The requests that were turned away are still for sale.
    for (const [index, { status }] of answers.entries()) {
      if (status === 409) await shop.sellsHonestly(challenges[index] as Challenge)
    }
  })
})

describe('one transaction while it is being delivered', () => {
  it('T29: is refused for good for another request, and not merely for the moment', async () => {
    let release: () => void = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = await fixture.open({ scope: 'slow' }, async () => {
      await released
      return { body: 'the secret' }
    })
    const [challenge, other] = [await slow.challenge(), await slow.challenge()]
    const tx = await succeed(world, [memo(challenge.requestId), memo(other.requestId), transfer], payer)
    const first = slow.present({ tx, challenge, payer })
    await eventually(
      () => fixture.ledger.peek(decodeSignature(tx) as Uint8Array),
      (standing) => standing?.state === 'busy',
    )
    await slow.refuses('payment_in_progress', { tx, challenge, payer })
    await slow.refuses('payment_replay', { tx, challenge: other, payer })
    release()
    expect((await first).status).toBe(200)
  })
})

function fullWidth(text: string): string {
  return text.replace(/[A-Za-z0-9]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))
}
