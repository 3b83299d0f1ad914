/** The answers of surfpool, recorded: with them, machines without a build of surfpool compare the localnet, too. */
import { readFileSync, writeFileSync } from 'node:fs'
import { normalize } from './compare.ts'
import { type Chain, converse, type Transcript } from './session.ts'

const file = new URL('surfpool.json', import.meta.url)

export interface Recording {
  /** The version of surfpool that answered. */
  readonly version: string
  readonly transcript: Transcript
}

export function readRecording(): Recording {
  const { version, answers } = JSON.parse(readFileSync(file, 'utf8'))
  return { version, transcript: new Map(Object.entries(answers)) }
}

/** Holds the conversation with surfpool and writes down its answers, one in a line, so that a change is easy to see. */
export async function record(surfpool: Chain): Promise<Recording> {
  const version = await readVersion(surfpool)
  const transcript = normalize(await converse(surfpool))
  const lines = [...transcript].map(([question, answer]) => `${JSON.stringify(question)}:${JSON.stringify(answer)}`)
  writeFileSync(file, `{"version":${JSON.stringify(version)},"answers":{\n${lines.join(',\n')}\n}}\n`)
  return { version, transcript }
}

async function readVersion({ rpcUrl }: Chain): Promise<string> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getVersion' }),
  })
  const { result } = (await response.json()) as { readonly result: Readonly<Record<string, unknown>> }
  const version = result['surfnet-version']
  if (typeof version !== 'string') throw new Error(`${rpcUrl} is no surfpool: ${JSON.stringify(result)}`)
  return version
}
