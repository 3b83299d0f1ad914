/** The attacker's workbench: a chain, shops on it, and the question whether an attempt left any trace. */
import { type Instruction, type KeyPairSigner, signBytes } from '@solana/kit'
import { expect } from 'vitest'
import { decodeSignature, encodeBase58 } from '../../src/core/encoding/base58.ts'
import { parseUnits } from '../../src/core/money/money.ts'
import type { KnownCode } from '../../src/core/money/tokens.ts'
import { type RefusalCode, refusals } from '../../src/core/payment/refusals.ts'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import type { ProviderOptions } from '../../src/paywall/config/options.ts'
import { createReferenceLedger } from '../ledger/reference/ledger.ts'
import { adapters, type Content, type Handler, type Serve } from './adapters.ts'
import { createLocalnetFixture, type LocalnetFixture, memo, proofOf } from './localnet-fixture.ts'
import { land, type MessageOptions, succeed } from './message.ts'
import { move } from './mint.ts'
import { openShop, type Shop, useTemporaryHome } from './shop.ts'

/** The price of the catalogue: 0.01 USDC. */
export const price = 10_000n

export interface Attempt {
  readonly tx: string
  readonly challenge: Challenge
  readonly payer: { readonly address: string }
  /** More keys for the proof, from the semicolon on. */
  readonly more?: string
}

export interface Outcome {
  readonly status: number
  readonly code: string | undefined
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

export interface AttackedShop extends Shop {
  readonly token: KnownCode
  present(attempt: Attempt): Promise<Outcome>
  presentHeader(header: string): Promise<Outcome>
  /** The proof opens the door, once. */
  serves(attempt: Attempt): Promise<Outcome>
  /** The proof is turned away with this code, and nothing has changed: neither the ledger nor what the requestId is worth. */
  refuses(code: RefusalCode, attempt: Attempt): Promise<Outcome>
  /** An honest customer pays this challenge as told, and is served. */
  sellsHonestly(challenge: Challenge): Promise<void>
}

export interface AttackFixture {
  readonly world: LocalnetFixture
  /** What all tills write to. */
  readonly ledger: Ledger
  /** Pays as told. */
  readonly honest: KeyPairSigner
  /** Everything logged as an error. */
  readonly alarms: string[]
  open(options?: Partial<ProviderOptions>, handler?: Handler): Promise<AttackedShop>
  /** Lands a transaction made for a new challenge: the memo that is asked for, and then what is given. */
  commit(attackedShop: AttackedShop, payer: KeyPairSigner, build: Plan, options?: CommitOptions): Promise<Attempt>
  close(): Promise<void>
}

type Plan =
  | readonly Instruction[]
  | ((challenge: Challenge) => readonly Instruction[] | Promise<readonly Instruction[]>)

export interface CommitOptions extends MessageOptions {
  readonly feePayer?: KeyPairSigner
  /** The transaction may fail on chain. */
  readonly mayFail?: boolean
  /** The instructions bring their own memos. */
  readonly bare?: boolean
  /** How the payer will show that the payment is its own: the header `Payment-Accept`. */
  readonly accept?: string
}

const serveNode = adapters.find(([name]) => name === 'node:http')?.[1] as Serve
const content: Content = { body: 'the secret' }

export async function createAttackFixture(
  options?: Parameters<typeof createLocalnetFixture>[0],
): Promise<AttackFixture> {
  const home = useTemporaryHome()
  const world = await createLocalnetFixture(options)
  const ledger = createReferenceLedger({ clock: { now: world.localnet.now, monotonic: () => performance.now() } })
  const honest = await world.person()
  const alarms: string[] = []
  const quiet = () => {}
  const log = { info: quiet, warn: quiet, error: (event: string) => void alarms.push(event) }
  const tills: AttackedShop[] = []

  const open: AttackFixture['open'] = async (more = {}, handler = () => content) => {
    const shop = await openShop(world, serveNode, handler, {
      ledger,
      log,
      waitSeconds: 0,
      watch: false,
      ...more,
    })
    const attackedShop = tillOf(shop, (more.token ?? 'USDC') as KnownCode)
    tills.push(attackedShop)
    return attackedShop
  }

  function tillOf(shop: Shop, token: KnownCode): AttackedShop {
    const standingOf = async (tx: string) => {
      const bytes = decodeSignature(tx)
      return bytes && ledger.peek(bytes)
    }
    const presentHeader: AttackedShop['presentHeader'] = async (header) => {
      const response = await shop.claim(header)
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json') ?? false
      const body = (isJson ? JSON.parse(text) : { text }) as Record<string, unknown>
      return { status: response.status, code: body['code'] as string | undefined, body, headers: response.headers }
    }
    const present: AttackedShop['present'] = ({ tx, challenge, payer, more }) =>
      presentHeader(proofOf(tx, challenge, payer, more))
    const serves: AttackedShop['serves'] = async (attempt) => {
      const outcome = await present(attempt)
      expect(outcome).toMatchObject({ status: 200, code: undefined, body: { text: 'the secret' } })
      return outcome
    }
    const attackedShop: AttackedShop = {
      ...shop,
      token,
      present,
      presentHeader,
      serves,
      async refuses(code, attempt) {
        const before = await standingOf(attempt.tx)
        const outcome = await present(attempt)
        const { status, retryable } = refusals[code]
        expect(outcome).toMatchObject({ status, code, body: { retryable } })
        expect(await standingOf(attempt.tx)).toEqual(before)
        return outcome
      },
      async sellsHonestly(challenge) {
        const decimals = token === 'SOL' ? 9 : (challenge.mints?.[token]?.decimals ?? 0)
        const units = parseUnits(challenge.amounts?.[token] ?? '', decimals) ?? 0n
        const mint = token === 'SOL' ? undefined : challenge.mints?.[token]
        const transfer = mint
          ? await move(world, mint, honest, challenge.recipient, units)
          : await world.transfer(honest, challenge.recipient, token, units)
        const tx = await succeed(world, [memo(challenge.requestId), transfer], honest)
        await serves({ tx, challenge, payer: honest })
      },
    }
    return attackedShop
  }

  return {
    world,
    ledger,
    honest,
    alarms,
    open,
    async commit(attackedShop, payer, build, options = {}) {
      const { feePayer = payer, mayFail = false, bare = false, accept, ...message } = options
      const challenge = await attackedShop.challenge(
        undefined,
        accept === undefined ? {} : { 'Payment-Accept': accept },
      )
      const built = typeof build === 'function' ? await build(challenge) : build
      const instructions = bare ? built : [memo(challenge.requestId), ...built]
      const tx = await (mayFail ? land : succeed)(world, instructions, feePayer, message)
      return { tx, challenge, payer }
    },
    async close() {
      for (const attackedShop of tills) await attackedShop.close()
      await world.close()
      home.remove()
    },
  }
}

export interface SigningOptions {
  readonly origin?: string
  readonly genesis?: string
  /** Seconds since 1970. */
  readonly ts?: number
  /** Named as the signer, where the payer is another. */
  readonly asSigner?: boolean
}

/** The keys that sign a proof, written out as docs/protocol.md has them and not by our own code. */
export async function signedBy(
  { world }: AttackFixture,
  attackedShop: AttackedShop,
  { tx, challenge, payer }: Attempt,
  signer: KeyPairSigner,
  options: SigningOptions = {},
): Promise<string> {
  const { origin = attackedShop.url, genesis = world.localnet.genesisHash, asSigner = false } = options
  const ts = options.ts ?? Math.floor(world.localnet.now() / 1000)
  const { requestId } = challenge
  const text = `paystile proof v1\norigin: ${origin}\ngenesis: ${genesis}\ntx: ${tx}\nrequestId: ${requestId}\npayer: ${payer.address}\nts: ${ts}`
  const signature = await signBytes(signer.keyPair.privateKey, new TextEncoder().encode(text))
  return `; ts=${ts}; sig=${encodeBase58(new Uint8Array(signature))}${asSigner ? `; signer=${signer.address}` : ''}`
}

/** An attempt by a transaction of any kind; refused without a trace, after which the same challenge is sold honestly. */
export async function expectNothing(attackedShop: AttackedShop, code: RefusalCode, attempt: Attempt): Promise<Outcome> {
  const outcome = await attackedShop.refuses(code, attempt)
  await attackedShop.sellsHonestly(attempt.challenge)
  return outcome
}
