/** The messages of the demo. */
import type { Facts, Log } from '../../core/runtime.ts'
import type { PaywallEvent } from '../../paywall/config/events.ts'
import { paint, short, table } from '../output.ts'
import { resources } from './resources.ts'

/** The output of `--json`, one line. */
export interface DemoReady {
  readonly url: string
  readonly rpcUrl: string
  readonly network: 'localnet'
  readonly wallet: { readonly address: string; readonly keyFile: string }
  readonly faucetUrl: string
  readonly resources: readonly { readonly path: string; readonly price: string; readonly token: string }[]
}

export function welcomeLines(
  { url, rpcUrl, wallet }: DemoReady,
  balances: Readonly<Record<string, string>>,
  now: number,
): readonly string[] {
  const [first] = resources
  const money = Object.entries(balances).map(([token, amount]) => `${amount} ${token}`)
  const answer = first
    ?.make({ now, tx: '' })
    .slice(0, 80)
    .replace(/[^,]*$/, '')
  const path = `/api/${first?.name}`
  return [
    '',
    `${paint.bold('paystile')} is running: paid resources and a local Solana chain.`,
    '',
    ...table([
      ['Service', url],
      ['Dashboard', `${url}/dashboard`],
      ['Chain', rpcUrl],
      ['Wallet', `${wallet.address} (${money.join(', ')} to spend)`],
      ['Key file', wallet.keyFile],
      ['Docs', 'npm run docs, or https://github.com/paystile/paystile#readme'],
    ]),
    '',
    'For sale:',
    ...table(
      resources.map(({ name, price, token, description }) => [`GET /api/${name}`, `${price} ${token}`, description]),
    ),
    '',
    'Try it in another terminal, in this folder:',
    '',
    paint.dim('  # request without payment: 402 with a challenge'),
    `  curl -i ${url}${path}`,
    '',
    paint.dim('  # pay with the demo wallet'),
    `  npx paystile pay ${url}${path}`,
    `  ${paint.dim(`{"status":"verified","message":"…","data":${answer}…`)}`,
    '',
    paint.dim('  # buy a unique picture'),
    `  npx paystile pay ${url}/api/art -o art.svg`,
    '',
    'Or in a browser, with test money: buy something, then watch the sale on the dashboard.',
    '',
    `  ${url}/`,
    `  ${url}/dashboard`,
    '',
    'A studio, a developer and the customers earn rewards from /api/play and /api/art, paid on chain: npx paystile rewards show',
    '',
    'Your requests, payments and outgoing transactions appear below. Simulated customers appear only on the dashboard; --alone disables them. --time-lapse simulates seven days in a minute. Press Ctrl-C to stop.',
    '',
  ]
}

export interface DemoLogParts {
  readonly note: (line: string) => void
  readonly now: () => number
  /** Start of the count of days; undefined if time passes normally. */
  readonly since?: number | undefined
  /** Describes an outgoing transaction; undefined if it is unknown. */
  readonly describe: (kind: string, id: string) => Promise<string | undefined>
}

/** Reports outgoing transactions in the same format. Other log entries are shown only for warnings and errors. */
export function createDemoLog({ note, now, since, describe }: DemoLogParts): Log {
  const head = (): string => `${formatTime(now())}${since === undefined ? '' : `  ${formatDay(now(), since)}`}`
  const complain = (event: string, { why }: Facts = {}): void => {
    note(`${head()}  ${paint.red('log')}   ${event}${why === undefined ? '' : `: ${why}`}`)
  }
  const tell = async (kind: string, id: string, tx: string): Promise<void> => {
    const at = head()
    const words = (await describe(kind, id)) ?? kind
    note(`${at}  ${paint.green('out')}   ${words}, transaction ${short(tx)}`)
  }
  return {
    info: (event, { kind, id, tx } = {}) => {
      if (event === 'outgoing.landed') void tell(String(kind), String(id), String(tx))
    },
    warn: complain,
    error: complain,
  }
}

const dayMs = 86_400_000

/** `day 3 (2026-01-31)`, by calendar days. */
export function formatDay(now: number, since: number): string {
  const day = Math.floor(now / dayMs) - Math.floor(since / dayMs) + 1
  return paint.dim(`day ${day} (${new Date(now).toISOString().slice(0, 10)})`)
}

function formatTime(now: number): string {
  return paint.dim(new Date(now).toISOString().slice(11, 19))
}

/** A line for the event, or undefined for a minor event. */
export function describeEvent(event: PaywallEvent, now: number): string | undefined {
  const time = formatTime(now)
  switch (event.kind) {
    case 'challenged':
      return `${time}  ${paint.yellow('402')}   ${event.method} ${event.target}  costs ${event.amount} ${event.token}`
    case 'refused':
      return `${time}  ${paint.red('no')}    ${event.method} ${event.target}  ${event.code}`
    case 'verified':
      return `${time}  ${paint.green('paid')}  ${event.method} ${event.target}  ${event.amount} ${event.token} by ${short(event.payer)}, transaction ${short(event.tx)}${event.first ? '' : ' (again)'}`
    case 'ended':
      return event.outcome === 'delivered'
        ? `${time}  ${paint.green('200')}   GET ${event.target}  delivered`
        : undefined
  }
}
