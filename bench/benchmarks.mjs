// All benchmarks and the names of their results, in the order in which they run.
import { peers } from './peers.mjs'

/**
 * @typedef {import('./setting.mjs').Setting} Setting
 * @typedef {import('./sizes.mjs').Sizes} Sizes
 * @typedef {import('./statistics.mjs').Row} Row
 *
 * @typedef {object} Benchmark
 * @property {readonly string[]} names The names of its results.
 * @property {'large' | 'against' | 'name'} [needs] The option without which it does not run. With `name`, it runs if it is
 *   named.
 * @property {(setting: Setting, sizes: Sizes) => Promise<Row[]>} run
 */

const questions = ['summary', 'feed', 'payers', 'problems', 'series']
const frameworks = /** @type {const} */ (['node', 'hono', 'express', 'fastify'])
const protocols = ['x402', 'mpp']
const stores = /** @type {const} */ (['sqlite', 'postgres'])
const ledgerKinds = ['1', '1-watched', '20', '20-watched']

/** @type {readonly Benchmark[]} */
export const benchmarks = [
  {
    names: ['paid/end-to-end'],
    run: async (setting, { paid }) => (await import('./benchmarks/paid.mjs')).benchPaid(setting, paid),
  },
  {
    names: [
      'known/sqlite-to-bare',
      'known/sqlite-to-memory',
      'known/sqlite-to-least',
      'known/postgres-to-bare',
      'known/postgres-to-memory',
    ],
    run: async (setting, { known }) => (await import('./benchmarks/known.mjs')).benchKnown(setting, known),
  },
  {
    names: ['known/replicas-2-to-1', 'known/replicas-4-to-1'],
    run: async (setting, { replicas }) => (await import('./benchmarks/known.mjs')).benchReplicas(setting, replicas),
  },
  {
    names: ['allowance/bundle-claim-to-bare', 'allowance/bundle-sig-to-bare', 'allowance/window-claim-to-bare'],
    run: async (setting, { allowance }) =>
      (await import('./benchmarks/allowance.mjs')).benchAllowance(setting, allowance),
  },
  {
    names: ['metered/ahead-to-bare', 'metered/file-to-bare'],
    run: async (setting, { metered }) => (await import('./benchmarks/metered.mjs')).benchMetered(setting, metered),
  },
  {
    names: ['processes/unpaid-2-to-1', 'processes/window-2-to-1', 'processes/bundle-2-to-1'],
    run: async (setting, { processes }) =>
      (await import('./benchmarks/processes.mjs')).benchProcesses(setting, processes),
  },
  {
    names: ['gateway/paid'],
    run: async (setting, { gateway }) => (await import('./benchmarks/gateway.mjs')).benchGateway(setting, gateway),
  },
  ...frameworks.map(
    /** @returns {Benchmark} */ (framework) => ({
      names: [`unpaid/${framework}`],
      run: async (setting, { unpaid }) =>
        (await import('./benchmarks/unpaid.mjs')).benchUnpaid(setting, unpaid, framework),
    }),
  ),
  {
    names: ['reach/unpaid-to-peer', 'reach/unpaid-to-native'],
    run: async (setting, { reachUnpaid }) =>
      (await import('./benchmarks/reach-unpaid.mjs')).benchReachUnpaid(setting, reachUnpaid),
  },
  {
    names: ['reach/settle-to-peer'],
    run: async (setting, { reachSettle }) =>
      (await import('./benchmarks/reach-settle.mjs')).benchReachSettle(setting, reachSettle),
  },
  {
    names: [
      ...protocols.flatMap((name) => ['to-native', 'to-peer', 'cpu-to-peer'].map((part) => `reach/${name}-${part}`)),
      'reach/client-to-peer',
    ],
    run: async (setting, { reach }) => (await import('./benchmarks/reach.mjs')).benchReach(setting, reach),
  },
  {
    names: ['memory/unpaid-200k'],
    run: async (setting, { memory }) => (await import('./benchmarks/memory.mjs')).benchMemory(setting, memory),
  },
  {
    names: ['stream/tell-delay', 'stream/tell-cpu'],
    run: async (setting, { stream }) => (await import('./benchmarks/stream.mjs')).benchStream(setting, stream),
  },
  {
    names: peers.flatMap(({ name }) =>
      ['unpaid-cpu', 'time', 'cpu', 'deliveries', 'deliveries-2'].map((end) => `peers/${name}-${end}`),
    ),
    needs: 'name',
    run: async (setting, sizes) => (await import('./benchmarks/peers.mjs')).benchPeers(setting, sizes.peers),
  },
  {
    names: ['payouts/per-second', 'payouts/fee', 'payouts/transactions'],
    run: async (setting, { payouts }) => (await import('./benchmarks/payouts.mjs')).benchPayouts(setting, payouts),
  },
  {
    names: ['analytics/export-csv', 'analytics/export-json', 'analytics/export-xlsx'],
    needs: 'large',
    run: async (setting, sizes) => (await import('./benchmarks/export.mjs')).benchExport(setting, sizes.export),
  },
  ...stores.map(
    /** @returns {Benchmark} */ (store) => ({
      names: questions.map((name) => `analytics/${name}-10m-${store}`),
      needs: 'large',
      run: async (setting, { analytics }) =>
        (await import('./benchmarks/analytics.mjs')).benchAnalytics(setting, analytics, store),
    }),
  ),
  ...stores.map(
    /** @returns {Benchmark} */ (store) => ({
      names: [`scale/claim-cpu-10m-${store}`, `scale/claim-p99-10m-${store}`],
      needs: 'large',
      run: async (setting, { scale }) => (await import('./benchmarks/scale.mjs')).benchClaims(setting, scale, store),
    }),
  ),
  {
    names: ['scale/burst-50k'],
    needs: 'large',
    run: async (setting, { burst }) => (await import('./benchmarks/scale.mjs')).benchBurst(setting, burst),
  },
  ...stores.map(
    /** @returns {Benchmark} */ (store) => ({
      names: ledgerKinds.map((kind) => `ledger/${store}-${kind}`),
      needs: 'against',
      run: async (setting, { ledger }) => (await import('./benchmarks/ledger.mjs')).benchLedger(setting, ledger, store),
    }),
  ),
]
