/**
 * Writes a range of a Google spreadsheet as a service account, with Google's REST interface.
 *
 * The account's key signs an assertion (RFC 7523), which Google's token endpoint exchanges for an access token of an
 * hour. The formats follow Google's documentation. Responses of Google are not passed on, and no key is logged.
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Post, SheetsOutcome, SheetsPort } from '../../core/ports/sheets.ts'
import type { Clock } from '../../core/runtime.ts'

export interface SheetsOptions {
  /** The JSON file of a service account from Google, or its content. */
  readonly credentialsFile?: string | undefined
  readonly credentials?: { readonly client_email: string; readonly private_key: string } | undefined
  /** From the address of the spreadsheet. Share it with the account's `client_email` as an editor. */
  readonly spreadsheetId: string
  /** A sheet or a range of it in A1 notation, which is cleared and written: `Payments` or `Payments!A:S`. */
  readonly range: string
}

export interface SheetsParts {
  readonly post: Post
  readonly clock: Clock
  /** Replaced in tests. */
  readonly apiUrl?: string
  readonly tokenUrl?: string
}

export type SheetsReading =
  | { readonly kind: 'sheets'; readonly sheets: SheetsPort }
  | { readonly kind: 'problems'; readonly problems: readonly string[] }

/** Fixed: a file with other addresses could direct the key's signatures elsewhere. */
const apiUrl = 'https://sheets.googleapis.com'
const tokenUrl = 'https://oauth2.googleapis.com/token'
const scope = 'https://www.googleapis.com/auth/spreadsheets'
const timeoutMs = 30_000
const hour = 3_600
/** An access token is renewed this long before it expires. */
const marginMs = 60_000

interface Account {
  readonly email: string
  readonly key: KeyObject
}

/** Reads the options and the key. Reports all problems at once, without any part of the key. */
export function openGoogleSheets(options: SheetsOptions, parts: SheetsParts): SheetsReading {
  const account = readAccount(options)
  const problems = typeof account === 'string' ? [account] : []
  if (!/^[\w-]{10,128}$/.test(options.spreadsheetId ?? ''))
    problems.push('sheets.spreadsheetId must be the part after /d/ in the address of the spreadsheet')
  if (!/^[^\p{Cc}]{1,200}$/u.test(options.range ?? ''))
    problems.push("sheets.range must be a sheet or a range, such as 'Payments' or 'Payments!A:S'")
  if (typeof account === 'string' || problems.length > 0) return { kind: 'problems', problems }
  return { kind: 'sheets', sheets: createSheets(account, options, parts) }
}

function createSheets(account: Account, options: SheetsOptions, parts: SheetsParts): SheetsPort {
  const accessToken = createTokenSource(account, parts)
  const { pathname } = new URL(
    `/v4/spreadsheets/${options.spreadsheetId}/values/${encodeURIComponent(options.range)}`,
    apiUrl,
  )
  const ask = async (verb: string, body: unknown): Promise<SheetsOutcome> => {
    try {
      const token = await accessToken()
      if (token === undefined) return failed('Google did not accept the service account')
      const { status } = await parts.post(`${parts.apiUrl ?? apiUrl}${pathname}${verb}`, {
        timeoutMs,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return status === 200 ? { kind: 'done' } : failed(meanings[status] ?? `Google returned status ${status}`)
    } catch {
      return failed('Google could not be reached')
    }
  }
  return {
    clear: () => ask(':clear', {}),
    // RAW stores cells as they are sent. INSERT_ROWS extends the sheet without overwriting rows below.
    append: (rows) =>
      ask(':append?valueInputOption=RAW&insertDataOption=INSERT_ROWS', { majorDimension: 'ROWS', values: rows }),
  }
}

const meanings: Readonly<Record<number, string>> = {
  400: 'Google does not find the range; check sheets.range',
  401: 'Google did not accept the service account',
  403: 'the service account may not write this spreadsheet; share it with its client_email as an editor',
  404: 'Google does not find the spreadsheet; check sheets.spreadsheetId',
  429: "Google's rate limit is reached; wait a minute",
}

/** One token for all requests within its hour. Undefined if Google refuses the account. */
function createTokenSource({ email, key }: Account, { post, clock, tokenUrl: url = tokenUrl }: SheetsParts) {
  let known: { readonly token: string; readonly until: number } | undefined
  return async (): Promise<string | undefined> => {
    if (known && known.until > clock.now() + marginMs) return known.token
    const iat = Math.floor(clock.now() / 1000)
    const claims = { iss: email, scope, aud: url, iat, exp: iat + hour }
    const text = `${encodePart({ alg: 'RS256', typ: 'JWT' })}.${encodePart(claims)}`
    const assertion = `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
    const { status, text: answer } = await post(url, {
      timeoutMs,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }).toString(),
    })
    if (status !== 200) return undefined
    const { access_token: token, expires_in: seconds } = JSON.parse(answer) as Record<string, unknown>
    if (typeof token !== 'string' || typeof seconds !== 'number') return undefined
    known = { token, until: clock.now() + seconds * 1000 }
    return token
  }
}

function encodePart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** The account, or a text that states the problem. */
function readAccount({ credentials, credentialsFile }: SheetsOptions): Account | string {
  if ((credentials === undefined) === (credentialsFile === undefined))
    return 'sheets needs either credentialsFile or credentials'
  const name = credentials ? 'sheets.credentials' : 'sheets.credentialsFile'
  try {
    const content = credentials ?? (JSON.parse(readFileSync(credentialsFile ?? '', 'utf8')) as Record<string, unknown>)
    const { client_email: email, private_key: pem } = content
    if (typeof email !== 'string' || typeof pem !== 'string') return `${name} is not the key of a service account`
    const key = createPrivateKey(pem)
    return key.asymmetricKeyType === 'rsa' ? { email, key } : `${name} holds no RSA key`
  } catch {
    return `${name} cannot be read; download the key of the service account as JSON again`
  }
}

function failed(why: string): SheetsOutcome {
  return { kind: 'failed', why }
}
