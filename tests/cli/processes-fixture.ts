/** A gateway of several processes, as its clients and the operating system see it. */
import { execFileSync } from 'node:child_process'
import { request } from 'node:http'
import { eventually } from '../harness/shop.ts'

export interface Answered {
  readonly status: number
  readonly body: string
}

/** Over a connection of its own, because the processes take turns at connections. */
export function visit(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, headers }, (response) => {
      let body = ''
      response.on('data', (data) => {
        body += String(data)
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.once('error', reject)
    })
    asked.once('error', reject).end()
  })
}

/**
 * Shows a proof until its payment is known. The leading process tells the others about a payment, and they refuse its
 * proof with 403 until the notice reaches them.
 */
export function redeem(url: string, proof: string): Promise<Answered> {
  return eventually(
    () => visit(url, { 'Payment-Proof': proof }),
    ({ status }) => status !== 403,
  )
}

export function countStatus(all: readonly Answered[], wanted: number): number {
  return all.filter(({ status }) => status === wanted).length
}

/** The value of a metric in the text of `/metrics`. NaN if it has none yet. */
export function findMetric(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

export function listChildren(parent: number | undefined): readonly number[] {
  return execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([above, pid = 0]) => (above === parent ? [pid] : []))
}
