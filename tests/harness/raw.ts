/** HTTP as bytes on a socket, for what `fetch` would tidy up or refuse to send. */
import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Sends bytes as they are and reads until the server hangs up; ask for that with `Connection: close`. */
export function sendRaw(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setTimeout(5_000, () => socket.destroy(new Error('the server neither answered nor hung up')))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}

/** One request by its lines, with Host and Connection added. */
export async function ask(url: string, requestLine: string, headers: readonly string[] = []): Promise<RawAnswer> {
  const lines = [requestLine, `Host: ${new URL(url).host}`, 'Connection: close', ...headers]
  return readAnswer(await sendRaw(url, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')))
}

/** The first answer in what a server sent. Throws when there is none. */
export function readAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n')
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]
  if (status === undefined) throw new Error(`this is no answer: ${text.slice(0, 100)}`)
  const headers = new Headers()
  for (const line of lines) headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim())
  const rest = text.slice(end + 4)
  return { status: Number(status), headers, body: headers.has('transfer-encoding') ? unchunk(rest) : rest }
}

function unchunk(text: string): string {
  const size = Number.parseInt(text, 16)
  if (!(size > 0)) return ''
  const start = text.indexOf('\r\n') + 2
  return text.slice(start, start + size) + unchunk(text.slice(start + size + 2))
}
