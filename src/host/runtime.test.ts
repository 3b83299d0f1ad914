import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { findRuntimeProblem, oldestNode, type RuntimeGlobals, requireRuntime } from './runtime.ts'

const onNode = (node: string, others: Readonly<Record<string, string>> = {}): RuntimeGlobals => ({
  process: { versions: { node, ...others } },
})
const supported = 'use Node 20.19 or later (the client also runs in browsers)'

describe('a supported runtime', () => {
  it.each<[string, RuntimeGlobals]>([
    ['this one', globalThis],
    ['the oldest Node', onNode('20.19.0')],
    ['a later minor version', onNode('20.20.2')],
    ['a later major version with a lower minor version', onNode('22.0.0')],
    ['a nightly build', onNode('25.0.0-nightly2026')],
    ['Node with a navigator', { ...onNode('24.1.0'), navigator: { userAgent: 'Node.js/24' } }],
    ['Electron', onNode('22.1.0', { electron: '36.0.0' })],
  ])('is not refused: %s', (_name, globals) => {
    expect(findRuntimeProblem(globals)).toBeUndefined()
    expect(() => requireRuntime(globals)).not.toThrow()
  })
})

describe('an unsupported runtime', () => {
  it.each<[string, RuntimeGlobals]>([
    ['it does not run on Bun 1.4.4', { ...onNode('24.3.0', { bun: '1.4.4' }), Bun: {} }],
    ['it does not run on Bun', { Bun: {} }],
    ['it does not run on Deno 2.9.5', { ...onNode('24.2.0', { deno: '2.9.5' }), Deno: {} }],
    ['it does not run on Deno', { Deno: {} }],
    ['it does not run on Cloudflare Workers', { navigator: { userAgent: 'Cloudflare-Workers' } }],
    [
      'it does not run on Cloudflare Workers',
      { ...onNode('22.19.0'), navigator: { userAgent: 'Cloudflare-Workers' } }, // with its Node compatibility
    ],
    ['it does not run on an edge runtime', { EdgeRuntime: 'edge-runtime', process: {} }],
    ['it does not run on a runtime without Node', {}],
    ['it does not run on a runtime without Node', { process: { versions: {} } }],
    ['Node 20.18.3 is too old', onNode('20.18.3')],
    ['Node 18.20.8 is too old', onNode('18.20.8')],
    ['Node 0.12.18 is too old', onNode('0.12.18')],
  ])('is named in one sentence with the supported ones: %s', (sentence, globals) => {
    expect(findRuntimeProblem(globals)).toBe(`${sentence}; ${supported}`)
    expect(() => requireRuntime(globals)).toThrow(ConfigurationError)
  })
})

it('requires the Node version that package.json requires', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(engines.node).toBe(`>=${oldestNode}`)
})
