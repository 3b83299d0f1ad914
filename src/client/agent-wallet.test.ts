import { expect, it } from 'vitest'
import { initAgentWallet } from './agent-wallet.ts'
import { toWallet } from './wallet.ts'

it.each([
  ['./wallet.json', "initAgentWallet: takes an object; write initAgentWallet({ path: 'wallet.json' })."],
  [null, "initAgentWallet: takes an object; write initAgentWallet({ path: 'wallet.json' })."],
  [{ pth: './wallet.json' }, 'initAgentWallet: pth is not an option (did you mean path?).'],
  [{ keypair: 'x' }, 'initAgentWallet: keypair is not an option.'],
])('options that would select the usual wallet by mistake are refused: %j', async (options, message) => {
  await expect(initAgentWallet(options as never)).rejects.toThrow(new TypeError(message))
})

it('a wallet without its await is explained', async () => {
  const wallet = Promise.resolve() as never
  await expect(toWallet(wallet)).rejects.toThrow('wallet is a promise. Write await before initAgentWallet().')
})
