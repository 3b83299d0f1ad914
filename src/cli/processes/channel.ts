/**
 * The messages between a supervisor and one of its processes: notices, and questions with an answer.
 *
 * A message that does not have the agreed form is dropped and reported. It changes nothing, and it ends no process.
 */
import { z } from 'zod'

/** The kinds of message that one side receives, with the form of their values. */
export type Kinds = Readonly<Record<string, z.ZodType>>

export type Handlers<Received extends Kinds> = {
  readonly [Kind in keyof Received]: (value: z.output<Received[Kind]>) => unknown
}

export interface ChannelParts<Received extends Kinds> {
  send(message: unknown): void
  readonly kinds: Received
  readonly handlers: Handlers<Received>
  readonly onInvalid: (why: string) => void
}

export interface Channel<Sent extends Kinds> {
  /** Resolves with the answer. Rejects if the other side fails, or ends. */
  ask<Kind extends keyof Sent & string>(kind: Kind, value: z.input<Sent[Kind]>): Promise<unknown>
  tell<Kind extends keyof Sent & string>(kind: Kind, value: z.input<Sent[Kind]>): void
  /** Takes a message of the other side. */
  receive(message: unknown): void
  /** Ends all open questions. */
  close(): void
}

const question = z.strictObject({ kind: z.string(), id: z.number().optional(), value: z.unknown().optional() })
const answer = z.strictObject({ answers: z.number(), value: z.unknown().optional(), why: z.string().optional() })

interface Asked {
  resolve(value: unknown): void
  reject(error: Error): void
}

export function createChannel<Sent extends Kinds, Received extends Kinds>(
  parts: ChannelParts<Received>,
): Channel<Sent> {
  const { send, kinds, onInvalid } = parts
  const handlers = parts.handlers as Readonly<Record<string, (value: unknown) => unknown>>
  const asked = new Map<number, Asked>()
  let questions = 0
  let isClosed = false

  const handle = async (kind: string, value: unknown): Promise<unknown> => {
    const form = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
    const read = form?.safeParse(value)
    if (!read?.success) {
      const why = read ? `a message of the kind ${kind} has another form` : 'a message has an unknown kind'
      onInvalid(why)
      throw new Error(why)
    }
    return handlers[kind]?.(read.data)
  }
  const respond = async (kind: string, id: number | undefined, value: unknown): Promise<void> => {
    try {
      const result = await handle(kind, value)
      if (id !== undefined && !isClosed) send({ answers: id, value: result })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (id !== undefined && !isClosed) send({ answers: id, why })
    }
  }
  return {
    ask: (kind, value) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new Error('the other process has ended'))
        questions += 1
        asked.set(questions, { resolve, reject })
        send({ kind, id: questions, value })
      }),
    tell: (kind, value) => {
      if (!isClosed) send({ kind, value })
    },
    receive: (message) => {
      const told = answer.safeParse(message)
      if (told.success) {
        const { answers, value, why } = told.data
        const open = asked.get(answers)
        if (!open) return onInvalid('an answer belongs to no question')
        asked.delete(answers)
        return why === undefined ? open.resolve(value) : open.reject(new Error(why))
      }
      const put = question.safeParse(message)
      if (put.success) return void respond(put.data.kind, put.data.id, put.data.value)
      onInvalid('a message has neither the form of a question nor of an answer')
    },
    close: () => {
      isClosed = true
      for (const { reject } of asked.values()) reject(new Error('the other process has ended'))
      asked.clear()
    },
  }
}
