import { expect, it } from 'vitest'
import { paused, signUnlessPaused } from './pause.ts'

const held = { kind: 'unavailable', why: paused }

it('signs nothing while it is paused', async () => {
  let signings = 0
  const sign = async () => {
    signings += 1
    return { kind: 'signed' } as const
  }
  expect(await signUnlessPaused(async () => true, sign)).toEqual(held)
  expect(signings).toBe(0)
  expect(await signUnlessPaused(async () => false, sign)).toEqual({ kind: 'signed' })
})

it('stops a transaction that was being signed at the pause, and gives the reason', async () => {
  for (const kind of ['signed', 'impossible'] as const) {
    let isPaused = false
    const sign = async () => {
      isPaused = true
      return { kind }
    }
    const signing = await signUnlessPaused(async () => isPaused, sign)
    expect(signing).toEqual(kind === 'signed' ? held : { kind })
  }
})
