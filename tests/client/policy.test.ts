/** 1K: what a hostile server may ask for, and what it gets. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PaymentErrorCode } from '../../src/client/errors.ts'
import { fetchWith402 } from '../../src/client/index.ts'
import { openFileJournal } from '../../src/client/journal/file.ts'
import { createMemoryJournal } from '../../src/client/journal/journal.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { knownMints, type Mint, token2022Program } from '../../src/core/money/tokens.ts'
import type { Challenge } from '../../src/core/protocol/challenge.ts'
import { type ClientFixture, challengeFor, createClientFixture, expectError, hasProof } from './client-fixture.ts'

let fixture: ClientFixture
/** Answers every request with this challenge, and remembers the proofs it is shown. */
let evil: string
let challenge: Partial<Challenge> = {}
let proofs: string[] = []

beforeAll(async () => {
  fixture = await createClientFixture()
  evil = await fixture.host((request, response) => {
    if (hasProof(request)) proofs.push(String(request.headers['payment-proof']))
    const url = `http://${request.headers.host}${request.url}`
    response.writeHead(hasProof(request) ? 200 : 402, { 'content-type': 'application/json' })
    response.end(hasProof(request) ? 'thanks' : challengeFor(fixture, url, challenge))
  })
})
beforeEach(async () => {
  challenge = {}
  proofs = []
  await fixture.received()
})
afterAll(() => fixture.close())

const ourMint = knownMints.localnet.USDC as Mint
const otherMint = knownMints.mainnet.USDC as Mint
const soon = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
type Row = [
  name: string,
  asked: Partial<Challenge>,
  allowed: Partial<ClientOptions>,
  code: PaymentErrorCode,
  words: RegExp,
]

describe('T158: a challenge', () => {
  it.each<Row>([
    [
      'for more than the usual limit',
      { amounts: { USDC: '1.000001' } },
      {},
      'price_too_high',
      /1\.000001 USDC is more than the limit of 1 USDC/,
    ],
    [
      'for a thousand times the limit',
      { amounts: { USDC: '10' } },
      { maxPrice: { USDC: 0.01 } },
      'price_too_high',
      /limit of 0\.01 USDC/,
    ],
    ['for more than nothing', {}, { maxPrice: { USDC: '0' } }, 'price_too_high', /limit of 0 USDC/],
    [
      'over a limit that arithmetic made finer than the token',
      { amounts: { USDC: '0.300001' } },
      { maxPrice: { USDC: 0.1 + 0.2 } },
      'price_too_high',
      /limit of 0\.3 USDC/,
    ],
    [
      'over a limit below the smallest coin',
      {},
      { maxPrice: { USDC: '0.00000001' } },
      'price_too_high',
      /limit of 0 USDC/,
    ],
    [
      'over the limit in the one token that has a limit',
      { acceptedMints: ['SOL', 'USDC'], amounts: { SOL: '0.00001', USDC: '0.01' } },
      { maxPrice: { USDC: '0.0001' } },
      'price_too_high',
      /^0\.01 USDC is more than the limit of 0\.0001 USDC/,
    ],
    [
      'in a token that the given limits leave out',
      {},
      { maxPrice: { SOL: '1' } },
      'price_too_high',
      /in USDC are not allowed, because maxPrice has no limit for it/,
    ],
    [
      'that says one price and means another',
      { amount: '0.01', amounts: { USDC: '5' } },
      {},
      'price_too_high',
      /^5 USDC/,
    ],
    [
      'for another mint under the same name',
      { mints: { USDC: otherMint } },
      {},
      'mint_not_allowed',
      /not the known USDC of localnet/,
    ],
    [
      'for a mint with other decimals',
      { mints: { USDC: { ...ourMint, decimals: 9 } } },
      {},
      'mint_not_allowed',
      /mints\.USDC/,
    ],
    [
      'for a mint of another program',
      { mints: { USDC: { ...ourMint, tokenProgram: token2022Program } } },
      {},
      'mint_not_allowed',
      /mints\.USDC/,
    ],
    [
      'for a recipient that is not on the list',
      {},
      { recipients: ['Sysvar1111111111111111111111111111111111111'] },
      'recipient_not_allowed',
      /is not allowed/,
    ],
    ['for a recipient that is nobody', { recipient: 'nobody' }, {}, 'recipient_not_allowed', /not a Solana address/],
    ['for a token that is not wanted', {}, { tokens: ['SOL'] }, 'token_not_allowed', /accepts USDC, but only SOL/],
    ['without an amount', { amounts: {}, amount: '1', currency: 'SOL' }, {}, 'token_not_allowed', /no amount for USDC/],
    ['for nothing', { amounts: { USDC: '0' } }, {}, 'token_not_allowed', /no amount for USDC/],
    ['for finer than the token', { amounts: { USDC: '0.0000001' } }, {}, 'token_not_allowed', /no amount for USDC/],
    [
      'T161: of another network than allowed',
      {},
      { network: 'devnet' },
      'network_not_allowed',
      /on localnet, but only devnet/,
    ],
    [
      'T161: of mainnet, with a node of a localnet',
      { network: 'mainnet', mints: { USDC: otherMint } },
      {},
      'wrong_chain',
      /node in rpc belongs to another chain/,
    ],
    [
      'T161: of another localnet',
      { genesis: '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY' },
      {},
      'wrong_chain',
      /another chain/,
    ],
    ['T161: that ends in a minute', { expiresAt: soon(60) }, {}, 'challenge_expiring', /expires too soon/],
    ['T161: that has ended', { expiresAt: soon(-1) }, {}, 'challenge_expiring', /expires too soon/],
    ['T161: that ends at no time', { expiresAt: 'soon' }, {}, 'challenge_expiring', /expires too soon/],
    [
      'T165: of another address',
      { resource: 'https://api.example.com/data' },
      {},
      'wrong_origin',
      /for api\.example\.com, not for 127\.0\.0\.1/,
    ],
    ['T165: of no address', { resource: 'data' }, {}, 'wrong_origin', /for another address/],
    ['for a proof that nobody has', { proof: ['password'] }, {}, 'declined', /unsupported proof \(password\)/],
    ['for two proofs', { proof: ['sig', 'claim'] }, {}, 'declined', /unsupported proof/],
    [
      'for a secret where a signature was announced',
      { proof: ['claim'] },
      { proof: 'sig' },
      'declined',
      /unsupported proof/,
    ],
  ])('%s is not paid', async (_name, asked, allowed, code, words) => {
    challenge = asked
    await expectError(fetchWith402(`${evil}/data`, fixture.options(allowed)), code, words)
    expect([await fixture.received(), proofs]).toEqual([0, []])
  })

  it('within all limits is paid', async () => {
    const recipients = [fixture.world.recipient.address]
    const allowed = { maxPrice: { USDC: '0.01' }, recipients, network: 'localnet', tokens: ['USDC'] } as const
    challenge = { expiresAt: soon(95) }
    expect((await fetchWith402(`${evil}/data`, fixture.options(allowed))).status).toBe(200)
    expect(await fixture.received()).toBe(1)
  })

  it('takes the one of several tokens that the limits allow', async () => {
    challenge = { acceptedMints: ['SOL', 'USDC'], amounts: { SOL: '5', USDC: '0.01' } }
    expect((await fetchWith402(`${evil}/data`, fixture.options())).status).toBe(200)
    expect(await fixture.received()).toBe(1)
  })

  it('with a used requestId is not paid again, for any resource', async () => {
    challenge = { requestId: 'always_the_same' }
    for (const journal of [createMemoryJournal(), openFileJournal(join(fixture.directory, 'repeated.sqlite'))]) {
      const options = fixture.options({ journal, budget: { perDay: { USDC: '1' } } })
      expect(await (await fetchWith402(`${evil}/one`, options)).text()).toBe('thanks')
      for (const path of ['/one', '/two'])
        await expectError(fetchWith402(`${evil}${path}`, options), 'declined', /repeated a requestId/)
      expect(await fixture.received()).toBe(1)
    }
  })
})
