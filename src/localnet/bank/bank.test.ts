import { beforeEach, describe, expect, it } from 'vitest'
import { emptyAccount } from '../accounts/account.ts'
import { createAccounts } from '../accounts/accounts.ts'
import { programs } from '../accounts/addresses.ts'
import { builtinAccounts } from '../genesis.ts'
import { openStore } from '../store/store.ts'
import { buildTransaction, computeUnitLimit } from '../transaction/build.ts'
import type { Failure } from '../transaction/failure.ts'
import { createKeypair, type Keypair, newSecret } from '../transaction/signature.ts'
import { decodeTransaction, type Transaction } from '../transaction/wire.ts'
import { createClock } from './clock.ts'
import { evaluate, type Surroundings } from './evaluate.ts'
import { createHistory } from './history.ts'
import { submit } from './run.ts'
import { createLedger } from './saved-state.ts'
import { type BankParts, type Core, createCore, jump, plant, rollback, sync, untilNextSlot } from './slots.ts'
import { createTimeline } from './timeline.ts'
import { createVm, type Vm } from './vm.ts'

let wall: number
let core: Core
let vm: Vm
let key: Keypair
beforeEach(async () => {
  wall = 1_000_000
  key = createKeypair(newSecret())
  vm = await createVm()
  const store = openStore(undefined)
  const accounts = createAccounts()
  const first = [...builtinAccounts(vm), [key.address, emptyAccount(programs.system, 10n ** 12n)] as const]
  accounts.apply(0, first)
  vm.put(first.slice(-1))
  const anchors = [{ slot: 0, ms: wall }]
  const timeline = createTimeline({ slotMs: 400, seed: new Uint8Array(32), anchors, gaps: [] })
  const clock = createClock(0, () => wall)
  const parts: BankParts = {
    vm,
    clock,
    timeline,
    accounts,
    history: createHistory(store),
    ledger: createLedger(store),
    store,
    identity: key.address,
  }
  wall += 4_000
  core = createCore(parts)
})

function transaction(serial = 0): Transaction {
  const latest = core.timeline.blockhashOf(core.timeline.parentOf(core.open))
  const decoded = decodeTransaction(buildTransaction(key, [computeUnitLimit(1_000 + serial)], latest))
  if (decoded.kind !== 'ok') throw new Error(decoded.reason)
  return decoded.value
}

describe('a planted account', () => {
  it('is seen at every commitment at once, and survives a rollback', () => {
    const { address } = createKeypair(newSecret())
    const states = () => [0, core.open - 5, core.open].map((slot) => core.read(address, slot)?.lamports)
    plant([[address, emptyAccount(programs.system, 7n)]], core)
    expect(states()).toEqual([7n, 7n, 7n])
    jump(3, 1_200, core)
    plant([[address, emptyAccount(programs.system, 8n)]], core)
    expect(states()).toEqual([8n, 8n, 8n])
    rollback(2, core)
    expect(states()).toEqual([8n, 8n, 8n])
    plant([[address, undefined]], core)
    expect(states()).toEqual([undefined, undefined, undefined])
  })
})

describe('a transaction with an older blockhash', () => {
  it('stays as it was signed', () => {
    const sent = transaction()
    const before = [...sent.bytes]
    wall += 800
    expect(submit(sent, core)).toMatchObject({ kind: 'landed', record: { failure: undefined } })
    expect([...sent.bytes]).toEqual(before)
  })
})

describe('slots', () => {
  it('are over at their own time, also after a jump within one', () => {
    expect([untilNextSlot(core), core.open]).toEqual([400, 10])
    wall += 150
    expect([untilNextSlot(core), core.open]).toEqual([250, 10])
    wall += 250
    expect([untilNextSlot(core), core.open]).toEqual([400, 11])
    wall += 399
    expect([untilNextSlot(core), core.open]).toEqual([1, 11])
    jump(1, 0, core)
    expect([untilNextSlot(core), core.open]).toEqual([400, 12])
    wall += 1_000
    expect([untilNextSlot(core), core.open]).toEqual([200, 14])
  })

  it('close one after the other, also when a listener takes longer than a slot', () => {
    const moves: [number, number][] = []
    core.listeners.add({
      moved(from, to) {
        moves.push([from, to])
        wall += 1_000
        expect(submit(transaction(to), core)).toMatchObject({ kind: 'landed', record: { slot: to } })
      },
    })
    expect(core.open).toBe(10)
    wall += 400
    expect(sync(core)).toBe(11)
    expect(sync(core)).toBe(13)
    expect(moves).toEqual([
      [10, 11],
      [11, 13],
    ])
  })

  it('forget replays when their blockhashes are dead', () => {
    for (let serial = 0; serial < 5; serial++) submit(transaction(serial), core)
    expect(core.replays.size()).toBe(5)
    jump(300, 0, core)
    expect(core.replays.size()).toBe(0)
  })
})

describe('the messages of the VM', () => {
  function outcomeOf(failure: Failure) {
    const failing: Vm = {
      ...vm,
      execute: () => ({ failure, logs: [], inner: [], units: 0n, returnData: undefined, changes: [] }),
    }
    const surroundings: Surroundings = {
      vm: failing,
      slot: core.open,
      anyAge: true,
      get: (address) => core.accounts.get(address),
      lastBlockhash: core.timeline.blockhashOf(1),
      isRecentBlockhash: () => true,
      isRecentSlot: () => true,
      wasProcessed: () => false,
    }
    return evaluate(transaction(), surroundings).kind
  }

  it.each<Failure>([
    { InstructionError: [0, { Custom: 1 }] },
    { InsufficientFundsForRent: { account_index: 3 } },
    'InvalidProgramForExecution',
    'MaxLoadedAccountsDataSizeExceeded',
  ])('lands as a failure: %j', (failure) => {
    expect(outcomeOf(failure)).toBe('processed')
  })

  it.each<Failure>(['AccountInUse', 'SanitizeFailure', 'InvalidWritableAccount', { DuplicateInstruction: 1 }])(
    'never lands: %j',
    (failure) => {
      expect(outcomeOf(failure)).toBe('rejected')
    },
  )
})
