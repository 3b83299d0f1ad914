import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { testRates } from '../../core/money/rates.ts'
import { readConfig } from './config.ts'
import type { ProviderOptions } from './options.ts'

const recipient = 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR'
const secret = '1:a-test-secret-of-at-least-32-characters'
const local: ProviderOptions = { price: 0.01, token: 'USDC', recipient, network: 'localnet' }
const live: ProviderOptions = { price: 0.01, token: 'USDC', recipient, secret, rpc: 'https://node.example' }

const optionNames = (
  'price token recipient verifyOnChain network acceptedMints settlementToken autoConversion conversionThreshold conversionReserve settlementKey venue rpc ledger secret mints rates ' +
  'service scope publicUrl bind proofBinding challengeTtlSeconds proofTtlSeconds waitSeconds leaseSeconds description ' +
  'envelope cors retired onEvent log finalizedFrom maxUnfinalized watch trustProxy accountKey seller'
).split(' ')

/** Options as they come from JavaScript, where nothing checks them before us. */
function problemsOf(options: unknown, environment = {}): readonly string[] {
  try {
    readConfig(options as ProviderOptions, environment)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

describe('readConfig', () => {
  it('needs only price, token and recipient on a localnet', () => {
    const { service, route } = readConfig(local, {})
    expect(service).toMatchObject({ network: 'localnet', rpc: [], service: 'default' })
    expect(route).toMatchObject({
      pricing: { price: 10_000n, token: 'USDC', decimals: 6 },
      acceptedMints: ['USDC'],
      verifyOnChain: true,
    })
  })

  it.each([
    [{ name: 'a\nb' }, 'seller.name: must be 1 to 60 printable characters'],
    [{ logo: 'http://shop.example/a.png' }, /^seller.logo: must be an https URL, or a data URL/],
    [{ colour: 'red' }, 'seller.colour: must be a colour such as #4f3cc9'],
    [{ colour: '#fff;}</style>' }, 'seller.colour: must be a colour such as #4f3cc9'],
    [{ support: 'help' }, 'seller.support: must be an e-mail address or an https URL'],
    [{ terms: 'javascript:alert(1)' }, 'seller.terms: must be an https URL'],
    [{ returnUrl: '//shop.example' }, 'seller.returnUrl: must be an https URL'],
    [{ title: 'x' }, /^seller.title: /],
  ])('refuses the seller %j', (seller, problem) => {
    expect(problemsOf({ ...local, seller })).toEqual([expect.stringMatching(problem)])
  })

  it.each([
    [{ minutes: 0 }, {}, /^reopen.minutes: must be a whole number from 1 to 1440/],
    [{ minutes: 10 }, { per: 'hour' }, "reopen: works only with per: 'request'"],
    [{ minutes: 10 }, { per: { requests: 2 } }, "reopen: works only with per: 'request'"],
    [{ minutes: 10 }, { per: 'megabyte' }, "reopen: works only with per: 'request'"],
    [{ minutes: 10 }, { bind: { query: ['a'] } }, "reopen: works only with bind: 'request' or 'path'"],
  ])('refuses reopen: %j with %j', (reopen, more, problem) => {
    expect(problemsOf({ ...local, ...more, reopen })).toEqual([expect.stringMatching(problem)])
  })

  it.each(['Payment-Proof', 'payment-accept', 'Payment-Authorization', 'PAYMENT-SIGNATURE', 'X-PAYMENT'])(
    'does not bind payments to the header %s',
    (name) => {
      expect(problemsOf({ ...local, bind: { headers: [name] } })).toEqual([
        `bind.headers.0: "${name}" carries the payment, so it differs on the paid request; remove it`,
      ])
    },
  )

  it.each(['Cookie', 'referer', 'Sec-Fetch-Site'])('binds payments to the header %s only without a page', (name) => {
    const bound = { ...local, bind: { headers: [name, 'x-model'] } }
    const why = `browsers change ${name.toLowerCase()} between the checkout page and the purchase; set checkout: false`
    expect(problemsOf(bound)).toEqual([`bind.headers: ${why}`])
    expect(problemsOf({ ...bound, checkout: false })).toEqual([])
  })

  it('binds payments to Authorization only if clients of MPP do not pay in it', () => {
    const bound = { ...local, checkout: false, bind: { headers: ['Authorization'] } }
    expect(problemsOf({ ...bound, mpp: true })).toEqual([
      "bind.headers: clients of MPP pay in Authorization, so it differs on the paid request; set mpp: { header: 'Payment-Authorization' } or mpp: false",
    ])
    for (const mpp of [undefined, false, { header: 'Payment-Authorization' }])
      expect(problemsOf({ ...bound, mpp })).toEqual([])
  })

  it('requires finality from 1 USDC on, or the equivalent in other tokens', () => {
    expect(readConfig(local, {}).route.finality(testRates)).toEqual({
      finalizedFrom: { USDC: 1_000_000n, SOL: 6_666_667n, NATIVE: 10_000_000_000n },
      risk: { recipient: undefined, payer: undefined },
    })
    // Without a rate there is no telling what it is worth, so everything in that token must be final.
    const sol = readConfig({ ...live, token: 'SOL', price: 0.1 }, {})
    expect(sol.route.finality({ USDC: '1' }).finalizedFrom.SOL).toBeUndefined()
    const said = readConfig({ ...live, token: 'SOL', price: 0.1, finalizedFrom: '0.5' }, {})
    expect(said.route.finality({ USDC: '1' }).finalizedFrom).toEqual({ SOL: 500_000_000n })
  })

  it.each<[string, NonNullable<ProviderOptions['maxUnfinalized']>, unknown]>([
    ['a number for the recipient', 5, { recipient: { USDC: 5_000_000n } }],
    ['text for the recipient', '2.5', { recipient: { USDC: 2_500_000n } }],
    ['both', { recipient: 10, payer: '1' }, { recipient: { USDC: 10_000_000n }, payer: { USDC: 1_000_000n } }],
  ])('limits unfinalized payments: %s', (_name, maxUnfinalized, risk) => {
    expect(readConfig({ ...live, maxUnfinalized }, {}).route.finality({ USDC: '1' }).risk).toMatchObject(risk as object)
  })

  it('takes mainnet for granted, with a node and a secret', () => {
    const { service } = readConfig(live, {})
    expect(service).toMatchObject({ network: 'mainnet', rpc: ['https://node.example'] })
  })

  it('has a node for devnet', () => {
    expect(readConfig({ ...live, rpc: undefined as never, network: 'devnet' }, {}).service.rpc).toEqual([
      'https://api.devnet.solana.com',
    ])
  })

  it('completes options from the environment, and puts options first', () => {
    const environment = {
      PAYSTILE_NETWORK: 'devnet',
      PAYSTILE_SECRET: secret,
      PAYSTILE_RPC: 'https://one.example, https://two.example',
      PAYSTILE_RECIPIENT: recipient,
      PAYSTILE_LEDGER: '/data/ledger.sqlite',
      PAYSTILE_SERVICE: 'shop',
      PAYSTILE_PUBLIC_URL: 'https://api.example/',
    }
    const { service, route } = readConfig({ price: 1, token: 'USDC', service: 'mine' }, environment)
    expect(service).toMatchObject({
      network: 'devnet',
      rpc: ['https://one.example', 'https://two.example'],
      ledger: '/data/ledger.sqlite',
      service: 'mine',
    })
    expect(route).toMatchObject({ recipient, publicUrl: 'https://api.example' })
  })

  it.each([{}, { token: undefined }])('prices in USDC without a token: %j', (without) => {
    const { route } = readConfig({ price: '0.01', recipient, network: 'localnet', ...without }, {})
    expect(route).toMatchObject({ pricing: { price: 10_000n, token: 'USDC' }, acceptedMints: ['USDC'] })
  })

  it('keeps the accepted tokens in the order given', () => {
    const { route } = readConfig({ ...local, acceptedMints: ['SOL', 'USDC', 'NATIVE', 'SOL'] }, {})
    expect(route.acceptedMints).toEqual(['SOL', 'USDC', 'NATIVE'])
  })

  it('may accept another token than the price is in', () => {
    const { route } = readConfig({ ...local, acceptedMints: ['SOL'] }, {})
    expect(route).toMatchObject({ pricing: { price: 10_000n, token: 'USDC' }, acceptedMints: ['SOL'] })
  })

  it('takes mints of your own on a test network, and NATIVE on mainnet', () => {
    const mints = { NATIVE: { address: recipient, decimals: 5 } }
    expect(readConfig({ ...local, mints: { USDC: recipient } }, {}).route.mints.USDC).toMatchObject({
      address: recipient,
      decimals: 6,
    })
    const { route } = readConfig({ ...live, token: 'NATIVE', price: '0.00001', mints }, {})
    expect(route).toMatchObject({ pricing: { price: 1n }, mints: { NATIVE: { decimals: 5 } } })
  })

  it('accepts all settings of a mint, and hides them from customers', () => {
    const mints = { NATIVE: { address: recipient, decimals: 5, allow: ['transferHook'] } } as const
    const { route } = readConfig({ ...local, mints }, {})
    expect(route.allowedTraits).toEqual({ NATIVE: ['transferHook'] })
    expect(route.mints.NATIVE).toEqual({ address: recipient, decimals: 5, tokenProgram: expect.any(String) })
  })

  it('takes the key that opens accounts as a path, bytes or a signer, and from the environment', () => {
    for (const accountKey of ['key.json', new Uint8Array(64), new Array<number>(64).fill(1), { address: recipient }]) {
      expect(readConfig({ ...local, accountKey }, {}).route.accountKey).toBe(accountKey)
    }
    expect(readConfig(local, { PAYSTILE_ACCOUNT_KEY: 'key.json' }).route.accountKey).toBe('key.json')
  })

  it.each([[new Uint8Array(63)], [''], [{}], [5], [['a secret']]])('does not repeat a wrong key: %o', (accountKey) => {
    expect(problemsOf({ ...local, accountKey })).toEqual([
      'accountKey: must be the path of a key file, 64 secret bytes, a kit signer, a Keypair or a wallet',
    ])
  })

  it('is frozen', () => {
    const config = readConfig(local, {})
    expect(Object.isFrozen(config) && Object.isFrozen(config.service) && Object.isFrozen(config.route)).toBe(true)
  })

  it.each<[string, unknown, string]>([
    [
      'an unknown option, with the nearest name',
      { ...local, recepient: 'x' },
      'recepient: is not an option; did you mean recipient?',
    ],
    ['an unknown option far from any', { ...local, zzzzzzzz: 1 }, 'zzzzzzzz: is not an option'],
    ['no price', { ...local, price: undefined }, 'price: is missing; set a decimal such as 0.01'],
    ['T49: a price of zero', { ...local, price: 0 }, 'price: must be more than zero'],
    [
      'T49: a price below one base unit',
      { ...local, price: 1e-7 },
      'price: 0.0000001 has more decimals than USDC (6); round it',
    ],
    [
      'a token nobody knows',
      { ...local, token: 'BTC' },
      'token: BTC is not a token of this service; use NATIVE, USDC, SOL, or add it to tokens',
    ],
    [
      'a token in small letters',
      { ...local, token: 'usdc' },
      'SOL, or a code of tokens, not "usdc"; did you mean "USDC"?',
    ],
    [
      'a list of tokens with one in small letters',
      { ...local, acceptedMints: ['USDC', 'Sol'] },
      'acceptedMints.1: must be one of NATIVE, USDC, SOL, or a code of tokens, not "Sol"; did you mean "SOL"?',
    ],
    [
      'no recipient',
      { ...local, recipient: undefined },
      'recipient: is missing; set it, or PAYSTILE_RECIPIENT, to the address of your wallet',
    ],
    ['a recipient that is no address', { ...local, recipient: '0x12' }, 'recipient: "0x12" is not a Solana address'],
    ['a recipient that is no text', { ...local, recipient: 5 }, 'recipient: 5 is not a Solana address'],
    [
      'a network nobody knows',
      { ...local, network: 'testnet' },
      'network: must be one of mainnet, devnet, localnet, not',
    ],
    [
      'T96: verifyOnChain: false on mainnet',
      { ...live, verifyOnChain: false },
      'verifyOnChain: false is not allowed on mainnet',
    ],
    ['mainnet without a node', { ...live, rpc: undefined }, 'rpc: mainnet needs at least one node URL'],
    ['mainnet with an empty list of nodes', { ...live, rpc: [] }, 'rpc: mainnet needs at least one node URL'],
    ['mainnet without a secret', { ...live, secret: undefined }, 'secret: mainnet needs a keyring'],
    [
      'a secret that is too short',
      { ...live, secret: '1:abc' },
      'secret: entry 1 has a secret of fewer than 32 characters; the format is id:secret,id:secret; create one with: ',
    ],
    ['T78: a node that is no URL', { ...live, rpc: 'ftp://x' }, 'rpc: '],
    ['memory outside a localnet', { ...live, ledger: 'memory:' }, 'ledger: a ledger in memory loses payments'],
    [
      'a danger of mints that is none',
      { ...local, mints: { NATIVE: { address: recipient, decimals: 5, allow: ['everything'] } } },
      'mints.NATIVE.allow.0: must be one of transferHook, permanentDelegate',
    ],
    ['another USDC on mainnet', { ...live, mints: { USDC: recipient } }, 'mints.USDC: is fixed on mainnet'],
    ['NATIVE on mainnet without a mint', { ...live, token: 'NATIVE' }, 'mints.NATIVE: NATIVE has no mint on mainnet'],
    [
      'another token without a rate',
      { ...live, acceptedMints: ['USDC', 'SOL'] },
      'rates.SOL: SOL is accepted for a price in USDC',
    ],
    ['a rate of zero', { ...local, rates: { SOL: '0' } }, 'rates.SOL: must be a decimal above zero'],
    ['an empty list of accepted tokens', { ...local, acceptedMints: [] }, 'acceptedMints: '],
    [
      'a challenge too short to be paid safely',
      { ...local, challengeTtlSeconds: 30 },
      'challengeTtlSeconds: must be at least 120',
    ],
    ['a time that is not whole', { ...local, proofTtlSeconds: 100.5 }, 'proofTtlSeconds: must be a whole number'],
    ['a time that is no number', { ...local, waitSeconds: '5' }, 'waitSeconds: must be a number of seconds'],
    ['a scope with spaces', { ...local, scope: 'a b' }, 'scope: must be 1 to 64 printable characters'],
    [
      'a public address with a query',
      { ...local, publicUrl: 'https://a.example/?x=1' },
      'publicUrl: must be an http or https URL',
    ],
    ['conversion into nothing', { ...local, autoConversion: true }, 'autoConversion: needs settlementToken'],
    ['an envelope nobody knows', { ...local, envelope: 'gold' }, 'envelope: must be one of none, verified, result'],
    ['a ledger that is none', { ...local, ledger: 5 }, 'ledger: must be a file path, sqlite:<path>'],
    [
      'a ledger of a kind nobody keeps',
      { ...local, ledger: 'mysql://x' },
      'ledger: must be a file path, sqlite:<path>',
    ],
    ['a limit of finality that is no price', { ...local, finalizedFrom: -1 }, 'finalizedFrom: '],
    ['a limit of exposure that is no price', { ...local, maxUnfinalized: 'much' }, 'maxUnfinalized: '],
    ['a limit of exposure for nobody', { ...local, maxUnfinalized: { payee: 1 } }, 'maxUnfinalized.payee: is not'],
    ['proxies that cannot be counted', { ...local, trustProxy: true }, 'trustProxy: must be the number of proxies'],
    ['fewer proxies than none', { ...local, trustProxy: -1 }, 'trustProxy: must be at least 0'],
    ['an event handler that is none', { ...local, onEvent: 'x' }, 'onEvent: must be a function'],
    ['no object at all', undefined, 'the options must be an object'],
  ])('refuses %s', (_what, options, problem) => {
    expect(problemsOf(options).join('\n')).toContain(problem)
  })

  it.each([
    '11111111111111111111111111111111',
    'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    'SysvarC1ock11111111111111111111111111111111',
    'So11111111111111111111111111111111111111112',
    'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  ])('refuses %s as the recipient, because its money could not be spent', (program) => {
    expect(problemsOf({ ...local, recipient: program })).toEqual([
      `recipient: "${program}" is a program or a mint, not a wallet, so the money would be lost`,
    ])
  })

  it('describes the problem of any option in its own words', () => {
    for (const name of optionNames) {
      for (const wrong of [5n, null, Symbol('x'), [5], { recipients: 5 }, { USDC: 5 }, 'x'.repeat(300)]) {
        const problems = problemsOf({ ...local, [name]: wrong }).join()
        expect(problems).not.toMatch(/Invalid|expected|Unrecognized|Too/)
      }
    }
  })

  it('names the variable that a wrong value came from', () => {
    const { network: _, ...open } = local
    expect(problemsOf(open, { PAYSTILE_NETWORK: 'testnet' })).toEqual([
      'network (PAYSTILE_NETWORK): must be one of mainnet, devnet, localnet, not "testnet"',
    ])
    expect(problemsOf(local, { PAYSTILE_SECRET: 'x' })).toEqual([
      expect.stringMatching(/^secret \(PAYSTILE_SECRET\): /),
    ])
    expect(problemsOf({ ...local, secret: '1:x' }, { PAYSTILE_SECRET: 'y' })).toEqual([
      expect.stringMatching(/^secret: /),
    ])
  })

  it('accepts conversion where there is nothing to convert', () => {
    expect(problemsOf({ ...local, settlementToken: 'USDC', autoConversion: true })).toEqual([])
  })

  it('reports all problems at once', () => {
    const problems = problemsOf({
      price: -1,
      token: 'USDC',
      recipient,
      mints: { USDC: recipient },
      verifyOnChain: false,
    })
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'mints.USDC',
      'price',
      'rpc',
      'secret',
      'verifyOnChain',
    ])
  })

  it('T140: never repeats a secret', () => {
    expect(problemsOf({ ...live, secret: '999:a-very-secret-secret-of-thirty-two-characters' }).join()).not.toContain(
      'very-secret',
    )
    const key = 'a-very-secret-key-of-somebody-'.repeat(3)
    const wrong = { ...live, recipient: key, rpc: key, ledger: `mysql://${key}`, publicUrl: key, secret: [key] }
    expect(problemsOf(wrong)).toHaveLength(5)
    expect(problemsOf(wrong).join()).not.toContain('very-secret')
  })
})
