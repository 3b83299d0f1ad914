import { expect, it } from 'vitest'
import { ConfigurationError } from './configuration-error.ts'
import { loadBinary } from './native-binary.ts'

const use = {
  part: 'the localnet',
  name: 'litesvm',
  instead: 'use devnet',
  refuse: (sentence: string) => new ConfigurationError([sentence]),
  machine: { platform: 'linux', arch: 'riscv64' },
}

it('gives back the module that loads', async () => {
  expect(await loadBinary(use, async () => 'module')).toBe('module')
})

it.each([
  ['Cannot find native binding. npm has a bug. Please try `npm i` again.', 'Cannot find native binding'],
  [
    'No native build was found for platform=linux arch=riscv64\n    loaded from: /somewhere\n',
    'No native build was found',
  ],
])('explains in one sentence why the binary does not load, and the remedy: %j', async (message, reason) => {
  await expect(loadBinary(use, () => Promise.reject(new Error(message)))).rejects.toEqual(
    new ConfigurationError([
      `the localnet needs litesvm, but its binary does not load on linux-riscv64 (${reason}); use devnet`,
    ]),
  )
})
