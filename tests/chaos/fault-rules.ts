/** Some nodes have one fault, from one moment to another. */
import type { FakeNode } from '../harness/fake-node.ts'
import type { PaymentCase } from './chain-fixture.ts'
import type { Fault } from './faults.ts'

export interface Illness {
  begin(): void
  end(): void
  /** How often somebody was told something wrong on account of a payment. */
  met(): number
}

/** What a service asks without any proof: the time, and what is sold. */
export const idle: ReadonlySet<string> = new Set(['paystile_clock', 'getAccountInfo', 'getMultipleAccounts'])

/** It ends by itself after so many questions. */
export function applyFault(
  nodes: readonly FakeNode[],
  fault: Fault,
  paymentCase: PaymentCase,
  questions = Number.POSITIVE_INFINITY,
): Illness {
  let heal: () => void = () => {}
  const healed = new Promise<void>((resolve) => {
    heal = resolve
  })
  const behave = fault.behave({ paymentCase, healed })
  let met = 0
  const end = () => {
    for (const node of nodes) node.behave(undefined)
    heal()
  }
  return {
    begin: () => {
      for (const node of nodes) {
        node.behave((question, ask) => {
          if (!idle.has(question.method)) met += 1
          if (met >= questions) end()
          return behave(question, ask)
        })
      }
    },
    end,
    met: () => met,
  }
}
