import { expect, it } from 'vitest'
import { createRedactor } from './redact.ts'

const redact = createRedactor({
  environment: {
    PAYSTILE_SECRET: '1:firstSecretOfAll,root:anotherOne',
    PAYSTILE_RPC: 'https://node.example/keyInThePath123?api-key=keyInTheQuery, https://user:passw%2Frd@two.example',
    PAYSTILE_LEDGER: 'postgres://shop:ledgerPassword@db.example/shopping',
    PAYSTILE_ACCOUNT_KEY: './keys/account.json',
    MY_API_TOKEN: 'tokenOfMine',
    HOME: '/home/somebody',
    SHORT_KEY: 'abc',
  },
  known: ['Bearer upstreamKey'],
  addresses: ['http://127.0.0.1:8899', 'https://rates.example/v1/aKeyForRates00'],
})

it.each([
  ['a keyring', 'bad 1:firstSecretOfAll here', 'bad … here'],
  ['one of its secrets alone', 'anotherOne is short', '… is short'],
  ['the path of a node', 'https://node.example/keyInThePath123 is down', 'https://node.example/… is down'],
  ['the query of a node', 'GET /?api-key=keyInTheQuery', 'GET /…'],
  ['a password, written and meant', 'passw%2Frd passw/rd', '… …'],
  ['the password of a database', 'connect ledgerPassword', 'connect …'],
  ['a variable that calls itself a token', 'tokenOfMine', '…'],
  ['what the configuration holds', 'sent Bearer upstreamKey', 'sent …'],
  ['a key for rates', 'GET https://rates.example/v1/aKeyForRates00', 'GET https://rates.example/v1/…'],
  ['a name and password of whatever address', 'http://me:you@there.example/x', 'http://…@there.example/x'],
])('takes out %s', (_name, text, shown) => {
  expect(redact(text)).toBe(shown)
})

it.each([
  'chmod 600 ./keys/account.json',
  'http://127.0.0.1:8899 does not answer',
  'postgres://db.example/shopping',
  '/home/somebody/paystile.yaml: abc',
])('leaves %j as it is', (text) => {
  expect(redact(text)).toBe(text)
})

it('makes one line of what others say, which moves no cursor', () => {
  expect(redact('one\r\ntwo\u001b[31mred')).toBe('one two [31mred')
})
