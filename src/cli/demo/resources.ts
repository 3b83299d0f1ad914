/** The resources of the demo. */
import type { TokenCode } from '../../core/money/tokens.ts'
import { drawArt } from './art.ts'
import { moonCalendar } from './calendar.ts'
import { moonAt } from './moon.ts'
import { makeSudoku } from './sudoku.ts'
import { playPage } from './sudoku-page.ts'

export interface Resource {
  readonly name: string
  readonly price: string
  readonly token: TokenCode
  readonly description: string
  readonly type: string
  /** The name of a download. */
  readonly file?: string
  /** `tx` is the transaction that paid. */
  make(visit: { readonly now: number; readonly tx: string }): string
}

export const resources: readonly Resource[] = [
  {
    name: 'moon',
    price: '0.001',
    token: 'USDC',
    description: 'The moon now: phase, illumination, a drawing and the next dates',
    type: 'application/json',
    make: ({ now }) => JSON.stringify(moonAt(now)),
  },
  {
    name: 'art',
    price: '0.00002',
    token: 'SOL',
    description: 'A unique picture, drawn from the signature of your payment',
    type: 'image/svg+xml',
    make: ({ tx }) => drawArt(tx),
  },
  {
    name: 'sudoku',
    price: '0.05',
    token: 'NATIVE',
    description: 'A new hard sudoku with exactly one solution',
    type: 'application/json',
    make: () => JSON.stringify(makeSudoku(Math.random)),
  },
  {
    name: 'play',
    price: '0.02',
    token: 'USDC',
    description: 'A sudoku to play in the browser',
    type: 'text/html; charset=utf-8',
    make: () => playPage(makeSudoku(Math.random)),
  },
  {
    name: 'calendar',
    price: '0.0001',
    token: 'SOL',
    description: 'The phases of the moon for the next three months, as a calendar file',
    type: 'text/calendar; charset=utf-8',
    file: 'moon.ics',
    make: ({ now }) => moonCalendar(now),
  },
]
