import { expect, it } from 'vitest'
import { createDemoLog } from './messages.ts'

const dayMs = 86_400_000
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one.
const plain = (text: string | undefined): string | undefined => text?.replace(/\u001b\[\d+m/g, '')

it('reports outgoing amounts in whole tokens, with the day during a time lapse', async () => {
  const lines: string[] = []
  const words = 'paid 12.5 NATIVE to 4 payees'
  const log = createDemoLog({
    note: (line) => lines.push(line),
    now: () => 2.5 * dayMs,
    since: 0.9 * dayMs,
    describe: async (kind, id) => (kind === 'payout' && id === 'one' ? words : undefined),
  })
  log.info('payment.accrued', { tx: 'x' })
  log.info('outgoing.landed', { kind: 'payout', id: 'one', tx: 'abcdefghijklmnop' })
  log.info('outgoing.landed', { kind: 'conversion', id: 'two', tx: 'abcdefghijklmnop' })
  await expect.poll(() => lines.length).toBe(2)
  expect(lines.map(plain)).toEqual([
    `12:00:00  day 3 (1970-01-03)  out   ${words}, transaction abcdefgh…`,
    '12:00:00  day 3 (1970-01-03)  out   conversion, transaction abcdefgh…',
  ])
})
