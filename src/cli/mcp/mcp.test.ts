import { expect, it } from 'vitest'
import { serveMcp } from './mcp.ts'
import type { Purse } from './tools.ts'

/** Sends these messages, and returns the answers by id. None of the messages uses the purse. */
async function talk(...messages: readonly object[]): Promise<ReadonlyMap<unknown, Record<string, never>>> {
  const written: string[] = []
  async function* input(): AsyncGenerator<string> {
    for (const message of messages) yield `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
  }
  await serveMcp({} as Purse, { input: input(), write: (line) => written.push(line) })
  const answers = written.map((line) => JSON.parse(line) as { id: unknown; result: Record<string, never> })
  return new Map(answers.map(({ id, result }) => [id, result]))
}

it.each([
  ['2025-11-25', '2025-11-25'],
  ['2025-06-18', '2025-06-18'],
  ['2025-03-26', '2024-11-05'],
  ['2024-11-05', '2024-11-05'],
  ['2030-01-01', '2025-11-25'],
  ['2024-10-07', '2025-11-25'],
  [undefined, '2025-11-25'],
])('a client of version %s is answered with version %s', async (protocolVersion, version) => {
  const answers = await talk({ id: 1, method: 'initialize', params: { protocolVersion, capabilities: {} } })
  expect(answers.get(1)).toMatchObject({ protocolVersion: version, capabilities: { tools: {} } })
})
