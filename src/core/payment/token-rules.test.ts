import { describe, expect, it } from 'vitest'
import { maxUnits } from '../money/money.ts'
import { splTokenProgram, token2022Program } from '../money/tokens.ts'
import type { AccountReading, DoubtfulTrait, Inspection, MintReading, MintTraits, TokenTerms } from './token-rules.ts'
import { doubtfulTraits, formatObjection, judgeToken } from './token-rules.ts'

const [recipient, stranger] = ['4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS', 'stranger']
const mint = { address: '6r2kFDVUvhgXMh5VZqKpXyWB1HyiaJr1knnDYMfNpZbM', decimals: 9, tokenProgram: token2022Program }
const terms: TokenTerms = { code: 'NATIVE', mint, recipient, units: 1_000n, allowed: [] }
const traits: MintTraits = {
  decimals: 9,
  fees: [],
  doubts: [],
  isTransferable: true,
  isPaused: false,
  opensFrozen: false,
}
const made = (more: Partial<MintTraits> = {}): MintReading => ({
  kind: 'mint',
  program: token2022Program,
  traits: { ...traits, ...more },
})
const account = { kind: 'account', owner: recipient, isFrozen: false } as const
const wallet = { kind: 'wallet', leastLamports: 0n } as const
const seen = (reading: MintReading, holder: AccountReading = account) =>
  ({ kind: 'seen', wallet, tokens: { NATIVE: { mint: reading, account: holder } } }) as const
const judge = (inspection: Extract<Inspection, { kind: 'seen' }>, more: Partial<TokenTerms> = {}) =>
  judgeToken({ ...terms, ...more }, inspection)

describe('a mint', () => {
  it('that is as configured is good', () => {
    const fees = [{ basisPoints: 100, maximum: 5n }]
    expect(judge(seen(made()))).toEqual({ kind: 'good', offering: { fees: [], leastUnits: 0n }, warnings: [] })
    expect(judge(seen(made({ fees })))).toMatchObject({ kind: 'good', offering: { fees } })
  })

  it.each<[string, MintReading, RegExp]>([
    ['that is not there', { kind: 'absent' }, /does not exist on this chain/],
    ['that is a wallet', { kind: 'foreign', program: '11111111111111111111111111111111' }, /to the program 1+, not/],
    ['under a name of the program', { kind: 'foreign', program: token2022Program }, /is not a mint/],
    ['of the other program', { ...made(), program: splTokenProgram } as MintReading, /set tokenProgram to that/],
    ['that cannot be read', { kind: 'malformed', program: token2022Program, why: 'is odd' }, /is odd$/],
    ['T51: with other decimals', made({ decimals: 6 }), /has 6 decimals, not 9/],
    ['that cannot be transferred', made({ isTransferable: false }), /is not transferable/],
    ['that is paused', made({ isPaused: true }), /is paused/],
    ['with a fee of everything', made({ fees: [{ basisPoints: 10_000, maximum: maxUnits }] }), /transfer fee/],
  ])('%s is bad', (_what, reading, why) => {
    const verdict = judge(seen(reading), { allowed: doubtfulTraits })
    expect(verdict).toEqual({ kind: 'bad', option: 'mints.NATIVE', why: expect.stringMatching(why) })
    expect(verdict.kind === 'bad' && verdict.why).toMatch(new RegExp(`^mints.NATIVE: ${mint.address} `))
  })

  it.each(doubtfulTraits)('with %s is bad unless that is allowed', (doubt) => {
    const inspection = seen(made({ doubts: [doubt] }))
    const others: readonly DoubtfulTrait[] = doubtfulTraits.filter((one) => one !== doubt)
    expect(judge(inspection, { allowed: others })).toEqual({
      kind: 'bad',
      option: 'mints.NATIVE',
      why: expect.stringContaining(`set allow: ['${doubt}']`),
    })
    expect(judge(inspection, { allowed: [doubt] }).kind).toBe('good')
  })

  it('says all there is to say in one line of the log', () => {
    for (const doubt of doubtfulTraits) {
      const verdict = judge(seen(made({ doubts: [doubt] })))
      expect(verdict.kind === 'bad' && formatObjection(verdict).length).toBeLessThanOrEqual(256)
    }
    const verdict = judge(seen(made(), { kind: 'absent' }))
    expect(verdict.kind === 'unopened' && formatObjection(verdict).length).toBeLessThanOrEqual(256)
  })
})

describe('the account of a recipient', () => {
  it.each<[string, AccountReading, RegExp]>([
    ['T8: that was handed over', { ...account, owner: stranger }, /was transferred to stranger/],
    ['that is frozen', { ...account, isFrozen: true }, /is frozen/],
    ['that is none', { kind: 'malformed' }, /is not an account of/],
  ])('%s is bad', (_what, holder, why) => {
    expect(judge(seen(made(), holder))).toEqual({ kind: 'bad', option: 'recipient', why: expect.stringMatching(why) })
  })

  it('that is missing can be opened, unless it would be frozen', () => {
    expect(judge(seen(made(), { kind: 'absent' }))).toEqual({
      kind: 'unopened',
      offering: { fees: [], leastUnits: 0n },
      option: 'recipient',
      why: 'recipient: has no NATIVE account yet',
      remedy: expect.stringMatching(/spl-token create-account \w+ --owner \w+ --program-2022, or give accountKey$/),
    })
    expect(judge(seen(made({ opensFrozen: true }), { kind: 'absent' }))).toMatchObject({ kind: 'bad' })
    expect(judge(seen(made({ opensFrozen: true }))).kind).toBe('good')
  })

  it('in which others have rights is good, and they are named', () => {
    expect(judge(seen(made(), { ...account, delegate: 'one', closer: 'two' }))).toMatchObject({
      kind: 'good',
      warnings: [expect.stringMatching(/delegate, one,/), expect.stringMatching(/closed by two/)],
    })
  })

  it('is not looked at where the recipient is no wallet', () => {
    const inspection = { ...seen(made()), wallet: { kind: 'unspendable', what: 'a program' } as const }
    expect(judge(inspection)).toEqual({
      kind: 'bad',
      option: 'recipient',
      why: `recipient: ${recipient} is a program, not a wallet`,
    })
    expect(judge(inspection, { code: 'SOL', mint: undefined })).toMatchObject({ kind: 'bad' })
  })
})

describe('SOL', () => {
  const sol = (units: bigint | undefined, leastLamports: bigint) => {
    const empty = { kind: 'seen', wallet: { kind: 'wallet', leastLamports }, tokens: {} } as const
    return judge(empty, { code: 'SOL', mint: undefined, units })
  }

  it('cannot begin a wallet with less than it must hold', () => {
    expect(sol(890_879n, 890_880n)).toEqual({
      kind: 'bad',
      option: 'recipient',
      why: expect.stringMatching(/0.000890879 SOL is too little to open it$/),
      remedy: 'send it 0.00089088 SOL once',
    })
    expect(sol(890_880n, 890_880n)).toMatchObject({ kind: 'good', offering: { leastUnits: 890_880n } })
    expect(sol(1n, 0n)).toMatchObject({ kind: 'good', offering: { leastUnits: 0n } })
  })

  it('carries the least for prices that are not known ahead', () => {
    expect(sol(undefined, 890_880n)).toMatchObject({ kind: 'good', offering: { leastUnits: 890_880n } })
  })
})
