import { expect, it } from 'vitest'
import { createThrottledLog } from './throttled-log.ts'

it('tells the same complaint once an hour, another at once, and all that goes well', () => {
  const lines: string[] = []
  const tell = (level: string) => (event: string, facts?: object) =>
    void lines.push(`${level} ${event} ${JSON.stringify(facts)}`)
  let now = 0
  const log = createThrottledLog(
    { info: tell('info'), warn: tell('warn'), error: tell('error') },
    { monotonic: () => now },
  )
  const round = () => {
    for (const id of ['a', 'b']) log.error('outgoing.failed', { id, why: 'broken' })
    log.warn('outgoing.waiting', { id: 'a' })
    log.info('outgoing.signed', { id: 'a' })
  }
  const complaints = [
    'error outgoing.failed {"id":"a","why":"broken"}',
    'error outgoing.failed {"id":"b","why":"broken"}',
    'warn outgoing.waiting {"id":"a"}',
  ]
  round()
  expect(lines.splice(0)).toEqual([...complaints, 'info outgoing.signed {"id":"a"}'])
  now = 3_599_999
  round()
  expect(lines.splice(0)).toEqual(['info outgoing.signed {"id":"a"}'])
  now = 3_600_000
  round()
  expect(lines.splice(0)).toEqual([...complaints, 'info outgoing.signed {"id":"a"}'])
})

it('remembers no more than so many', () => {
  let told = 0
  const log = createThrottledLog({ info: () => {}, warn: () => (told += 1), error: () => {} }, { monotonic: () => 0 })
  for (let turn = 0; turn < 2; turn += 1) {
    for (let id = 0; id < 1_500; id += 1) log.warn('outgoing.waiting', { id })
  }
  expect(told).toBe(3_000)
})
