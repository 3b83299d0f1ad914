/** Compares the clock that judges payments with the chain's clock. */
import { readLatestTime } from '../../chain/rpc/time.ts'
import type { Network } from '../../core/money/tokens.ts'
import { createWallClock } from '../../host/clock.ts'
import { boundMs, measure } from '../../workers/clock-check.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { NetworkFacts } from './nodes.ts'

/** Already suspicious: the chain's clock is at most seconds behind. */
const strangeMs = 15_000
const setClock = 'set the clock of this machine: timedatectl set-ntp true'

/** `databaseAheadMs` is the lead of PostgreSQL's clock over this machine's. The service uses PostgreSQL's clock. */
export async function checkClock(
  network: Network,
  { rpc }: NetworkFacts,
  databaseAheadMs: number | undefined,
): Promise<readonly Finding[]> {
  const apart = describeDatabase(databaseAheadMs)
  if (network === 'localnet') return [ok('the service uses the time of the local chain'), ...apart]
  if (!rpc) return apart
  const time = await readLatestTime(rpc)
  if (time === undefined)
    return [warn('no node returned the time of the chain', 'run npx paystile doctor again'), ...apart]
  const ahead = measure(createWallClock().now() + (databaseAheadMs ?? 0), time)
  if (ahead === undefined)
    return [warn('the nodes lag too far behind to compare the clock', 'run npx paystile doctor again'), ...apart]
  const whose = databaseAheadMs === undefined ? "this machine's clock" : "the database's clock"
  const words = `${whose} is ${seconds(ahead)} ${ahead >= 0 ? 'ahead of' : 'behind'} the chain`
  const mend = databaseAheadMs === undefined ? setClock : "set the clock of the database's machine"
  if (Math.abs(ahead) > boundMs) return [fail(`${words}, so nothing would be sold`, mend), ...apart]
  return [Math.abs(ahead) > strangeMs ? warn(words, mend) : ok(words), ...apart]
}

function describeDatabase(aheadMs: number | undefined): readonly Finding[] {
  if (aheadMs === undefined || Math.abs(aheadMs) <= strangeMs / 3) return []
  const words = `the database's clock is ${seconds(aheadMs)} ${aheadMs >= 0 ? 'ahead of' : 'behind'} this machine's`
  return [warn(`${words}; the service uses the database's clock`, setClock)]
}

function seconds(ms: number): string {
  return `${(Math.abs(ms) / 1000).toFixed(1)} s`
}
