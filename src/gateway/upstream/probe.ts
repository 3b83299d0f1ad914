/** Probes an upstream by a connection or by its health path. */
import { connect } from 'node:net'
import type { Pool } from 'undici'
import type { UpstreamPlan } from '../config/plan.ts'
import { guardedLookup } from './connections.ts'

/** Time limit of a probe. */
const longestMs = 5_000

/** Returns the reason that the upstream cannot deliver, or undefined. Never rejects. */
export type Probe = () => Promise<string | undefined>

export function createProbe(upstream: UpstreamPlan, pool: Pool): Probe {
  const { path } = upstream.probe
  return path === undefined ? () => askPort(upstream) : () => askPath(upstream, pool, path)
}

function askPort({ origin, connectMs }: UpstreamPlan): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(origin)
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      lookup: guardedLookup,
    })
    const end = (why: string | undefined): void => {
      socket.destroy()
      resolve(why)
    }
    const ms = Math.min(connectMs, longestMs)
    socket.setTimeout(ms, () => end(`the upstream ${origin} did not connect within ${ms / 1000} s`))
    socket.once('connect', () => end(undefined))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(`the upstream ${origin} refuses connections (${error.code ?? error.message})`),
    )
    socket.unref()
  })
}

async function askPath({ origin, headers, answerMs }: UpstreamPlan, pool: Pool, path: string) {
  const headersTimeout = Math.min(answerMs, longestMs)
  try {
    const answer = await pool.request({ path, method: 'GET', headers, headersTimeout, bodyTimeout: headersTimeout })
    await answer.body.dump()
    if (answer.statusCode < 400) return undefined
    return `the upstream ${origin} returned ${answer.statusCode} for ${path}`
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return `the upstream ${origin} does not respond at ${path} (${code ?? message})`
  }
}
