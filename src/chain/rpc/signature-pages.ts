/**
 * Reads the transactions of an address, page by page, the newest first. Anyone can name an address in a transaction with a
 * large memo, so a page can exceed the largest answer. It is then requested again with fewer entries.
 */
import type { Fields } from '../../core/encoding/fields.ts'
import type { Call, RpcAnswer } from './rpc.ts'

export interface SignaturePages {
  /** The largest number of entries in the last page. */
  limit(): number
  /** Asks for the next entries, or those before a signature. */
  ask(call: Call, before?: string): Promise<RpcAnswer>
}

/** The most that a node returns at once. */
const mostPerPage = 1_000

export function createSignaturePages(address: string, config: Fields): SignaturePages {
  let limit = mostPerPage
  return {
    limit: () => limit,
    ask: async (call, before) => {
      for (;;) {
        const options = { ...config, limit, ...(before !== undefined && { before }) }
        const answer = await call('getSignaturesForAddress', [address, options])
        if (answer.kind !== 'unavailable' || !answer.isTooLarge || limit === 1) return answer
        limit /= 10
      }
    },
  }
}
