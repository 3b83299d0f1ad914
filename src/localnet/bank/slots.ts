/** Opens and closes slots: by the clock, by a jump of it, or because a fork was dropped. */
import { type Account, emptyAccount } from '../accounts/account.ts'
import type { Accounts, Change } from '../accounts/accounts.ts'
import { programs } from '../accounts/addresses.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import { computeView } from './commitment.ts'
import type { History, TransactionRecord } from './history.ts'
import { createReplayGuard, type ReplayGuard } from './replay.ts'
import type { Ledger } from './saved-state.ts'
import { createSysvar } from './sysvars.ts'
import { blockhashAge, type Timeline } from './timeline.ts'
import type { Vm } from './vm.ts'

/** The number of slots with a remembered previous state: 32 until they are final, and the rest for lagging nodes. */
const rememberedSlots = 282
export const maxLagSlots = rememberedSlots - 32
/** Twice the lifetime of a blockhash, because slots of dropped forks do not age it. */
const replayWindow = 2 * blockhashAge

export interface BankParts {
  readonly vm: Vm
  readonly clock: Clock
  readonly timeline: Timeline
  readonly accounts: Accounts
  readonly history: History
  readonly ledger: Ledger
  readonly store: Store
  /** The node's own address. It leads every slot and earns its fees. */
  readonly identity: string
}

export interface BankListener {
  transaction?(record: TransactionRecord): void
  /** The open slot closed and another opened. The slots between them are idle. */
  moved?(from: number, to: number): void
  dropped?(after: number): void
}

/** The shared state of the bank. Its mutable fields belong to the open slot. */
export interface Core extends BankParts {
  readonly listeners: Set<BankListener>
  readonly replays: ReplayGuard
  read(address: string, slot: number): Account | undefined
  open: number
  /** Transactions in the open slot so far. */
  positions: number
  fees: { readonly base: bigint; readonly priority: bigint }
  /** The slot of the sysvars in the VM. */
  vmSlot: number
  moving: boolean
}

const noFees = { base: 0n, priority: 0n }

export function createCore(parts: BankParts): Core {
  const { timeline, clock, history, accounts } = parts
  const open = timeline.tipAt(clock.now())
  return {
    ...parts,
    listeners: new Set(),
    replays: createReplayGuard(history.recent(open - replayWindow)),
    read: (address, slot) => createSysvar(address, slot, timeline) ?? accounts.at(address, slot),
    open,
    positions: 0,
    fees: noFees,
    vmSlot: -1,
    moving: false,
  }
}

/** Closes the slots that are over, and returns the open one. */
export function sync(core: Core): number {
  const tip = core.timeline.tipAt(core.clock.now())
  if (tip > core.open && !core.moving) moveTo(tip, core)
  return core.open
}

/** Closes the slots that are over, and returns the milliseconds until the open one is over, at least 1. */
export function untilNextSlot(core: Core): number {
  return Math.max(1, core.timeline.timeOf(sync(core) + 1) - core.clock.now())
}

function moveTo(next: number, core: Core, anchor?: () => void): void {
  const from = core.open
  closeSlot(core)
  anchor?.()
  core.open = next
  // Listeners can submit transactions. Those belong to the new slot, regardless of how long the listeners take.
  core.moving = true
  for (const listener of core.listeners) listener.moved?.(from, next)
  core.moving = false
  core.accounts.forget(next - rememberedSlots)
  core.replays.forget(next - replayWindow)
}

/** Pays the fees of the slot to the node (half of the base fees is burnt) and commits the slot. */
function closeSlot(core: Core): void {
  const { accounts, history, ledger, store, identity, fees } = core
  const earned = fees.priority + fees.base - fees.base / 2n
  if (earned > 0n) {
    const before = accounts.get(identity) ?? emptyAccount(programs.system)
    const account = { ...before, lamports: before.lamports + earned }
    change([[identity, account]], core)
    history.addReward(core.open, { lamports: earned, postBalance: account.lamports })
  }
  if (store.durable)
    ledger.save([...accounts.changedIn(core.open)].map((address) => [address, accounts.get(address)] as const))
  store.commit()
  core.positions = 0
  core.fees = noFees
}

export function change(changes: readonly Change[], { store, accounts, vm, open }: Core): void {
  store.begin()
  // The VM can refuse an account. In that case nothing has changed.
  vm.put(changes)
  accounts.apply(open, changes)
}

/** Every commitment sees the change at once, and a rollback keeps it. */
export function plant(changes: readonly Change[], core: Core): void {
  sync(core)
  change(changes, core)
  core.accounts.rewrite(changes)
}

/** The last slot with a known blockhash on top of this one. An open slot has no blockhash yet. */
export function latestClosed(slot: number, { open, timeline }: Core): number {
  return slot >= open ? timeline.parentOf(slot) : slot
}

export function jump(slots: number, milliseconds: number, core: Core): void {
  if (!Number.isSafeInteger(slots) || slots < 1) throw new RangeError('at least one slot must pass')
  if (!Number.isSafeInteger(milliseconds) || milliseconds < 0) throw new RangeError('the clock only goes forward')
  const { clock, ledger, store, timeline } = core
  sync(core)
  moveTo(core.open + slots, core, () => {
    store.begin()
    clock.shift(milliseconds)
    store.setMeta('offset', Buffer.from(String(clock.offset())))
    ledger.addAnchors(timeline.jump(core.open, slots, clock.now()))
    store.commit()
  })
}

export function rollback(slots: number, core: Core): readonly string[] {
  const { accounts, clock, history, ledger, listeners, replays, store, timeline, vm } = core
  const lost = sync(core)
  const { finalized } = computeView(lost, 0, timeline)
  const keep = lost - slots
  if (!Number.isSafeInteger(slots) || slots < 1 || keep < finalized)
    throw new RangeError(`between 1 and ${lost - finalized} slots can be dropped: slot ${finalized} is final`)
  store.begin()
  const changes = accounts.revert(keep)
  vm.put(changes)
  if (store.durable) ledger.save(changes)
  const vanished = history.drop(keep)
  replays.drop(keep)
  ledger.addGap(timeline.drop(keep, lost))
  ledger.addAnchors(timeline.jump(lost, 1, clock.now()))
  store.commit()
  Object.assign(core, { open: lost + 1, positions: 0, fees: noFees, vmSlot: -1 })
  for (const listener of listeners) listener.dropped?.(keep)
  for (const listener of listeners) listener.moved?.(lost, lost + 1)
  return vanished
}

export function closeBank(core: Core): void {
  sync(core)
  closeSlot(core)
  core.store.close()
}
