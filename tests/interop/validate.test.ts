/** The official checker of MPP finds no fault with a gateway. */
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGatewayFixture, type GatewayFixture } from '../gateway/gateway-fixture.ts'

let fixture: GatewayFixture
beforeAll(async () => {
  fixture = await createGatewayFixture()
})
afterAll(() => fixture.close())

interface Report {
  readonly summary: Readonly<Record<'passed' | 'failed' | 'warnings', number>>
  readonly endpoints: readonly object[]
}

function validate(url: string): Promise<{ readonly code: number | null; readonly text: string }> {
  return new Promise((resolve) => {
    const program = new URL('node_modules/mppx/dist/bin.js', import.meta.url).pathname
    const child = spawn(process.execPath, [program, 'validate', url, '--output-json'])
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    child.on('close', (code) => resolve({ code, text }))
  })
}

it('mppx validate passes against a gateway, with every paid route', async () => {
  const { url } = await fixture.open({
    sponsor: true,
    publicUrl: 'http://127.0.0.1:8402',
    routes: [
      { path: '/weather', methods: ['GET'], price: 0.01 },
      { path: '/forecast', methods: ['GET'], price: 0.02, acceptedMints: ['USDC', 'SOL'] },
    ],
  })
  const { code, text } = await validate(url)
  const report = JSON.parse(text) as Report
  expect(report.summary, text).toMatchObject({ failed: 0, warnings: 0 })
  expect(code).toBe(0)
  expect(report.endpoints).toHaveLength(2)
})
