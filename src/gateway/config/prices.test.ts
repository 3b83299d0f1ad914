import { describe, expect, it } from 'vitest'
import { editPrices, listPrices } from './prices.ts'

const file = `# Prices of the shop
token: USDC
routes:
  # The weather
  - path: /weather
    price: 0.01 # cheap
  - path: /free
    free: true
  - { path: /news, headers: { Authorization: secret }, price: '0.02' }
  - path: /map
    price: "1"
`

describe('prices in a YAML text', () => {
  it('are listed with their lines', () => {
    expect(listPrices(file)).toEqual([
      { route: 0, line: 6, price: '0.01', why: '' },
      { route: 2, line: 9, price: '0.02', why: '' },
      { route: 3, line: 11, price: '1', why: '' },
    ])
  })

  it('are replaced in their places, and every other byte stays', () => {
    const changes = [
      { route: 3, price: '2.5' },
      { route: 0, price: '0.015' },
      { route: 2, price: '3' },
    ]
    const edited = editPrices(file, changes)
    expect(edited).toEqual({
      kind: 'edited',
      text: file.replace('0.01 #', '0.015 #').replace("'0.02'", "'3'").replace('"1"', '"2.5"'),
      lines: [
        { route: 3, line: 11, before: '"1"', after: '"2.5"' },
        { route: 0, line: 6, before: '0.01', after: '0.015' },
        { route: 2, line: 9, before: "'0.02'", after: "'3'" },
      ],
    })
  })

  it('keep all their digits', () => {
    const price = '0.00000000000012345'
    expect(editPrices(file, [{ route: 0, price }])).toMatchObject({
      kind: 'edited',
      lines: [{ after: `"${price}"` }],
    })
  })

  it('stay in files with carriage returns and a byte order mark', () => {
    const text = `\uFEFF${file.replaceAll('\n', '\r\n')}`
    expect(editPrices(text, [{ route: 0, price: '9' }])).toMatchObject({ text: text.replace('0.01 #', '9 #') })
  })

  it.each([
    ['the place of a free route', file, 1, 'routes[1].price: has no price'],
    ['a place behind the last route', file, 9, 'routes[9].price: has no price'],
    ['a file without routes', 'a: 1\n', 0, 'routes[0].price: has no price'],
    [
      'a variable of the environment',
      `routes: [{ path: /a, price: "\${PRICE}" }]`,
      0,
      'routes[0].price: comes from the environment; change it there',
    ],
    ['an anchor', 'routes: [{ price: &p 1 }, { price: *p }]', 0, byHand(0)],
    ['an alias', 'routes: [{ price: &p 1 }, { price: *p }]', 1, byHand(1)],
    ['a block of text', 'routes:\n  - price: |\n      1\n', 0, byHand(0)],
    [
      'a route that is used twice',
      'routes: [&a { price: 1 }, *a]',
      0,
      'the prices cannot be changed without another change; edit the file by hand',
    ],
  ])('are not replaced in %s', (_, text, route, why) => {
    expect(editPrices(text, [{ route, price: '5' }])).toEqual({ kind: 'refused', problems: [why] })
  })

  it('cannot bring other text into the file', () => {
    expect(editPrices(file, [{ route: 0, price: '1\n    free: true' }])).toMatchObject({ kind: 'refused' })
  })
})

function byHand(route: number): string {
  return `routes[${route}].price: is written in a form that only its author can change; edit the file by hand`
}
