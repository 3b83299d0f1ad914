import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contrast, deriveAccent } from './accent.ts'

const tokens = readFileSync(new URL('../../pages/look/tokens.css', import.meta.url), 'utf8')
/** A colour of the pages, in the light and in the dark theme. */
function readToken(name: string): readonly [string, string] {
  const [, light = '', dark = ''] =
    new RegExp(`--${name}: light-dark\\((#[0-9a-f]+), (#[0-9a-f]+)\\)`).exec(tokens) ?? []
  const long = (colour: string) => (colour.length === 4 ? colour.replace(/[0-9a-f]/g, '$&$&') : colour)
  return [long(light), long(dark)]
}

describe('the accent of a seller', () => {
  it('has enough contrast in both themes, for every colour', () => {
    const [ground, surface] = [readToken('ground'), readToken('surface')]
    expect([ground, surface].flat().join()).toBe('#f6f7f9,#0e1016,#ffffff,#171a22')
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
        const { light, dark } = deriveAccent(`#${value.toString(16).padStart(6, '0')}`)
        for (const [index, { accent, soft, fill, fillText }] of [light, dark].entries()) {
          const grounds = [ground[index] ?? '', surface[index] ?? '']
          for (const other of [...grounds, soft]) expect(contrast(accent, other)).toBeGreaterThanOrEqual(4.5)
          for (const other of grounds) expect(contrast(fill, other)).toBeGreaterThanOrEqual(1.3)
          expect(contrast(fill, fillText)).toBeGreaterThanOrEqual(4.5)
        }
      }),
    )
  })

  it.each([
    ['#4f3cc9', 'light', '#4f3cc9'],
    ['#a99cff', 'dark', '#a99cff'],
    ['#ffffff', 'dark', '#ffffff'],
    ['#000000', 'light', '#000000'],
  ] as const)('%s stays as it is in the %s theme', (colour, theme, accent) => {
    expect(deriveAccent(colour)[theme].accent).toBe(accent)
  })

  it.each([
    ['#f5d90a', 'light', '#f5d90a', '#000000'],
    ['#f5d90a', 'dark', '#f5d90a', '#000000'],
    ['#4f3cc9', 'light', '#4f3cc9', '#ffffff'],
    ['#ffffff', 'light', '#d9d9d9', '#000000'],
    ['#000000', 'dark', '#333333', '#ffffff'],
  ] as const)('%s fills a button in the %s theme as %s, with text in %s', (colour, theme, fill, fillText) => {
    expect(deriveAccent(colour)[theme]).toMatchObject({ fill, fillText })
  })

  it('contrast is the ratio of WCAG', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  })
})
