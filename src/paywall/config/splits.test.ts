import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { readConfig } from './config.ts'
import type { ProviderOptions } from './options.ts'

const recipient = 'E55ojb7ZvwmDg1e7aqCZ5cCUt1pdd5KSpR2jTnmzqMxR'
const partner = '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS'
const author = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const local = { price: 0.01, token: 'USDC', recipient, network: 'localnet' } as const

function problemsOf(splits: unknown, more: Partial<ProviderOptions> = {}): readonly string[] {
  try {
    readConfig({ ...local, ...more, splits } as ProviderOptions, {})
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

describe('the option splits', () => {
  it('is read as basis points and base units', () => {
    const splits = [
      { recipient: partner, share: '12.34' },
      { recipient: author, amount: 0.002 },
    ]
    expect(readConfig({ ...local, splits }, {}).route.splits).toEqual([
      { recipient: partner, basisPoints: 1_234n },
      { recipient: author, units: 2_000n },
    ])
  })

  it.each([[undefined], [[]]])('is none for %j', (splits) => {
    expect(readConfig({ ...local, ...(splits && { splits }) }, {}).route.splits).toEqual([])
  })

  it.each<[string, unknown, string, Partial<ProviderOptions>?]>([
    [
      'the recipient itself',
      [{ recipient, share: 10 }],
      'splits.0.recipient: is the recipient, who gets the rest anyway',
    ],
    [
      'a wallet twice',
      [
        { recipient: partner, share: 10 },
        { recipient: partner, share: 5 },
      ],
      'splits.1.recipient: appears twice; add the parts up',
    ],
    ['no address', [{ recipient: 'partner', share: 10 }], 'splits.0.recipient: "partner" is not a Solana address'],
    [
      'a program',
      [{ recipient: '11111111111111111111111111111111', share: 10 }],
      'splits.0.recipient: "11111111111111111111111111111111" is a program or a mint, not a wallet, so the money would be lost',
    ],
    [
      'neither share nor amount',
      [{ recipient: partner }],
      'splits.0: must be { recipient, share } or { recipient, amount }',
    ],
    [
      'both share and amount',
      [{ recipient: partner, share: 1, amount: 1 }],
      'splits.0: must be { recipient, share } or { recipient, amount }',
    ],
    ...[0, 100, -1, '10.001', 'x'].map((share): [string, unknown, string] => [
      `a share of ${share}`,
      [{ recipient: partner, share }],
      'splits.0.share: must be a percentage above 0 and below 100, with at most two decimals',
    ]),
    [
      'shares of 100 percent',
      [
        { recipient: partner, share: 60 },
        { recipient: author, share: 40 },
      ],
      'splits: the shares must add up to less than 100 percent',
    ],
    [
      'an amount as high as the price',
      [{ recipient: partner, amount: 0.01 }],
      'splits: they leave nothing of the price for the recipient',
    ],
    [
      'a share that is worth nothing',
      [{ recipient: partner, share: 0.01 }],
      'splits.0.share: is less than the smallest unit of USDC at this price',
      { price: '0.009999' },
    ],
    [
      'an amount beside a price that varies',
      [{ recipient: partner, amount: 0.001 }],
      'splits.0.amount: needs a price that is the same for all requests; give a share instead',
      { price: () => 1 },
    ],
    [
      'an amount beside several tokens',
      [{ recipient: partner, amount: 0.001 }],
      'splits.0.amount: is in USDC, so only USDC can be accepted; give a share instead',
      { acceptedMints: ['USDC', 'SOL'] },
    ],
    [
      'an amount with too many decimals',
      [{ recipient: partner, amount: '0.0000001' }],
      'splits.0.amount: 0.0000001 has more decimals than USDC (6); round it',
    ],
    [
      'no list',
      { recipient: partner, share: 1 },
      'splits: must be a list of { recipient, share } or { recipient, amount }',
    ],
  ])('is refused with %s', (_name, splits, problem, more) => {
    expect(problemsOf(splits, more)).toEqual([problem])
  })

  it('is refused with nine wallets', () => {
    const many = Array.from({ length: 9 }, () => ({ recipient: partner, share: 1 }))
    expect(problemsOf(many)).toContain(
      'splits: must have at most 8 entries, because a transaction has no room for more',
    )
  })

  it('permits a share of a price that varies, and of several tokens', () => {
    const splits = [{ recipient: partner, share: 10 }]
    expect(problemsOf(splits, { price: () => 1, acceptedMints: ['USDC', 'SOL'] })).toEqual([])
    expect(problemsOf(splits, { per: 'megabyte' } as Partial<ProviderOptions>)).toEqual([])
  })
})
