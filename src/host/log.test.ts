import { expect, it } from 'vitest'
import { createLog } from './log.ts'

function listen(env: Readonly<Record<string, string>> = {}) {
  const lines: string[] = []
  return { log: createLog((line) => void lines.push(line), env), lines }
}

it('T139: keeps line ends, escapes and bells of input inside one line of JSON', () => {
  const { log, lines } = listen()
  const hostile = '\r\n{"level":"error","event":"forged"}\n\u001b[2J\u001b]0;title\u0007\u0000\u2028\u0085'
  log.info(`odd ${hostile}`, { target: `/x${hostile}`, [`name${hostile}`]: 1 })
  expect(lines).toHaveLength(1)
  const [line = ''] = lines
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
  expect(line.endsWith('\n')).toBe(true)
  expect(JSON.parse(line)).toMatchObject({ level: 'info', target: `/x${hostile}` })
})

it('T139: a value is cut at 256 characters, its name and the event too', () => {
  const { log, lines } = listen()
  log.warn('x'.repeat(500), { ['n'.repeat(500)]: 'v'.repeat(500) })
  const { event, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, string>
  expect(event).toHaveLength(256)
  expect(rest['n'.repeat(256)]).toBe('v'.repeat(256))
})

it('T139: a fact takes the place of neither time, level nor event', () => {
  const { log, lines } = listen()
  log.error('real', { level: 'info', event: 'forged', time: 'never', why: 'x' })
  const line = JSON.parse(lines[0] ?? '') as Record<string, string>
  expect(line).toMatchObject({ level: 'error', event: 'paystile: real', why: 'x' })
  expect(Object.keys(line)).toEqual(['time', 'level', 'event', 'why'])
  expect(line['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

it.each([
  ['error', ['error']],
  ['warn', ['warn', 'error']],
  ['info', ['info', 'warn', 'error']],
  ['chatty', ['info', 'warn', 'error']],
])('PAYSTILE_LOG=%s writes %j', (level, written) => {
  const { log, lines } = listen({ PAYSTILE_LOG: level })
  log.info('one')
  log.warn('two')
  log.error('three')
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(written)
})

it('T140: writes no secret of the environment, and no part of the keyring', () => {
  const first = 'odd shape of a first secret, long enough'
  const { log, lines } = listen({ PAYSTILE_SECRET: `7:${first}`, UPSTREAM_TOKEN: 'plain words here' })
  log.error(`it is ${first}`, { why: 'said plain words here' })
  expect(lines.join('')).not.toMatch(/odd shape|plain words/)
})
