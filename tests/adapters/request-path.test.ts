// @isolated: precise coverage slows down every module of its process.
/** A reader who follows a request opens few files of the paywall. ARCHITECTURE.md lists them. */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWallClock } from '../../src/host/clock.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { createShopFixture, expectServed, type ShopFixture } from '../harness/shop-fixture.ts'

const session = new Session()
let fixture: ShopFixture
beforeAll(async () => {
  fixture = await createShopFixture()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})
afterAll(async () => {
  session.disconnect()
  await fixture.close()
})

/** The files of the paywall whose functions ran since the last call. */
function takeFiles(): ReadonlySet<string> {
  const files = new Set<string>()
  session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
    for (const { url, functions } of result) {
      const [, file] = /\/src\/paywall\/(.*)$/.exec(url) ?? []
      if (file && functions.some(({ ranges }) => ranges[0]?.count)) files.add(file)
    }
  })
  return files
}

/** The files of every request. A timer of the service may run during one of them. */
const inAll = (paths: readonly ReadonlySet<string>[]) =>
  [...(paths[0] ?? [])].filter((file) => paths.every((path) => path.has(file))).sort()

/** The files that ARCHITECTURE.md lists after this title. */
function listed(title: string): readonly string[] {
  const text = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8')
  const [, list = ''] = text.split(`**${title}**`)
  return [...(list.split('\n\n')[1] ?? '').matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file ?? '').sort()
}

it('reaches the challenge through the files that ARCHITECTURE.md lists, at most ten', async () => {
  const shop = await fixture.open({ onEvent: undefined })
  const paths: ReadonlySet<string>[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    takeFiles()
    await shop.challenge()
    paths.push(takeFiles())
  }
  expect(inAll(paths)).toEqual(listed('The files of an unpaid request.'))
  expect(inAll(paths).length).toBeLessThanOrEqual(10)
})

it('reaches the grant through the files that ARCHITECTURE.md lists, at most ten', async () => {
  const identity = { network: 'localnet', service: 'path', fingerprint: 'path' } as const
  const opened = await openLedger('memory:', { clock: createWallClock(), identity })
  const paths: ReadonlySet<string>[] = []
  const take: typeof opened.take = (order) => {
    paths.push(takeFiles())
    return opened.take(order)
  }
  const shop = await fixture.open({ ledger: { ...opened, take } })
  for (const path of ['/1', '/2', '/3']) {
    const proof = await shop.buy(fixture.payer, path)
    takeFiles()
    await expectServed(shop.claim(proof, path))
  }
  expect(inAll(paths)).toEqual(listed('The files of a paid request.'))
  expect(inAll(paths).length).toBeLessThanOrEqual(10)
})
