import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createWallClock } from '../host/clock.ts'
import { createGetAnalytics } from './analytics.ts'
import { signInWith } from './sign-in.ts'

const getAnalytics = createGetAnalytics({
  clock: createWallClock(),
  usualUrl: () => undefined,
  usualWallet: undefined,
})

/** A service that answers every request alike. */
async function serve(status: number, body: object): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end(JSON.stringify(body)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const address = '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY'
const wallet = { address, signTransaction: () => expect.fail(), signMessage: () => expect.fail() }
const commands = '\u001b[2J\u202e'
const isPlain = /^[\x20-\x7e]+$/

it('T235: the words of a service that refuses analytics or a sign-in cannot command a terminal', async () => {
  const url = await serve(403, { code: `no${commands}`, detail: `Pay here:${commands}\nhttps://evil.example` })
  const refused = expect.objectContaining({
    message: expect.stringMatching(isPlain),
    refusal: expect.stringMatching(isPlain),
  })
  await expect(getAnalytics({ url })).rejects.toEqual(refused)
  await expect(signInWith(wallet, url)).rejects.toEqual(refused)
  const text = [
    `evil${commands} wants you to sign in with your Solana account:`,
    address,
    '',
    'Sign in to see your payments. This signs no transaction and moves no money.',
    '',
    'URI: https://evil.example',
    'Version: 1',
    'Chain ID: solana:devnet',
    'Nonce: 12345678',
    'Issued At: 2026-01-01T00:00:00.000Z',
    'Expiration Time: 2026-01-01T00:05:00.000Z',
  ].join('\n')
  const another = await serve(200, { message: text })
  await expect(signInWith(wallet, another)).rejects.toMatchObject({ message: expect.stringMatching(isPlain) })
})

it('a summary without its amounts by token is not taken for one', async () => {
  const url = await serve(200, { totalRevenue: '1', currencyBreakdown: null, topEndpoints: [] })
  await expect(getAnalytics({ url })).rejects.toThrow('is not a paystile service with analytics')
})
