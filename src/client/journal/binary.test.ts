import { expect, it } from 'vitest'
import { JournalError } from '../errors.ts'
import { loadFileJournal } from './binary.ts'

it('names SQLite and another journal if the machine has no binary of SQLite', async () => {
  const failed = loadFileJournal(() => Promise.reject(new Error('No native build was found for arch=riscv64\n  at …')))
  await expect(failed).rejects.toEqual(
    new JournalError(
      `The payment journal needs @photostructure/sqlite, but its binary does not load on ${process.platform}-${process.arch} ` +
        '(No native build was found for arch=riscv64); pass your own journal (createMemoryJournal) ' +
        'or use a supported machine; nothing was paid.',
    ),
  )
})

it('loads the journal where SQLite loads', async () => {
  expect((await loadFileJournal()).openFileJournal).toBeTypeOf('function')
})
