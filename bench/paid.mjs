// A whole paid request, from the first byte asked to the last byte received, beside what paying alone costs with kit.
import {
  address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { findAssociatedTokenPda, getTransferCheckedInstruction } from '@solana-program/token'
import { readKeyFile } from '../dist/client/agent-wallet.js'
import { fetchWith402, initAgentWallet } from '../dist/client/index.js'
import { startServer } from './processes.mjs'
import { median, round, row } from './statistics.mjs'

const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

export async function benchPaid({ localnet, provider, rounds, say }) {
  const wallet = await initAgentWallet()
  await localnet.fund(wallet.address, { SOL: 10_000_000_000n, USDC: 1_000_000_000n })
  const baseline = await createBaseline(localnet, provider.recipient, wallet)
  const server = startServer('node', 'ours', { provider, events: true })
  const url = await server.ready
  const [ours, alone, phases] = [[], [], { pay: [], confirm: [], verify: [], serve: [] }]
  for (let round = -3; round < rounds; round += 1) {
    const paid = await payOnce(url, wallet, server, localnet)
    const bare = await baseline(round)
    if (round < 0) continue
    ours.push(paid.total)
    alone.push(bare)
    for (const name of Object.keys(phases)) phases[name].push(paid[name])
  }
  await server.stop()
  const result = row('paid/end-to-end', 'ms', ours, alone, [median(ours) / median(alone)])
  const parts = Object.fromEntries(Object.entries(phases).map(([name, times]) => [name, round(median(times), 1)]))
  say(
    `paid/end-to-end: ${result.ratio} of kit's sendAndConfirm (medians of ${ours.length}); in ms: ${JSON.stringify(parts)}`,
  )
  return [
    { ...result, spread: round((quartile(ours, 0.75) - quartile(ours, 0.25)) / 2 / median(ours), 3), phases: parts },
  ]
}

async function payOnce(url, wallet, server, localnet) {
  const at = {}
  const now = () => performance.timeOrigin + performance.now()
  const begun = now()
  server.events.length = 0
  const response = await fetchWith402(url, {
    wallet,
    rpc: localnet.rpcUrl,
    onEvent: ({ kind }) => {
      at[kind] ??= now()
    },
  })
  await response.text()
  const ended = now()
  if (response.status !== 200) throw new Error(`the paid request was answered ${response.status}`)
  const verified = server.events.find(({ event }) => event === 'verified')?.at ?? at.delivered
  return {
    total: ended - begun,
    pay: at.sent - begun,
    confirm: at.confirmed - at.sent,
    verify: verified - at.confirmed,
    serve: ended - verified,
  }
}

/** Kit alone: build, sign, send and confirm the same transfer and memo. */
async function createBaseline(localnet, recipient, { path }) {
  const signer = await createKeyPairSignerFromBytes(Uint8Array.from(readKeyFile(path)))
  const rpc = createSolanaRpc(localnet.rpcUrl)
  const rpcSubscriptions = createSolanaRpcSubscriptions(localnet.wsUrl)
  const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })
  const mint = localnet.mints.USDC
  const accountOf = async (owner) =>
    (
      await findAssociatedTokenPda({
        owner: address(owner),
        mint: address(mint.address),
        tokenProgram: address(mint.tokenProgram),
      })
    )[0]
  const [source, destination] = await Promise.all([accountOf(signer.address), accountOf(recipient)])
  return async (serial) => {
    const begun = performance.now()
    const { value: lifetime } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send()
    const instructions = [
      { programAddress: address(memoProgram), data: new TextEncoder().encode(`baseline ${serial} ${begun}`) },
      getTransferCheckedInstruction({
        source,
        mint: address(mint.address),
        destination,
        authority: signer,
        amount: 10_000n,
        decimals: mint.decimals,
      }),
    ]
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (draft) => setTransactionMessageFeePayerSigner(signer, draft),
      (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
      (draft) => appendTransactionMessageInstructions(instructions, draft),
    )
    await sendAndConfirm(await signTransactionMessageWithSigners(message), { commitment: 'confirmed' })
    return performance.now() - begun
  }
}

function quartile(values, part) {
  return [...values].sort((left, right) => left - right)[Math.round((values.length - 1) * part)]
}
