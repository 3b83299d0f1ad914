/**
 * The memo that ties a payment to its requestId: the requestId itself, or its last 32 characters.
 *
 * Memo v3 charges about 350 compute units per character, and x402 clients allow 20,000 for the whole transaction. A whole
 * requestId does not fit there. Its last 32 characters are the nonce and the MAC, so only the service can create two
 * requestIds that share them.
 */
const shortLength = 32

export function shortMemo(requestId: string): string {
  return requestId.slice(-shortLength)
}

export function isMemoOf(requestId: string, memo: string): boolean {
  return memo === requestId || memo === shortMemo(requestId)
}

/** Whether a memo can be the short form of a requestId. */
export function isShortMemo(memo: string): boolean {
  return memo.length === shortLength && /^[\w-]+$/.test(memo)
}
