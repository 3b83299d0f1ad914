/** The copy that docs/operations.md advises knows every payment that was acknowledged before it, while the service runs. */
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, expect, it } from 'vitest'
import type { Ledger } from '../../src/core/ports/ledger.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { againOf, createPayment, createTestClock, identity, takeOf } from '../ledger/payments.ts'
import { createFolder } from '../ledger/stores.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

it('a copy by VACUUM INTO contains all uses until then, and adds up', async () => {
  const folder = createFolder()
  closers.push(folder.remove)
  const clock = createTestClock()
  const open = async (file: string): Promise<Ledger> => {
    const ledger = await openLedger(file, { clock, identity })
    closers.push(ledger.close)
    return ledger
  }
  const file = join(folder.path, 'ledger.sqlite')
  const running = await open(file)
  const payment = createPayment()
  const taken = await running.take(takeOf(payment))
  if (taken.kind !== 'granted') throw new Error(taken.kind)
  await running.end(taken.grant, 'delivered', 1n)
  const copy = join(folder.path, 'copy.sqlite')
  const db = new DatabaseSync(file)
  db.exec(`VACUUM INTO '${copy}'`)
  db.close()
  const restored = await open(copy)
  expect(await restored.take(againOf(payment))).toEqual({ kind: 'spent' })
  expect(await restored.books?.audit()).toEqual([])
  expect(await running.take(takeOf(createPayment()))).toMatchObject({ kind: 'granted' })
})
