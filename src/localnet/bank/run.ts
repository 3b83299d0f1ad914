/** Runs transactions: permanently in the open slot, or as a simulation on top of any recent slot. */
import { sameAccount } from '../accounts/account.ts'
import type { Change } from '../accounts/accounts.ts'
import { readLookupTable } from '../transaction/lookup-table.ts'
import { signaturesHold } from '../transaction/signature.ts'
import type { Message, Transaction } from '../transaction/wire.ts'
import { admittedNonce, evaluate, type Rejection, resolve, type Surroundings } from './evaluate.ts'
import type { TransactionRecord } from './history.ts'
import { createRecord, createReport, type Report } from './report.ts'
import { type Core, change, latestClosed, sync } from './slots.ts'
import { createSysvars, slotsBefore } from './sysvars.ts'
import { blockhashAge } from './timeline.ts'

export type Submission = { readonly kind: 'landed'; readonly record: TransactionRecord } | Rejection

/** A simulation requires a blockhash that is still valid when the transaction has reached the leader. */
const forwardingBlocks = 6

export const badSignature: Rejection = {
  kind: 'rejected',
  failure: 'SignatureFailure',
  roles: [],
  loaded: { writable: [], readonly: [] },
  fee: undefined,
}

export function sceneAt(slot: number, anyAge: boolean, core: Core, maxAge = blockhashAge): Surroundings {
  const { vm, timeline, replays, read } = core
  const latest = latestClosed(slot, core)
  return {
    vm,
    slot,
    anyAge,
    get: (address) => read(address, slot),
    lastBlockhash: timeline.blockhashOf(latest),
    isRecentBlockhash: (blockhash) => timeline.slotOfBlockhash(blockhash, latest, maxAge) !== undefined,
    isRecentSlot: (number) => [...slotsBefore(slot, 512, timeline)].some((recent) => BigInt(recent) === number),
    wasProcessed: (message) => replays.has(message, slot),
  }
}

function prepareVm(slot: number, core: Core): void {
  if (core.vmSlot !== slot) core.vm.put(createSysvars(slot, core.timeline))
  core.vmSlot = slot
}

export function submit(transaction: Transaction, core: Core): Submission {
  const slot = sync(core)
  if (!signaturesHold(transaction)) return badSignature
  prepareVm(slot, core)
  const outcome = evaluate(transaction, sceneAt(slot, false, core))
  if (outcome.kind === 'rejected') return outcome
  const report = createReport(transaction, outcome, (address) => core.read(address, slot))
  const changes = outcome.changes.filter(([address, account]) => !sameAccount(account, core.accounts.get(address)))
  const place = { slot, position: core.positions++ }
  const changed = changes.map(([address]) => address)
  const record = createRecord(transaction, report, place, changed)
  change(changes, core)
  core.history.add(record, new Set(outcome.roles.map(({ address }) => address)))
  core.replays.add(transaction.message, slot)
  const { priorityFee } = outcome.budget
  core.fees = { base: core.fees.base + outcome.fee - priorityFee, priority: core.fees.priority + priorityFee }
  for (const listener of core.listeners) listener.transaction?.(record)
  return { kind: 'landed', record }
}

export function simulate(transaction: Transaction, slot: number, anyAge: boolean, core: Core): Report | Rejection {
  const { vm, accounts, read } = core
  const past = pastAccounts(transaction, slot, core)
  vm.put(past)
  prepareVm(slot, core)
  try {
    const outcome = evaluate(transaction, sceneAt(slot, anyAge, core, blockhashAge - forwardingBlocks))
    return outcome.kind === 'rejected' ? outcome : createReport(transaction, outcome, (address) => read(address, slot))
  } finally {
    vm.put(past.map(([address]) => [address, accounts.get(address)]))
  }
}

/** Accounts that the transaction can read and that have changed since the simulated slot. */
function pastAccounts({ message }: Transaction, slot: number, { accounts, open }: Core): readonly Change[] {
  if (slot >= open) return []
  const tables = message.lookups.map(({ table }) => accounts.at(table, slot)?.data ?? new Uint8Array())
  const looked = tables.flatMap((data) => readLookupTable(data)?.addresses ?? [])
  return [...new Set([...message.keys, ...message.lookups.map(({ table }) => table), ...looked])]
    .map((address) => [address, accounts.at(address, slot)] as const)
    .filter(([address, account]) => account !== accounts.get(address))
}

export function livesByNonce(message: Message, slot: number, core: Core): boolean {
  const surroundings = sceneAt(slot, false, core)
  const resolved = resolve(message, surroundings)
  return !('kind' in resolved) && admittedNonce(message, resolved.roles, surroundings) !== undefined
}
