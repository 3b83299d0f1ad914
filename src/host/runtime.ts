/**
 * The JavaScript runtimes that paystile supports. On Bun, for example, the RPC transport fails: a server would quote
 * prices and receive payments that it cannot verify.
 */
import { ConfigurationError } from '../core/errors/configuration-error.ts'

/** The globals that tell runtimes apart. Bun, Deno and Cloudflare Workers also have Node's `process.versions.node`. */
export interface RuntimeGlobals {
  readonly process?: { readonly versions?: Readonly<Record<string, string | undefined>> }
  readonly Bun?: unknown
  readonly Deno?: unknown
  /** Set by the edge runtime of Vercel and Next. */
  readonly EdgeRuntime?: unknown
  readonly navigator?: { readonly userAgent?: string }
}

/** The oldest supported Node. `engines` in package.json has the same value. */
export const oldestNode = '20.19'

const supported = `use Node ${oldestNode} or later (the client also runs in browsers)`

/** Returns one sentence that names the runtime and the supported ones, or undefined for a supported runtime. */
export function findRuntimeProblem(globals: RuntimeGlobals): string | undefined {
  const { node } = globals.process?.versions ?? {}
  const foreign = nameForeignRuntime(globals, node)
  if (foreign !== undefined) return `it does not run on ${foreign}; ${supported}`
  if (node !== undefined && isOlder(node, oldestNode)) return `Node ${node} is too old; ${supported}`
  return undefined
}

/** Throws a `ConfigurationError` in an unsupported runtime. */
export function requireRuntime(globals: RuntimeGlobals): void {
  const problem = findRuntimeProblem(globals)
  if (problem !== undefined) throw new ConfigurationError([problem])
}

function nameForeignRuntime(globals: RuntimeGlobals, node: string | undefined): string | undefined {
  const versions = globals.process?.versions ?? {}
  if (versions['bun'] !== undefined || globals.Bun !== undefined) return join('Bun', versions['bun'])
  if (versions['deno'] !== undefined || globals.Deno !== undefined) return join('Deno', versions['deno'])
  if (globals.navigator?.userAgent === 'Cloudflare-Workers') return 'Cloudflare Workers'
  if (globals.EdgeRuntime !== undefined) return 'an edge runtime'
  return node === undefined ? 'a runtime without Node' : undefined
}

function join(name: string, version: string | undefined): string {
  return version === undefined ? name : `${name} ${version}`
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number)
  return major === oldestMajor ? minor < oldestMinor : major < oldestMajor
}
