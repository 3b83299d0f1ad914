/**
 * A stand-in for Google's token endpoint and Sheets interface, shaped after their documentation. It judges what it is sent
 * as Google says it does; it is not Google.
 */
import { createVerify, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Google {
  readonly url: string
  /** What stands in the sheet. */
  readonly values: string[][]
  readonly tokensGiven: () => number
  /** The status of the next answers of the Sheets interface. */
  answerWith(...statuses: number[]): void
  close(): Promise<void>
}

export async function startGoogle(
  account: { email: string; publicKey: KeyObject },
  now: () => number,
): Promise<Google> {
  const values: string[][] = []
  const statuses: number[] = []
  const tokens = new Set<string>()

  const giveToken = (body: string): { status: number; body: unknown } => {
    const form = new URLSearchParams(body)
    const refused = { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } }
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return refused
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
    const isSigned = createVerify('RSA-SHA256')
      .update(`${header}.${claims}`)
      .verify(account.publicKey, Buffer.from(signature, 'base64url'))
    const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString())
    const { iss, aud, scope, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    const seconds = now() / 1000
    const isCurrent = iat <= seconds && seconds < exp && exp - iat <= 3_600
    const isMeant =
      iss === account.email && aud === `${url}/token` && scope === 'https://www.googleapis.com/auth/spreadsheets'
    if (!isSigned || alg !== 'RS256' || !isCurrent || !isMeant) return refused
    const token = `ya29.${tokens.size + 1}`
    tokens.add(token)
    return { status: 200, body: { access_token: token, expires_in: 3_599, token_type: 'Bearer' } }
  }

  const write = (target: URL, body: string): { status: number; body: unknown } => {
    const [, id, range, verb] =
      /^\/v4\/spreadsheets\/([^/]+)\/values\/([^/:]+):(clear|append)$/.exec(target.pathname) ?? []
    if (id !== 'spreadsheet-0123456789') return { status: 404, body: { error: { code: 404, status: 'NOT_FOUND' } } }
    const spreadsheetId = id
    if (verb === 'clear') {
      values.length = 0
      return { status: 200, body: { spreadsheetId, clearedRange: decodeURIComponent(range ?? '') } }
    }
    if (target.searchParams.get('valueInputOption') !== 'RAW') return { status: 400, body: { error: { code: 400 } } }
    const rows = (JSON.parse(body) as { values: string[][] }).values
    values.push(...rows)
    return { status: 200, body: { spreadsheetId, updates: { spreadsheetId, updatedRows: rows.length } } }
  }

  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      const target = new URL(request.url ?? '/', url)
      const isKnown = tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '')
      const status = target.pathname === '/token' ? undefined : statuses.shift()
      let answer = { status: 401, body: { error: { code: 401 } } as unknown }
      if (target.pathname === '/token') answer = giveToken(body)
      else if (status !== undefined && status !== 200)
        answer = { status, body: { error: { code: status, message: 'secret' } } }
      else if (isKnown) answer = write(target, body)
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    values,
    tokensGiven: () => tokens.size,
    answerWith: (...next) => void statuses.push(...next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
