/** Loads SQLite before the journal that imports it, so that a payer without its binary gets a clear error. */
import { loadBinary } from '../../core/errors/native-binary.ts'
import { JournalError } from '../errors.ts'
import type * as FileJournal from './file.ts'

/** Throws a `JournalError` if no SQLite binary can be loaded. Nothing was paid then. */
export async function loadFileJournal(
  load: () => Promise<unknown> = () => import('@photostructure/sqlite'),
): Promise<typeof FileJournal> {
  await loadBinary(
    {
      part: 'The payment journal',
      name: '@photostructure/sqlite',
      instead: 'pass your own journal (createMemoryJournal) or use a supported machine; nothing was paid.',
      refuse: (sentence) => new JournalError(sentence),
      machine: process,
    },
    load,
  )
  return import('./file.ts')
}
