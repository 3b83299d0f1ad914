// The table of README.md that compares paystile with other projects, from the rows of `peers/*`.
import { readFileSync } from 'node:fs'
import { peers } from './peers.mjs'
import { round } from './statistics.mjs'

/** @typedef {import('./statistics.mjs').Row} Row */

const measured = /** @type {const} */ ([
  ['CPU time of one 402 response, relative', 'unpaid-cpu'],
  ['Time of a purchase by the same client, relative', 'time'],
  ['CPU time of the server for that purchase, relative', 'cpu'],
])

/**
 * Empty unless all rows are there.
 *
 * @param {readonly Row[]} rows
 */
export function formatComparison(rows) {
  const find = (/** @type {string} */ name) => rows.find((row) => row.name === `peers/${name}`)
  const names = peers.flatMap(({ name }) =>
    ['deliveries', 'deliveries-2', ...measured.map(([, end]) => end)].map((end) => `${name}-${end}`),
  )
  if (!names.every(find)) return ''
  const deliveries = (/** @type {string} */ name, /** @type {'value' | 'baseline'} */ side) =>
    ['deliveries', 'deliveries-2'].map((end) => find(`${name}-${end}`)?.[side]).join(' · ')
  const lines = [
    ['', 'paystile', ...peers.map(describe)],
    ['---', ...Array(peers.length + 1).fill('---')],
    [
      'Deliveries for one payment sent 20 times at once, to one server · to two',
      deliveries('x402', 'value'),
      ...peers.map(({ name }) => deliveries(name, 'baseline')),
    ],
    ...measured.map(([title, end]) => [
      title,
      '1',
      ...peers.map(({ name }) => `${round(1 / (find(`${name}-${end}`)?.ratio ?? Number.NaN), 1)}`),
    ]),
  ]
  return lines
    .map((cells) =>
      `| ${cells.join(' | ')} |`.replaceAll(' ---', '---').replaceAll('--- ', '---').replace('|  |', '| |'),
    )
    .join('\n')
}

/** @param {import('./peers.mjs').Peer} peer */
function describe({ title, packages }) {
  const { devDependencies } = JSON.parse(
    readFileSync(new URL('../tests/interop/package.json', import.meta.url), 'utf8'),
  )
  const short = (/** @type {string} */ name) => `${devDependencies[name]}`.split('.').slice(0, 2).join('.')
  const [first = '', ...others] = packages
  if (others.length === 0) return `${title} ${short(first)}`
  return `${title} (${packages.map((name) => `${name} ${short(name)}`).join(', ')})`
}
