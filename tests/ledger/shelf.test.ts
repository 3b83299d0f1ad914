/** Text under a name, for a while: the same over every store, and for every server on one. */
import { describe, expect, it } from 'vitest'
import type { KeyValueStore } from '../../src/core/ports/kv.ts'
import { useDesk } from './grants-fixture.ts'
import { startOfTests } from './payments.ts'
import { places } from './places.ts'
import { stores } from './stores.ts'

const soon = startOfTests + 1000

describe.each(stores)('the shelf of the %s ledger', (_name, open) => {
  const desk = useDesk(open)
  const kv = (): KeyValueStore => {
    if (!desk.ledger.kv) throw new Error('this ledger has no shelf')
    return desk.ledger.kv
  }

  it('keeps a thing under its name, and takes no second one', async () => {
    expect(await kv().put('nonce/1', 'a', soon)).toBe(true)
    expect(await kv().put('nonce/1', 'b', soon)).toBe(false)
    expect(await kv().get('nonce/1')).toBe('a')
    expect(await kv().get('nonce/2')).toBeUndefined()
  })

  it('lets one of many parallel puts succeed', async () => {
    const puts = Array.from({ length: 20 }, (_, number) => kv().put('nonce/1', String(number), soon))
    expect((await Promise.all(puts)).filter((isPut) => isPut)).toHaveLength(1)
  })

  it('lets one of many parallel removals succeed', async () => {
    await kv().put('nonce/1', 'a', soon)
    const removals = Array.from({ length: 20 }, () => kv().remove('nonce/1'))
    expect((await Promise.all(removals)).filter((isRemoved) => isRemoved)).toHaveLength(1)
    expect(await kv().get('nonce/1')).toBeUndefined()
    expect(await kv().put('nonce/1', 'b', soon)).toBe(true)
  })

  it('hides expired entries, and accepts new ones in their place', async () => {
    await kv().put('nonce/1', 'a', soon)
    desk.clock.advance(999)
    expect(await kv().get('nonce/1')).toBe('a')
    desk.clock.advance(1)
    expect(await kv().get('nonce/1')).toBeUndefined()
    expect(await kv().list('')).toEqual([])
    expect(await kv().remove('nonce/1')).toBe(false)
    expect(await kv().put('nonce/1', 'b', soon + 1000)).toBe(true)
    expect(await kv().get('nonce/1')).toBe('b')
  })

  it('lists by the beginning of the name, with any characters', async () => {
    const names = ['a', 'a/', 'a/\0"\\', 'a/ä', 'a/\u{1f600}', 'a0', 'b']
    for (const name of names.toReversed()) await kv().put(name, `${name}\0'`, soon)
    expect((await kv().list('a/')).map(({ name }) => name).toSorted()).toEqual(names.slice(1, 5).toSorted())
    expect(await kv().list('b')).toEqual([{ name: 'b', value: "b\0'", until: soon }])
    expect(await kv().list('c')).toEqual([])
    expect(await kv().list('')).toHaveLength(7)
  })
})

describe.each(places)('a %s ledger with many things on its shelf', (_name, make) => {
  it('clears away a few that are over with every one that is put', async () => {
    const place = await make()
    const { kv } = await place.open()
    for (let number = 0; number < 25; number += 1) await kv.put(`old/${number}`, '', soon)
    place.clock.advance(1000)
    const left = async () => Number((await place.sql('SELECT count(*) AS count FROM shelf'))[0]?.['count'])
    expect(await left()).toBe(25)
    await kv.put('new/1', '', soon + 1000)
    expect(await left()).toBe(16)
    await kv.put('new/2', '', soon + 1000)
    await kv.put('new/3', '', soon + 1000)
    expect(await left()).toBe(3)
  })
})
