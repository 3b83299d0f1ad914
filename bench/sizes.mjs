// All sizes of all benchmarks. `usual` is `npm run bench`; `smallest` only shows that a benchmark works.

/**
 * @typedef {typeof usual} Sizes
 * @typedef {{ warmUp: number, rounds: number, requests: number }} Rounds Requests of the warm-up and of each round.
 * @typedef {Rounds & { starts: number }} StartedRounds Each pair of processes is started anew `starts` times.
 */

const mebibyte = 2 ** 20

/** Short rounds in turn, so that a disturbance of the machine hits both sides of a comparison. */
const usual = {
  paid: { warmUp: 30, rounds: 40 },
  known: { warmUp: 1_000, unpaid: 5_000, rounds: 5, requests: 240 },
  replicas: { warmUp: 120, rounds: 3, requests: 48 },
  allowance: { warmUp: 12_000, rounds: 12, requests: 500 },
  metered: { rounds: 4, bytes: 128 * mebibyte },
  gateway: { starts: 2, warmUp: 8_000, rounds: 12, requests: 400 },
  processes: { warmUp: 5_000, rounds: 6, requests: 600 },
  unpaid: { starts: 3, warmUp: 8_000, rounds: 12, requests: 400 },
  reach: { warmUp: 60, rounds: 12, busyRounds: 5, purchases: 40 },
  reachSettle: { warmUp: 8, rounds: 18 },
  reachUnpaid: { starts: 2, warmUp: 5_000, rounds: 10, requests: 400 },
  peers: {
    unpaid: { warmUp: 3_000, rounds: 8, requests: 400 },
    ...{ warmUp: 80, rounds: 12, busyRounds: 4, purchases: 40, trials: 5, copies: 20 },
  },
  // The name of the result says 200k.
  memory: { warmUp: 20_000, requests: 200_000 },
  stream: { listeners: 1_000, warmUp: 10, payments: 25 },
  payouts: { payees: 1_000, rounds: 1, transfers: 100 },
  export: { warmUp: 50_000, payments: 1_000_000 },
  // The names of the results say 10m.
  analytics: { few: 10_000, many: 10_000_000, warmUp: 50, queries: 200 },
  // The names of the results say 10m and 50k.
  scale: { few: 250_000, many: 10_000_000, warmUp: 2_000, rounds: 12, claims: 500 },
  burst: { payments: 50_000, warmUp: 200, rounds: 8, claims: 100 },
  ledger: { warmUp: 2, rounds: 11, payments: 4_000 },
}

/** @type {Sizes} */
const smallest = {
  paid: { warmUp: 0, rounds: 1 },
  known: { warmUp: 0, unpaid: 64, rounds: 1, requests: 8 },
  replicas: { warmUp: 0, rounds: 1, requests: 4 },
  allowance: { warmUp: 0, rounds: 1, requests: 40 },
  metered: { rounds: 1, bytes: 2 * mebibyte },
  gateway: { starts: 1, warmUp: 0, rounds: 1, requests: 100 },
  processes: { warmUp: 0, rounds: 1, requests: 64 },
  unpaid: { starts: 1, warmUp: 0, rounds: 1, requests: 100 },
  reach: { warmUp: 0, rounds: 1, busyRounds: 1, purchases: 1 },
  reachSettle: { warmUp: 0, rounds: 1 },
  reachUnpaid: { starts: 1, warmUp: 0, rounds: 1, requests: 100 },
  peers: {
    unpaid: { warmUp: 0, rounds: 1, requests: 100 },
    ...{ warmUp: 0, rounds: 1, busyRounds: 1, purchases: 1, trials: 1, copies: 2 },
  },
  memory: { warmUp: 0, requests: 100 },
  stream: { listeners: 10, warmUp: 0, payments: 2 },
  payouts: { payees: 20, rounds: 1, transfers: 4 },
  export: { warmUp: 100, payments: 300 },
  analytics: { few: 200, many: 400, warmUp: 0, queries: 2 },
  scale: { few: 100, many: 200, warmUp: 0, rounds: 1, claims: 32 },
  burst: { payments: 8, warmUp: 0, rounds: 1, claims: 4 },
  ledger: { warmUp: 0, rounds: 1, payments: 20 },
}

export const sizes = { usual, smallest }
