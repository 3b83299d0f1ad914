/** Which chain a command is about, and where a service keeps its ledger. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { chooseNetwork, runningLocalnet } from '../../src/cli/network.ts'
import { parseNodes } from '../../src/core/money/tokens.ts'
import { announceLocalnet, findLocalnet, usualLedger, withdrawLocalnet } from '../../src/host/home.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'paystile-network-'))
  vi.stubEnv('PAYSTILE_HOME', home)
  vi.stubEnv('PAYSTILE_NETWORK', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true })
})

const note = (genesis: string) => ({ genesis, rpcUrl: `http://127.0.0.1/${genesis}` })

describe('the chain of a command', () => {
  it('is the one named, then the one of the environment, then the one that runs here, then the real one', () => {
    expect(chooseNetwork(undefined)).toBe('mainnet')
    announceLocalnet(note('a'))
    expect(chooseNetwork(undefined)).toBe('localnet')
    vi.stubEnv('PAYSTILE_NETWORK', 'devnet')
    expect([chooseNetwork(undefined), chooseNetwork('mainnet')]).toEqual(['devnet', 'mainnet'])
    vi.stubEnv('PAYSTILE_NETWORK', '')
    expect(chooseNetwork(undefined)).toBe('localnet')
  })

  it('is not guessed when the environment names none that exists', () => {
    vi.stubEnv('PAYSTILE_NETWORK', 'testnet')
    expect(() => chooseNetwork(undefined)).toThrow('PAYSTILE_NETWORK is "testnet". Set it to one of mainnet, devnet')
  })

  it('is the localnet that started last, with any name', () => {
    expect(() => runningLocalnet()).toThrow('No localnet runs on this machine')
    vi.useFakeTimers({ toFake: ['Date'], now: 1 })
    for (const genesis of ['m', 'z', 'a']) {
      vi.setSystemTime(Date.now() + 1)
      announceLocalnet(note(genesis))
    }
    vi.useRealTimers()
    expect([findLocalnet()?.genesis, findLocalnet('z')?.genesis, findLocalnet('x')]).toEqual(['a', 'z', undefined])
    withdrawLocalnet('a')
    expect(runningLocalnet().genesis).toBe('z')
  })
})

it.each([
  [undefined, undefined],
  ['', undefined],
  [' , ', undefined],
  ['http://a', ['http://a']],
  [' http://a, http://b ,', ['http://a', 'http://b']],
])('nodes named as %j are %j', (text, nodes) => expect(parseNodes(text)).toEqual(nodes))

it('a ledger that is not named has its place below the working directory, for its owner only', () => {
  const before = process.cwd()
  process.chdir(home)
  try {
    expect(usualLedger('devnet')).toBe(join('.paystile', 'devnet.sqlite'))
    expect(statSync(join(home, '.paystile')).mode & 0o777).toBe(0o700)
  } finally {
    process.chdir(before)
  }
})
