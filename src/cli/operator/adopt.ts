/** `paystile rewards adopt`: takes over transactions that a restored ledger does not know. */
import type { RoutesConfig } from '../../api/options.ts'
import { readMints } from '../../api/router.ts'
import { createPayoutContext, createWalletCheckParts } from '../../compose/payouts.ts'
import { formatUnits } from '../../core/money/money.ts'
import { findMint, listTokens, type MintTable, solDecimals, type TokenCode } from '../../core/money/tokens.ts'
import type { Runtime } from '../../paywall/runtime/runtime.ts'
import { type AdoptionParts, adoptTransaction, dropPlanned, type Receipt } from '../../workers/payouts/adopt.ts'
import { createPauseSwitch } from '../../workers/payouts/pause.ts'
import { createWalletCheck, type UnknownTransaction } from '../../workers/payouts/unknown-transactions.ts'
import { CommandError, counted, type ExitCode, type Terminal, usage } from '../output.ts'
import type { Flags } from '../run.ts'
import { type ServiceOptions, withService } from './service.ts'
import { readPayer } from './worker.ts'

type AdoptOptions = ServiceOptions & Flags<never, 'dryRun'>

interface Found {
  readonly wallet: string
  readonly transactions: readonly UnknownTransaction[]
}

export function adopt(terminal: Terminal, options: AdoptOptions): Promise<ExitCode> {
  return withService(terminal, options, async (service, config) => {
    const wallets = new Set([readPayer(config.rewards?.key), readPayer(config.refundKey)].flatMap((one) => one ?? []))
    if (wallets.size === 0) throw usage('No wallet sends payouts or refunds. Set rewards.key or refundKey.')
    const found: Found[] = []
    for (const wallet of wallets) found.push(await findUnknown(service, wallet))
    const count = found.reduce((sum, { transactions }) => sum + transactions.length, 0)
    const signatures = found.flatMap(({ transactions }) => transactions.map(({ signature }) => signature))
    if (count === 0) return terminal.result({ ok: true, transactions: [] }, ['The ledger knows all transactions.'])
    if (options.dryRun)
      return terminal.result({ ok: true, transactions: signatures.map((tx) => ({ tx })) }, [
        `${counted(count, 'transaction')} would be taken over:`,
        ...signatures,
      ])
    return adoptAll(terminal, service, config, found)
  })
}

async function findUnknown(service: Runtime, wallet: string): Promise<Found> {
  const checked = await createWalletCheck(createWalletCheckParts(service, wallet, false))()
  if (checked.kind === 'waiting')
    throw new CommandError('unreachable', 'nodes_unavailable', `${wallet} cannot be checked: ${checked.why}.`)
  return { wallet, transactions: checked.kind === 'unknown' ? checked.transactions : [] }
}

async function adoptAll(terminal: Terminal, service: Runtime, config: RoutesConfig, found: readonly Found[]) {
  const { rewards, outgoing, nameOf } = createPayoutContext(service, config)
  const mints = readMints(service, config.mints)
  const native = findMint('NATIVE', mints)
  if (!native) throw usage('The NATIVE token is not configured. Set its mint in mints.NATIVE.')
  const { chain, sealer, clock } = service
  const { kv, books } = service.ledger
  const tokenOf = (asset: string) => findToken(mints, asset)
  const parts: AdoptionParts = { outgoing, rewards, books, chain, nameOf, native, tokenOf, kv, sealer, clock }
  // No worker plans or signs meanwhile. After a failure, outgoing payments stay paused.
  const pause = createPauseSwitch(kv, clock)
  const isNew = await pause.pause()
  const dropped = await dropPlanned(
    parts,
    found.flatMap(({ transactions }) => transactions),
  )
  const adopted: { readonly tx: string; readonly receipts: readonly Receipt[] }[] = []
  for (const { wallet, transactions } of found)
    for (const transaction of transactions) {
      const adoption = await adoptTransaction(parts, wallet, transaction)
      if (adoption.kind === 'later')
        throw new CommandError('failure', 'adoption_incomplete', `${transaction.signature}: ${adoption.why}.`)
      adopted.push({ tx: transaction.signature, receipts: adoption.receipts })
    }
  if (isNew) await pause.resume()
  return tell(terminal, service, config, { adopted, refunds: dropped.filter(({ kind }) => kind === 'refund').length })
}

function findToken(mints: MintTable, asset: string): TokenCode | undefined {
  return listTokens(mints).find((token) =>
    token === 'SOL' ? asset === 'SOL' : findMint(token, mints)?.address === asset,
  )
}

interface Told {
  readonly adopted: readonly { readonly tx: string; readonly receipts: readonly Receipt[] }[]
  readonly refunds: number
}

function tell(terminal: Terminal, service: Runtime, { mints }: RoutesConfig, { adopted, refunds }: Told): ExitCode {
  const known = readMints(service, mints)
  const format = ({ asset }: Receipt, units: bigint): string => {
    const code = findToken(known, asset)
    const decimals = code === 'SOL' ? solDecimals : code && findMint(code, known)?.decimals
    return decimals === undefined ? `${units} of ${asset}` : `${formatUnits(units, decimals)} ${code}`
  }
  const transactions = adopted.map(({ tx, receipts }) => ({
    tx,
    receipts: receipts.map((one) => ({
      wallet: one.owner,
      received: format(one, one.units),
      settled: format(one, one.settled),
      cashback: format(one, one.cashback),
      refunded: one.refunded ?? null,
    })),
  }))
  const lines = transactions.flatMap(({ tx, receipts }) => receipts.map((one) => ({ tx, ...one })))
  const repaid = lines.filter((one) => one.refunded !== null)
  const rest = lines.filter((one) => one.refunded === null && one.received !== one.settled)
  const cashback = adopted.flatMap(({ tx, receipts }) =>
    receipts.filter((one) => one.cashback > 0n).map((one) => `${one.owner}: ${format(one, one.cashback)} (${tx})`),
  )
  return terminal.result({ ok: true, transactions, droppedRefunds: refunds }, [
    `${counted(adopted.length, 'transaction')} ${adopted.length === 1 ? 'was' : 'were'} taken over.`,
    ...(repaid.length === 0 ? [] : ['These refunds are recorded for their payments:']),
    ...repaid.map(({ tx, wallet, received, refunded }) => `${wallet} received ${received} for ${refunded} (${tx})`),
    ...(cashback.length === 0 ? [] : ['These amounts count as paid cashback:']),
    ...cashback,
    ...(rest.length === 0
      ? []
      : ['These amounts settle no accrual of this ledger. If one is a refund, do not order that refund again:']),
    ...rest.map(({ tx, wallet, received, settled }) => `${wallet} received ${received}, ${settled} settled (${tx})`),
    ...(refunds === 0
      ? []
      : [
          `${counted(refunds, 'refund')} that had not been sent ${refunds === 1 ? 'was' : 'were'} dropped. Order again if needed.`,
        ]),
  ])
}
