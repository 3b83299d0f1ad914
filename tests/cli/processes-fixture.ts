/** A gateway of several processes, as its clients and the operating system see it. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { eventually } from '../harness/shop.ts'
import { type Finished, finished, start } from './command.ts'

export interface Gateway {
  readonly child: ChildProcess
  readonly end: Promise<Finished>
  /** The line that the command prints, once the gateway is ready. */
  readonly ready: Promise<{ readonly url: string; readonly processes: number }>
  /** The text on stderr so far. */
  notes(): string
  /** Visits a path of the gateway, once it is ready. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answered>
  /** The value of a metric. NaN if it has none yet. */
  metric(name: string): Promise<number>
  listProcesses(): readonly number[]
}

export function startGateway(file: string, processes: number): Gateway {
  const child = start(['dist/cli/main.js', 'serve', file, '--processes', String(processes)])
  let notes = ''
  child.stderr?.on('data', (data) => {
    notes += String(data)
  })
  const ready = new Promise<string>((resolve) => child.stdout?.once('data', (data) => resolve(String(data)))).then(
    async (text) => {
      const line = JSON.parse(text)
      await eventually(
        async () => (await visit(`${line.url}/readyz`)).status,
        (status) => status === 200,
      )
      return line
    },
  )
  const get: Gateway['get'] = async (path, headers) => visit(`${(await ready).url}${path}`, headers)
  return {
    ...{ child, end: finished(child), ready, notes: () => notes, get },
    metric: async (name) => findMetric((await get('/metrics')).body, name),
    listProcesses: () => listChildren(child.pid),
  }
}

export interface Answered {
  readonly status: number
  readonly body: string
}

/** Over a connection of its own, because the processes take turns at connections. */
function visit(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
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

function findMetric(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

function listChildren(parent: number | undefined): readonly number[] {
  const file = `/proc/${parent}/task/${parent}/children`
  // Linux names them in a file, which takes no process to read.
  if (existsSync(file)) return readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  return execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([above, pid = 0]) => (above === parent ? [pid] : []))
}
