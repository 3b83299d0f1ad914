import { expect, it } from 'vitest'
import { listSocketUrls } from './sockets.ts'

it.each([
  ['https://node.example/?key=1', ['wss://node.example/?key=1']],
  ['http://127.0.0.1:8899', ['ws://127.0.0.1:8899/', 'ws://127.0.0.1:8900/']],
  ['https://node.example/#part', ['wss://node.example/']],
])('%s', (node, sockets) => {
  expect(listSocketUrls(node)).toEqual(sockets)
})
