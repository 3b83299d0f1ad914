import { expect, it } from 'vitest'
import { networks } from '../../core/money/tokens.ts'
import { readTestMode } from './test-mode.ts'

it('is everywhere but on mainnet, and there is a banner for it', () => {
  const modes = networks.map((network) => [network, readTestMode(network)] as const)
  expect(modes.map(([network, { testMode }]) => [network, testMode])).toEqual([
    ['mainnet', false],
    ['devnet', true],
    ['localnet', true],
  ])
  for (const [, { testMode, banner }] of modes) expect(banner !== undefined).toBe(testMode)
})
