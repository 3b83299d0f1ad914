/** docs/webhooks.md: its receivers take what we send and nothing else, and its tables are those of the code. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { paymentColumns } from '../../src/api/analytics/format.ts'
import { ledgerEventKinds } from '../../src/core/ports/outbox.ts'
import { formatWebhook, retryDelaysMs, type Webhook } from '../../src/core/ports/webhooks.ts'
import { createWebhookPoster } from '../../src/host/net/signed-webhooks.ts'
import { createReceiver } from '../harness/events.ts'
import { freePort } from '../harness/free-port.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = readFileSync(join(root, 'docs/webhooks.md'), 'utf8')
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const hook = (url: string, ...secrets: readonly string[]): Webhook => {
  return { name: 'hook', url, secrets, events: ledgerEventKinds, allowPrivate: false }
}
const data = { amount: '0.01', token: 'USDC', endpoint: '/api/report', note: 'ü' }
const message = (id: string) => formatWebhook({ id, kind: 'payment.finalized', at: 0 }, data)

/** Sends a message for real, and answers with its status. */
async function send(url: string, id: string, ...secrets: readonly string[]): Promise<number> {
  const poster = createWebhookPoster({ network: 'localnet' })
  const posted = await poster.post(hook(url, ...secrets), message(id), new AbortController().signal)
  await poster.close()
  return posted.kind === 'answered' ? posted.status : 0
}

describe('the receiver in JavaScript', () => {
  let child: ChildProcess | undefined
  afterEach(async () => {
    const running = child
    if (!running) return
    running.kill()
    await new Promise((resolve) => running.once('exit', resolve))
  })

  it('accepts signed messages with the new or the old secret once, and nothing else', async () => {
    const port = await freePort()
    const code = readFileSync(join(root, 'examples/webhook.mjs'), 'utf8').replace('3001', String(port))
    const env = { ...process.env, PAYSTILE_WEBHOOK_SECRET: secret }
    child = spawn(process.execPath, ['--input-type=module', '--eval', code], { cwd: root, env, stdio: 'pipe' })
    let said = ''
    child.stdout?.on('data', (bytes) => {
      said += bytes
    })
    await expect.poll(() => said).toContain('listening')
    const url = `http://127.0.0.1:${port}/hook`
    expect(await send(url, 'n1', secret)).toBe(204)
    expect(await send(url, 'n1', secret)).toBe(204)
    expect(await send(url, 'n2', other, secret)).toBe(204)
    expect(await send(url, 'n3', other)).toBe(401)
    const line = 'payment.finalized 0.01 USDC /api/report\n'
    await expect.poll(() => said).toBe(`listening\n${line}${line}`)
  })
})

describe('the receiver in Python', () => {
  const [, recipe = ''] = /^```python\n([\s\S]*?)^```$/m.exec(text) ?? []
  const verify = (by: string, headers: object, body: string) => {
    const call =
      'import sys\ngiven = json.load(sys.stdin)\nprint(verify(given[0], given[1], given[2].encode())["type"])'
    const input = JSON.stringify([by, headers, body])
    const ran = spawnSync('python3', ['-c', `${recipe}\n${call}`], { input, encoding: 'utf8' })
    // Where there is no Python, the recipe is at least there.
    return ran.error ? undefined : `${ran.stdout}${ran.stderr}`
  }

  it('accepts signed messages, and nothing else', async () => {
    const receiver = await createReceiver()
    expect(await send(receiver.url, 'n1', other, secret)).toBe(204)
    await receiver.close()
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
    expect(recipe).toContain('compare_digest')
    expect(verify(secret, headers, body) ?? 'payment.finalized\n').toBe('payment.finalized\n')
    expect(verify(secret, headers, `${body} `) ?? 'not signed by us').toContain('not signed by us')
    expect(verify(`whsec_${btoa('x'.repeat(24))}`, headers, body) ?? 'not signed by us').toContain('not signed by us')
    const old = { ...headers, 'webhook-timestamp': '1' }
    expect(verify(secret, old, body) ?? 'too old').toContain('too old')
  })
})

it('shows a payment with the fields that it has', () => {
  const [, json = ''] = /^```json\n([\s\S]*?)^```$/m.exec(text) ?? []
  expect(Object.keys((JSON.parse(json) as { data: object }).data)).toEqual([...paymentColumns])
})

it('lists every event', () => {
  expect([...text.matchAll(/^\| `(\w+\.\w+)` \|/gm)].map(([, kind]) => kind)).toEqual([...ledgerEventKinds])
})

it('tells the schedule as it is', () => {
  const [, short = '', hours = ''] = /after (5 s, 5 min, 30 min), ([\d, and]+) h,/.exec(text) ?? []
  const told = [...short.split(', '), ...(hours.match(/\d+/g) ?? []).map((hour) => `${hour} h`)]
  const units: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600 }
  const ms = told.map((one) => Number(one.split(' ')[0]) * (units[one.split(' ')[1] ?? ''] ?? 0) * 1000)
  expect(ms).toEqual(retryDelaysMs)
})
