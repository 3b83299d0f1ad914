/**
 * The machine code of the puppet: a program that does what its instruction data says.
 *
 * Several orders may follow each other, and accounts are told by their position among those the puppet was given:
 *
 * - `1, length, accounts, program, bump, (account, flags)…, data…` calls another program, and signs for the address
 *   that its own id and the bump make. Flags: 1 writable, 2 signer.
 * - `2, from, to, units in 8 bytes` moves lamports of an account that it owns.
 *
 * Data that means nothing to it it takes without a word, so it also passes for a token program or a transfer hook. Orders
 * may also be part of its code; then it follows them whatever its data says.
 */
import type { Assembler, Register } from './sbpf.ts'

const heap = 0x300000000n
const infoBytes = 56
const metasAt = 0x1000
const orderAt = 0x1800
const seedAt = 0x1840
const seedsAt = 0x1860
const ownOrdersAt = 0x2000

/** `skip` bytes of the data come before the orders, and mean nothing to it. */
export function writeScriptedProgram(asm: Assembler, skip = 0, ownOrders?: Uint8Array): void {
  readAccounts(asm)
  if (ownOrders) placeOrders(asm, ownOrders)
  else asm.set('add', 6, skip)
  asm.label('order')
  asm.jumpUnlessBelow(6, 8, 'end')
  asm.load('b', 2, 6, 0)
  asm.jumpIf('jeq', 2, 1, 'call')
  asm.jumpIf('jeq', 2, 2, 'move')
  asm.label('end')
  asm.set('mov', 0, 0)
  asm.exit()
  callAnother(asm)
  moveLamports(asm)
}

/** Leaves in r7 how many accounts there are, in r6 where the instruction data begins and in r8 where it ends. */
function readAccounts(asm: Assembler): void {
  asm.join('mov', 6, 1)
  asm.load('dw', 7, 6, 0)
  asm.set('add', 6, 8)
  asm.wide(8, heap)
  asm.set('mov', 9, 0)
  asm.label('account')
  asm.jumpUnlessBelow(9, 7, 'accounts read')
  asm.load('b', 2, 6, 0)
  asm.jumpIf('jne', 2, 255, 'seen before')
  for (const [field, offset] of [
    [8, 0],
    [72, 8],
    [88, 24],
    [40, 32],
  ] as const) {
    asm.join('mov', 3, 6)
    asm.set('add', 3, field)
    asm.store('dw', 8, offset, 3)
  }
  for (const [field, offset] of [
    [1, 48],
    [2, 49],
    [3, 50],
  ] as const) {
    asm.load('b', 3, 6, field)
    asm.store('b', 8, offset, 3)
  }
  asm.load('dw', 4, 6, 80)
  asm.store('dw', 8, 16, 4)
  // Behind the data, the loader leaves room for it to grow, and then aligns.
  asm.set('add', 6, 88 + 10_240 + 7)
  asm.join('add', 6, 4)
  asm.set('and', 6, -8)
  asm.load('dw', 3, 6, 0)
  asm.store('dw', 8, 40, 3)
  asm.jump('next account')
  asm.label('seen before')
  pointAt(asm, 3, 2)
  for (let offset = 0; offset < infoBytes; offset += 8) {
    asm.load('dw', 4, 3, offset)
    asm.store('dw', 8, offset, 4)
  }
  asm.label('next account')
  asm.set('add', 6, 8)
  asm.set('add', 8, infoBytes)
  asm.set('add', 9, 1)
  asm.jump('account')
  asm.label('accounts read')
  asm.load('dw', 8, 6, 0)
  asm.set('add', 6, 8)
  asm.join('add', 8, 6)
}

/** Writes orders into memory, and leaves in r6 where they begin and in r8 where they end. */
function placeOrders(asm: Assembler, orders: Uint8Array): void {
  const padded = new Uint8Array(Math.ceil(orders.length / 8) * 8)
  padded.set(orders)
  asm.wide(6, heap)
  asm.set('add', 6, ownOrdersAt)
  for (const [index, word] of new BigInt64Array(padded.buffer).entries()) {
    asm.wide(3, word)
    asm.store('dw', 6, 8 * index, 3)
  }
  asm.join('mov', 8, 6)
  asm.set('add', 8, orders.length)
}

/** `to` ← where the account is described whose position is in `position`, which is spoiled. */
function pointAt(asm: Assembler, to: Register, position: Register): void {
  asm.set('mul', position, infoBytes)
  asm.wide(to, heap)
  asm.join('add', to, position)
}

function callAnother(asm: Assembler): void {
  asm.label('call')
  asm.wide(9, heap)
  asm.load('b', 2, 6, 3)
  pointAt(asm, 3, 2)
  asm.load('dw', 3, 3, 0)
  asm.store('dw', 9, orderAt, 3)
  asm.join('mov', 5, 9)
  asm.set('add', 5, metasAt)
  asm.store('dw', 9, orderAt + 8, 5)
  asm.load('b', 4, 6, 2)
  asm.store('dw', 9, orderAt + 16, 4)
  asm.join('mov', 1, 6)
  asm.set('add', 1, 5)
  asm.label('meta')
  asm.jumpIf('jeq', 4, 0, 'metas written')
  asm.load('b', 2, 1, 0)
  pointAt(asm, 3, 2)
  asm.load('dw', 3, 3, 0)
  asm.store('dw', 5, 0, 3)
  asm.load('b', 3, 1, 1)
  asm.join('mov', 2, 3)
  asm.set('and', 2, 1)
  asm.store('b', 5, 8, 2)
  asm.set('rsh', 3, 1)
  asm.store('b', 5, 9, 3)
  asm.set('add', 5, 16)
  asm.set('add', 1, 2)
  asm.set('add', 4, -1)
  asm.jump('meta')
  asm.label('metas written')
  asm.store('dw', 9, orderAt + 24, 1)
  asm.load('b', 3, 6, 1)
  asm.store('dw', 9, orderAt + 32, 3)
  asm.join('add', 1, 3)
  asm.load('b', 5, 6, 4)
  asm.set('add', 6, 4)
  asm.store('dw', 9, seedAt, 6)
  asm.join('mov', 6, 1)
  asm.set('mov', 2, 1)
  asm.store('dw', 9, seedAt + 8, 2)
  asm.store('dw', 9, seedsAt + 8, 2)
  asm.join('mov', 4, 9)
  asm.set('add', 4, seedAt)
  asm.store('dw', 9, seedsAt, 4)
  asm.set('add', 4, seedsAt - seedAt)
  asm.join('mov', 1, 9)
  asm.set('add', 1, orderAt)
  asm.join('mov', 2, 9)
  asm.join('mov', 3, 7)
  asm.jumpIf('jeq', 5, 0, 'unsigned')
  asm.set('mov', 5, 1)
  asm.label('unsigned')
  asm.invoke()
  asm.jump('order')
}

function moveLamports(asm: Assembler): void {
  asm.label('move')
  asm.load('dw', 5, 6, 3)
  for (const [field, operation] of [
    [1, 'sub'],
    [2, 'add'],
  ] as const) {
    asm.load('b', 2, 6, field)
    pointAt(asm, 3, 2)
    asm.load('dw', 3, 3, 8)
    asm.load('dw', 4, 3, 0)
    asm.join(operation, 4, 5)
    asm.store('dw', 3, 0, 4)
  }
  asm.set('add', 6, 11)
  asm.jump('order')
}
