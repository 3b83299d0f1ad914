/** What the outside sees of payouts: plain questions to a node, and none of the product's code to read the answers. */
const pageSize = 1_000

export function createObserver(rpcUrl) {
  const ask = async (method, params = []) => {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = await response.json()
    if (error) throw new Error(`${method}: ${error.message}`)
    return result
  }
  const signaturesOf = async (wallet) => {
    const found = []
    for (;;) {
      const before = found.at(-1)?.signature
      const options = { limit: pageSize, commitment: 'finalized', ...(before && { before }) }
      const page = await ask('getSignaturesForAddress', [wallet, options])
      found.push(...page)
      if (page.length < pageSize) return found
    }
  }
  return {
    ask,
    /** All that a wallet ever sent: the memo, whether it failed, and what it brought to whom of a mint. */
    async transactionsOf(wallet, mint) {
      const transactions = []
      for (const { signature, memo, err } of await signaturesOf(wallet)) {
        const config = { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion: 0 }
        const { meta, transaction } = await ask('getTransaction', [signature, config])
        if (transaction.message.accountKeys[0] !== wallet) continue
        const gains = new Map()
        const count = (balances, sign) => {
          for (const { mint: other, owner, uiTokenAmount } of balances ?? [])
            if (other === mint && owner !== wallet)
              gains.set(owner, (gains.get(owner) ?? 0n) + sign * BigInt(uiTokenAmount.amount))
        }
        count(meta.preTokenBalances, -1n)
        count(meta.postTokenBalances, 1n)
        transactions.push({
          signature,
          memo: memo?.replace(/^\[\d+\] /, ''),
          failed: err !== null,
          gains,
          fee: meta.fee,
        })
      }
      return transactions
    },
    async balanceOf(owner, mint) {
      const { value } = await ask('getTokenAccountsByOwner', [owner, { mint }, { encoding: 'jsonParsed' }])
      return value.reduce((sum, { account }) => sum + BigInt(account.data.parsed.info.tokenAmount.amount), 0n)
    },
  }
}
