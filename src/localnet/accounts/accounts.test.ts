import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Account, emptyAccount } from './account.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import { programs } from './addresses.ts'

const names = ['a', 'b', 'c', 'd']
const owners = [programs.system, programs.token]

function holding(wallet: number, amount: bigint): Account {
  const data = new Uint8Array(165)
  data.fill(9, 0, 32)
  data.fill(wallet, 32, 64)
  new DataView(data.buffer).setBigUint64(64, amount, true)
  data[108] = 1
  return { ...emptyAccount(programs.token, 2_039_280n), data }
}

const walletAddress = (byte: number) => [...createAddresses(byte)].join('')
function* createAddresses(byte: number): Iterable<string> {
  const accounts = createAccounts()
  accounts.apply(1, [['x', holding(byte, 1n)]])
  const { tokensOf } = accounts
  for (const wallet of ['8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR', 'CktRuQ2mttgRGkXJtyksdKHjUdc2C4TgDzyB98oEzy8']) {
    if ([...tokensOf(wallet, 1)].length > 0) yield wallet
  }
}

describe('the past', () => {
  it('keep their former state at every slot, after any history', () => {
    const aChange = fc.record({
      slot: fc.nat(3),
      address: fc.constantFrom(...names),
      lamports: fc.option(fc.bigInt({ min: 1n, max: 5n }), { nil: undefined }),
      owner: fc.constantFrom(...owners),
    })
    fc.assert(
      fc.property(fc.array(aChange, { maxLength: 30 }), (changes) => {
        const accounts = createAccounts()
        const snapshots = new Map<number, Map<string, Account>>()
        const model = new Map<string, Account>()
        let slot = 1
        snapshots.set(0, new Map())
        for (const change of changes) {
          for (let passed = 0; passed < change.slot; passed++) snapshots.set(slot++, new Map(model))
          const account = change.lamports === undefined ? undefined : emptyAccount(change.owner, change.lamports)
          accounts.apply(slot, [[change.address, account]])
          if (account) model.set(change.address, account)
          else model.delete(change.address)
        }
        snapshots.set(slot, new Map(model))
        for (const [at, expected] of snapshots) {
          expect(names.map((name) => accounts.at(name, at))).toEqual(names.map((name) => expected.get(name)))
          for (const owner of owners) {
            const owned = [...expected].filter(([, account]) => account.owner === owner)
            expect(new Map(accounts.ownedBy(owner, at))).toEqual(new Map(owned))
          }
          expect(new Map(accounts.all(at))).toEqual(expected)
        }
        revertTo(accounts, snapshots, Math.floor(slot / 2))
      }),
    )
  })

  function revertTo(accounts: Accounts, snapshots: ReadonlyMap<number, Map<string, Account>>, slot: number): void {
    accounts.revert(slot)
    const expected = snapshots.get(slot) ?? new Map()
    expect(names.map((name) => accounts.get(name))).toEqual(names.map((name) => expected.get(name)))
    for (const owner of owners) {
      expect(new Map(accounts.ownedBy(owner, slot))).toEqual(
        new Map([...expected].filter(([, account]) => account.owner === owner)),
      )
    }
  }

  it('is forgotten when told so', () => {
    const accounts = createAccounts()
    accounts.apply(1, [['a', emptyAccount(programs.system, 1n)]])
    accounts.apply(2, [['a', emptyAccount(programs.system, 2n)]])
    accounts.forget(1)
    expect(accounts.at('a', 0)?.lamports).toBe(1n)
    accounts.forget(2)
    expect(accounts.at('a', 0)?.lamports).toBe(2n)
    expect([...accounts.changedSlots()]).toEqual([])
  })
})

describe('token accounts', () => {
  it('are found by wallet and by mint, and move when their owner changes', () => {
    const accounts = createAccounts()
    const [one, two] = [walletAddress(2), walletAddress(3)]
    accounts.apply(1, [['x', holding(2, 5n)]])
    accounts.apply(2, [['x', holding(2, 6n)]])
    accounts.apply(3, [['x', holding(3, 6n)]])
    expect([...accounts.tokensOf(one, 3)]).toEqual([])
    expect([...accounts.tokensOf(two, 3)].map(([address]) => address)).toEqual(['x'])
    expect([...accounts.tokensOf(one, 2)].map(([address]) => address)).toEqual(['x'])
    expect([...accounts.tokensOf(two, 2)]).toEqual([])
  })

  it('omit mints, multisigs and uninitialised accounts', () => {
    const accounts = createAccounts()
    const empty = { ...emptyAccount(programs.token, 1n), data: new Uint8Array(165) }
    const multisig = { ...emptyAccount(programs.token2022, 1n), data: new Uint8Array(355).fill(2) }
    const mint = { ...emptyAccount(programs.token2022, 1n), data: new Uint8Array(170).fill(2) }
    mint.data[165] = 1
    accounts.apply(1, [
      ['empty', empty],
      ['multisig', multisig],
      ['mint', mint],
      ['elsewhere', { ...holding(2, 1n), owner: programs.system }],
    ])
    expect([...accounts.tokensOf(walletAddress(2), 1)]).toEqual([])
    expect([...accounts.tokensOf('11111111111111111111111111111111', 1)]).toEqual([])
  })
})
