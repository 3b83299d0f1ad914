/** What a desk answers over HTTP. */
import type { Json } from './answers.ts'

export interface DeskAnswer {
  readonly status: number
  readonly body: Json
}

/** In one sentence that the taker may log. */
export function refuse(status: number, why: string): DeskAnswer {
  return { status, body: { why } }
}
