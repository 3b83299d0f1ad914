import { expect, it } from 'vitest'
import { initAgentWallet } from './agent-wallet.ts'
import { toWallet } from './wallet.ts'

it.each([
  ['./wallet.json', "initAgentWallet: takes an object; write initAgentWallet({ path: 'wallet.json' })."],
  [null, "initAgentWallet: takes an object; write initAgentWallet({ path: 'wallet.json' })."],
  [{ pth: './wallet.json' }, 'initAgentWallet: pth is not an option (did you mean path?).'],
  [{ keypair: 'x' }, 'initAgentWallet: keypair is not an option.'],
  [{ path: '' }, 'initAgentWallet: path must be the name of a file.'],
  [{ path: 5 }, 'initAgentWallet: path must be the name of a file.'],
  [{ create: 'false' }, 'initAgentWallet: create must be true or false.'],
  [{ passphrase: 5 }, 'initAgentWallet: passphrase must be a text.'],
])('options that would select, create or seal a wallet by mistake are refused: %j', async (options, message) => {
  await expect(initAgentWallet(options as never)).rejects.toThrow(new TypeError(message))
})

it('a wallet without its await is explained', async () => {
  const wallet = Promise.resolve() as never
  await expect(toWallet(wallet)).rejects.toThrow('wallet is a promise. Write await before initAgentWallet().')
})

it('a key file in a place that cannot be written is named', async () => {
  const path = '/dev/null/wallet.json'
  const message = `The key file ${path} cannot be created (EEXIST). Choose another path.`
  await expect(initAgentWallet({ path })).rejects.toMatchObject({ code: 'key_unusable', message })
})
