/** What the demo sells. */
import type { TokenCode } from '../../core/network.ts'
import { parseProof } from '../../core/proof.ts'
import { drawArt } from './art.ts'
import { moonAt } from './moon.ts'
import { makeSudoku } from './sudoku.ts'

export interface Resource {
  readonly name: string
  readonly price: string
  readonly token: TokenCode
  readonly description: string
  readonly type: string
  make(visit: { readonly now: number; readonly proof: string }): string
}

export const resources: readonly Resource[] = [
  {
    name: 'moon',
    price: '0.001',
    token: 'USDC',
    description: 'The moon right now: phase, light, a drawing, and the dates to come',
    type: 'application/json',
    make: ({ now }) => JSON.stringify(moonAt(now)),
  },
  {
    name: 'art',
    price: '0.00002',
    token: 'SOL',
    description: 'A picture drawn from the signature of your payment, so nobody else has it',
    type: 'image/svg+xml',
    make: ({ proof }) => {
      const reading = parseProof(proof)
      return drawArt(reading.kind === 'proof' ? reading.proof.tx : '')
    },
  },
  {
    name: 'sudoku',
    price: '0.05',
    token: 'NATIVE',
    description: 'A fresh sudoku with exactly one solution, as hard as it gets',
    type: 'application/json',
    make: () => JSON.stringify(makeSudoku(Math.random)),
  },
]
