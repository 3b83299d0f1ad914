// The processes of a run. Each part under measurement gets a process of its own, and none outlives the run.
import { fork, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/**
 * The modules that a process can open.
 *
 * @typedef {{
 *   export: typeof import('./parts/export.mjs'),
 *   facilitator: typeof import('./parts/facilitator.mjs'),
 *   'gateway-processes': typeof import('./parts/gateway-processes.mjs'),
 *   least: typeof import('./parts/least.mjs'),
 *   localnet: typeof import('./parts/localnet.mjs'),
 *   'peer-server': typeof import('./parts/peer-server.mjs'),
 *   'payout-worker': typeof import('./parts/payout-worker.mjs'),
 *   postgres: typeof import('./parts/postgres.mjs'),
 *   proxy: typeof import('./parts/proxy.mjs'),
 *   server: typeof import('./parts/server.mjs'),
 *   stream: typeof import('./parts/stream.mjs'),
 * }} Modules
 * @typedef {ReturnType<typeof createProcesses>} Processes
 */

/**
 * @template {keyof Modules} Name
 * @typedef {Awaited<ReturnType<Modules[Name]['open']>>} Opened
 */

/**
 * @template {keyof Modules} Name
 * @typedef {Parameters<Modules[Name]['open']>} OpenParameters
 */

/**
 * @template {keyof Modules} Name
 * @template {keyof Opened<Name>['answers']} Question
 * @typedef {Opened<Name>['answers'][Question] extends (...details: infer D) => infer A
 *   ? { details: D, answer: Awaited<A> } : never} Answering
 */

/**
 * An opened module in another process.
 *
 * @template {keyof Modules} Name
 * @typedef {object} Part
 * @property {Opened<Name>['facts']} facts
 * @property {<Question extends keyof Opened<Name>['answers'] & string>(question: Question,
 *   ...details: Answering<Name, Question>['details']) => Promise<Answering<Name, Question>['answer']>} ask
 * @property {() => Promise<number>} cpuSeconds CPU time of its process so far.
 * @property {() => Promise<NodeJS.MemoryUsage>} memory Memory of its process, after a collection.
 * @property {() => Promise<void>} stop
 */

/**
 * @typedef {{ label: string, resolve: (answer: any) => void, reject: (error: Error) => void }} Exchange A question that waits.
 * @typedef {object} Host One process.
 * @property {(question: { part: string, label: string, question: string, details: readonly unknown[] }) => Promise<any>} ask
 * @property {(part: string, hear: (event: any) => void) => void} listen
 * @property {(placement: keyof typeof placements) => void} pin
 * @property {() => Promise<void>} end
 */

const longestEndMs = 30_000
const script = fileURLToPath(new URL('./host.mjs', import.meta.url))
// Read before this process is pinned to one of them.
const cores = availableParallelism()
const hasTaskset = cores > 1 && spawnSync('taskset', ['--version']).status === 0
const placements = { load: '0', measured: '1', anywhere: `0-${cores - 1}` }

/** Keeps this process, which makes the load, away from the core of the measured processes. */
export function pinLoad() {
  pin(process.pid, 'load')
}

/**
 * @param {number | undefined} pid
 * @param {keyof typeof placements} placement
 */
function pin(pid, placement) {
  if (hasTaskset) spawnSync('taskset', ['-cp', placements[placement], String(pid)])
}

/** @param {{ isShared: boolean }} options With `isShared`, all parts live in one process: faster to start, useless to measure. */
export function createProcesses({ isShared }) {
  /** @type {Set<Host>} */
  const hosts = new Set()
  /** @type {Host | undefined} */
  let common
  let count = 0
  let isEnding = false
  /** @type {(error: Error) => void} */
  let fail = () => {}
  /** @type {Promise<never>} */
  const failure = new Promise((_, reject) => {
    fail = reject
  })
  failure.catch(() => {})

  /**
   * @param {string} label
   * @returns {Host}
   */
  const startHost = (label) => {
    const child = fork(script, { execArgv: ['--expose-gc'], stdio: ['ignore', 2, 2, 'ipc'], serialization: 'advanced' })
    pin(child.pid, 'anywhere')
    /** @type {Map<number, Exchange>} */
    const waiting = new Map()
    /** @type {Map<string, (event: unknown) => void>} */
    const listeners = new Map()
    let [asked, isStopping, wasKilled] = [0, false, false]
    child.on('message', (/** @type {any} */ message) => {
      if ('event' in message) return listeners.get(message.part)?.(message.event)
      const exchange = waiting.get(message.id)
      waiting.delete(message.id)
      if ('error' in message) exchange?.reject(new Error(`${exchange.label}: ${message.error}`))
      else exchange?.resolve(message.answer)
    })
    /** @type {Promise<void>} */
    const ended = new Promise((resolve) => {
      const end = (/** @type {string} */ how) => {
        hosts.delete(host)
        if (!isStopping) {
          const error = new Error(`The process of ${label} ended ${how} before it was stopped.`)
          for (const { reject } of waiting.values()) reject(error)
          fail(error)
        }
        resolve()
      }
      child.once('error', (error) => end(`with an error (${error.message})`))
      child.once('exit', (code, signal) => end(signal ? `by ${signal}` : `with exit code ${code}`))
    })
    /** @type {Host} */
    const host = {
      ask: ({ label: asker, ...message }) =>
        new Promise((resolve, reject) => {
          asked += 1
          waiting.set(asked, { label: asker, resolve, reject })
          child.send({ id: asked, ...message }, (error) => {
            if (error) reject(new Error(`The process of ${label} cannot be asked any more.`, { cause: error }))
          })
        }),
      listen: (part, hear) => listeners.set(part, hear),
      pin: (placement) => pin(child.pid, placement),
      end: async () => {
        isStopping = true
        if (child.connected) child.disconnect()
        const timer = setTimeout(() => {
          wasKilled = child.kill('SIGKILL')
        }, longestEndMs)
        await ended
        clearTimeout(timer)
        if (wasKilled) throw new Error(`The process of ${label} did not end within ${longestEndMs / 1000} s.`)
      },
    }
    hosts.add(host)
    return host
  }

  return {
    /** Rejects when a process ends before it was stopped. */
    failure,

    /**
     * Opens a module of `parts/` in a process of its own.
     *
     * @template {keyof Modules} Name
     * @param {Name} name
     * @param {OpenParameters<Name>[0]} options
     * @param {{ as?: string, placement?: keyof typeof placements, onEvent?: (event: any) => void }} [settings]
     * @returns {Promise<Part<Name>>}
     */
    async start(name, options, { as = '', placement = 'measured', onEvent } = {}) {
      if (isEnding) throw new Error('The run is ending.')
      const label = `bench/parts/${name}.mjs${as && ` (${as})`}`
      if (isShared) common ??= startHost('all parts of the run')
      const host = common ?? startHost(label)
      count += 1
      const part = String(count)
      if (onEvent) host.listen(part, onEvent)
      const ask = (/** @type {string} */ question, /** @type {unknown[]} */ ...details) =>
        host.ask({ part, label, question, details })
      const facts = await ask('open', `./parts/${name}.mjs`, options)
      // Only now, so that parts can start side by side.
      host.pin(placement)
      return {
        facts,
        ask,
        cpuSeconds: () => ask('cpuSeconds'),
        memory: () => ask('memory'),
        stop: () => (isShared ? ask('close') : host.end()),
      }
    },

    /** Ends all processes that are left. */
    async end() {
      isEnding = true
      await Promise.all([...hosts].map((host) => host.end()))
    },

    /**
     * The reason behind an error: a process that dies closes its connections first, which says little.
     *
     * @param {unknown} error
     * @returns {Promise<unknown>}
     */
    explain: (error) =>
      Promise.race([
        failure.catch((/** @type {Error} */ death) =>
          death === error ? death : new Error(death.message, { cause: error }),
        ),
        new Promise((resolve) => setTimeout(resolve, 500, error)),
      ]),
  }
}
