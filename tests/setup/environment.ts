/**
 * Test files of one worker share its process. Each file gets the environment as the first one found it, with the classes
 * `Request` and `Response` of Node, which the server of Hono replaces.
 */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { isLong } from '../harness/length.ts'
import { watchContexts } from './async-contexts.ts'

// The short run draws the same cases every time. The long run draws new ones, and prints the seed of a failure.
if (!isLong) fc.configureGlobal({ seed: 402 })

// The first access loads Node's own fetch. If the undici package came first, Node's fetch would use the package's
// connections, which refuse the requests of older clients.
const { Request, Response } = globalThis

const endContexts = watchContexts()
const before = { ...process.env }
const directory = process.cwd()

afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
  Object.assign(process.env, before)
  process.chdir(directory)
  endContexts()
  for (const [name, value] of Object.entries({ Request, Response }))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
})
