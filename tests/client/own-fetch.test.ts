import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** Other Solana libraries state the `Content-Length` of their requests. */
const script = `
import { createServer } from 'node:http'
import './dist/client/index.js'
import './dist/adapters/node.js'
const server = createServer((request, response) => response.end('ok')).listen(0, '127.0.0.1', async () => {
  const url = 'http://127.0.0.1:' + server.address().port
  const response = await fetch(url, { method: 'POST', headers: { 'content-length': '2' }, body: '{}' })
  process.stdout.write(await response.text())
  process.exit()
})`

it("the product leaves Node's own fetch as it is", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  expect(stdout).toBe('ok')
})
