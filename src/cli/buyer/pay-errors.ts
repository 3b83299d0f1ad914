/** Errors of `pay` for incomplete resources: the part that was kept, and the command that continues. */
import { DownloadError } from '../../client/download/part-file.ts'
import { PaymentError } from '../../client/errors.ts'
import { CommandError, usage } from '../output.ts'
import type { Paid } from './pay-messages.ts'

export function brokenOff({ tx }: Paid): CommandError {
  return tx === undefined
    ? new CommandError('unreachable', 'unreachable', 'The response ended early. Run the same command again.')
    : new CommandError(
        'undelivered',
        'paid_not_delivered',
        'The response ended early. Run the same command again to use the same payment.',
      )
}

/** The paid bytes went to stdout, and the resource has more. */
export function exhausted({ code, facts }: PaymentError, { status, headers }: Response, paid: Paid): PaymentError {
  const { offset = 0 } = facts
  const canGoOn = status === 206 || headers.get('accept-ranges') === 'bytes'
  const how = canGoOn
    ? `pay for the rest with: ${formatCommand(['-H', `Range: bytes=${offset}-`])}`
    : allOfIt(facts, paid)
  return new PaymentError(code, `The allowance ended at byte ${describePlace(facts)}; ${how}`, facts)
}

/** The remedy if the rest cannot be requested separately. */
function allOfIt({ offset = 0, size }: PaymentError['facts'], { allowance }: Paid): string {
  if (allowance?.unit === 'file')
    return 'the server sold fewer bytes than the resource has; report this to its operator'
  // If the size is unknown, doubling is a guess.
  const megabytes = Math.ceil((size ?? 2 * offset) / 1_000_000)
  return `the server does not support resuming; buy more at once with: ${formatCommand(['--prepay', String(megabytes)])}`
}

/** Explains an incomplete file. Other errors are returned unchanged. */
export function unsaved(error: unknown, path: string, paid: Paid, isBuyingMore: boolean): unknown {
  if (error instanceof TypeError && error.message === 'terminated') return brokenOff(paid)
  if (error instanceof DownloadError) return unwritten(error, path, paid)
  if (!(error instanceof PaymentError) || error.code !== 'allowance_exhausted') return error
  const { code, facts } = error
  const rest = `these bytes are in ${path}.part; pay for the rest with: ${formatCommand(isBuyingMore ? [] : ['--buy-more'])}`
  const how = facts.resumable === false ? allOfIt(facts, paid) : rest
  return new PaymentError(code, `The allowance ended at byte ${describePlace(facts)}; ${how}`, facts)
}

function describePlace({ offset = 0, size }: PaymentError['facts']): string {
  return size === undefined ? String(offset) : `${offset} of ${size}`
}

function unwritten({ code, message, kept, isOverflowed }: DownloadError, path: string, { tx }: Paid): CommandError {
  if (code !== 'file_unwritable') return new CommandError('usage', code, message)
  const why = `The file ${path} cannot be written (${/\((\w+)\)/.exec(message)?.[1] ?? 'it fails'})`
  const rest = kept === 0 ? 'the resource' : `the resource from byte ${kept} on`
  if (isOverflowed)
    return usage(
      `${why}; ${rest} went to stdout instead${kept === 0 ? '' : `, the bytes before it are in ${path}.part`}.`,
    )
  if (tx === undefined) return usage(`${why}; nothing was paid.`)
  const text = `${why}; the payment and ${kept} bytes in ${path}.part are kept. Free disk space, then run the same command again.`
  return new CommandError('undelivered', code, text)
}

/** The command line of this process with additional arguments. */
function formatCommand(more: readonly string[]): string {
  const given = process.argv.slice(2)
  const isRange = (word: string | undefined) => /^range:/i.test(word ?? '')
  const kept = given.filter((word, index) => {
    if (isRange(more[1]) && (isRange(word) || (/^(-H|--header)$/.test(word) && isRange(given[index + 1])))) return false
    return !(more[0] === '--prepay' && (word === '--prepay' || given[index - 1] === '--prepay'))
  })
  return ['npx paystile', ...[...kept, ...more].map(quote)].join(' ')
}

/** Quotes an argument for a shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
