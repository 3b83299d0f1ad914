/** Several processes on one ledger, and the history of what they asked and were told. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Anomaly } from './linearizable.ts'
import { judge } from './linearizable.ts'
import type { Call, Terms } from './register.ts'

const script = fileURLToPath(new URL('./replica.mjs', import.meta.url))

export interface Play {
  readonly place: string
  readonly fault?: string
  readonly replicas: number
  readonly clients: number
  /** How many calls at least, in all. A ledger with a fault is played until its first anomaly, or so long. */
  readonly calls: number
}

export interface Account {
  readonly calls: number
  /** How often each answer was given, as `take granted`. */
  readonly answers: Readonly<Record<string, number>>
  /** Calls that had begun before another on the same payment had ended. */
  readonly overlaps: number
  readonly anomalies: readonly Anomaly[]
  readonly perSecond: number
}

/** Payments of one round: few, so that all clients meet on them. */
const paymentsPerRound = 12
const callsPerRound = 1_600

interface Payment extends Terms {
  readonly number: number
  /** Whether leases on it outlast the test; else they lapse within milliseconds. */
  readonly lasting: boolean
}

type Reported = Call & { readonly payment: number }

export async function playHistory({ place, fault = 'none', replicas, clients, calls }: Play): Promise<Account> {
  const children = Array.from({ length: replicas }, (_, index) => start(place, index + 1, fault))
  await Promise.all(children.map(heard))
  const perClient = Math.ceil(callsPerRound / replicas / clients)
  const rounds = Math.ceil(calls / (perClient * replicas * clients))
  const answers: Record<string, number> = {}
  const anomalies: Anomaly[] = []
  let [made, overlaps, spent] = [0, 0, 0]
  const isOver = () => fault !== 'none' && anomalies.length > 0
  for (let round = 0; round < rounds && !isOver(); round += 1) {
    const payments = Array.from({ length: paymentsPerRound }, (_, index) => paymentOf(round * paymentsPerRound + index))
    const begun = performance.now()
    const reports = await Promise.all(
      children.map((child) => {
        child.send({ payments, clients, calls: perClient })
        return heard(child) as Promise<readonly Reported[]>
      }),
    )
    spent += performance.now() - begun
    const history = reports.flat()
    made += history.length
    for (const { asked, told } of history) count(answers, `${asked.act} ${wordFor(told)}`)
    for (const payment of payments) {
      const own = history.filter((call) => call.payment === payment.number)
      overlaps += countOverlaps(own)
      const verdict = judge(payment, own)
      if (verdict.kind === 'anomaly') anomalies.push(verdict)
    }
  }
  for (const child of children) child.disconnect()
  return { calls: made, answers, overlaps, anomalies, perSecond: Math.round((made / spent) * 1000) }
}

function paymentOf(number: number): Payment {
  const unit = number % 4 === 3 ? 'byte' : 'request'
  // Large enough for slices, and small enough to end.
  if (number % 6 === 4) return { number, unit: 'request', amount: 40, lasting: number % 5 !== 0 }
  return {
    number,
    unit,
    // So many bytes that they are not gone before somebody goes on.
    amount: (1 + (number % 3)) * (unit === 'byte' ? 4 : 1),
    lasting: number % 5 !== 0,
  }
}

function start(place: string, number: number, fault: string): ChildProcess {
  const child = fork(script, [place, String(number), fault], { stdio: ['ignore', 2, 2, 'ipc'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** The next message of a child, which may not end before. */
function heard(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null) => reject(new Error(`a replica ended with ${code}`))
    child.once('exit', end)
    child.once('message', (message) => {
      child.off('exit', end)
      resolve(message)
    })
  })
}

function wordFor(told: Call['told']): string {
  if (told.kind === 'standing') return told.state
  return told.kind === 'done' ? String(told.held) : told.kind
}

function count(answers: Record<string, number>, name: string): void {
  answers[name] = (answers[name] ?? 0) + 1
}

function countOverlaps(calls: readonly Call[]): number {
  const sorted = [...calls].sort((one, other) => one.from - other.from)
  let [ends, overlaps] = [0, 0]
  for (const { from, to } of sorted) {
    if (from < ends) overlaps += 1
    ends = Math.max(ends, to)
  }
  return overlaps
}
