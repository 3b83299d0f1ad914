/** Reads the time of a chain: in milliseconds from a localnet, in whole seconds from other chains. */

import { isFields } from '../../core/encoding/fields.ts'
import type { ChainTime } from '../../core/ports/chain.ts'
import type { Call, Rpc } from './rpc.ts'

const clockSysvar = 'SysvarC1ock11111111111111111111111111111111'
const unixTimestampOffset = 32

/** Milliseconds since 1970. Undefined if the chain does not report it. */
export async function readChainTime(rpc: Rpc): Promise<number | undefined> {
  const own = await rpc.call('paystile_clock', [])
  if (own.kind === 'answered' && isFields(own.result) && typeof own.result['timeMs'] === 'number')
    return own.result['timeMs']
  return (await readNodeTime(rpc.call))?.chainMs
}

/** The time of the most advanced node. The other nodes lag. */
export async function readLatestTime({ nodes }: Pick<Rpc, 'nodes'>): Promise<ChainTime | undefined> {
  const times = await Promise.all(nodes.map(({ call }) => readNodeTime(call)))
  return times.reduce((latest, time) => (time && (!latest || time.chainMs > latest.chainMs) ? time : latest), undefined)
}

async function readNodeTime(call: Call): Promise<ChainTime | undefined> {
  const answer = await call('getAccountInfo', [clockSysvar, { encoding: 'base64', commitment: 'processed' }])
  const value = answer.kind === 'answered' && isFields(answer.result) ? answer.result['value'] : undefined
  const [data] = isFields(value) && Array.isArray(value['data']) ? value['data'] : []
  if (answer.kind !== 'answered' || typeof data !== 'string') return undefined
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))
  if (bytes.length < unixTimestampOffset + 8) return undefined
  const chainMs = Number(new DataView(bytes.buffer).getBigInt64(unixTimestampOffset, true)) * 1000
  return { chainMs, nodeMs: answer.dateMs }
}
