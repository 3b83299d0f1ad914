/** Answers that a framework sends, in as few steps as those that an adapter sends itself. */
import { ServerResponse } from 'node:http'
import type { Answer } from '../../core/http/http.ts'
import { endWith, isUnchanged } from './one-write.ts'
import { writeAnswerHead } from './repeated-head.ts'

const { writeHead, end } = ServerResponse.prototype

/**
 * Expects that the framework sends this answer. If it hands Node the same headers and body, they are written like an
 * answer of the adapter. Everything else is left to Node.
 */
export function expectAnswer(response: ServerResponse, answer: Answer): void {
  const { status, headers, body, varying = [], cookies = [] } = answer
  if (answer.bytes || varying.length > 0 || cookies.length > 0 || !isUnchanged(response)) return
  response.writeHead = (...head: unknown[]) => {
    response.writeHead = writeHead
    if (head.length !== 2 || head[0] !== status || head[1] !== headers) return Reflect.apply(writeHead, response, head)
    writeAnswerHead(response, answer)
    response.end = (...given: unknown[]) => {
      response.end = end
      if (given.length !== 1 || given[0] !== body) return Reflect.apply(end, response, given)
      endWith(response, body, true)
      return response
    }
    return response
  }
}
