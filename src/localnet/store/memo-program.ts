/**
 * The code of Memo v3, as the clusters run it: spl_memo-3.0.0.so of the Solana Program Library (Apache-2.0), compressed.
 *
 * It needs about 350 compute units per character of a memo, and about 11,000 per signer. Memo v4 needs about 300 in all.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

export function readMemoV3(): Uint8Array {
  return gunzipSync(readFileSync(new URL('memo-v3.so.gz', import.meta.url)))
}
