// One process of a run. It opens the modules that the run names, answers questions about them, and ends with the run.

/**
 * What a module of `parts/` opens.
 *
 * @typedef {object} OpenedModule
 * @property {Record<string, (...details: any[]) => unknown>} answers
 * @property {unknown} facts
 * @property {() => unknown} close
 * @typedef {{ id: number, part: string, question: string, details: any[] }} Question
 */

const longestCloseMs = 20_000
/** @type {Map<string, Promise<OpenedModule>>} */
const opened = new Map()

/** @type {Record<string, (part: string, ...details: any[]) => unknown>} */
const common = {
  async open(part, path, options) {
    const emit = (/** @type {unknown} */ event) => tell({ part, event })
    const opening = import(path).then((module) => module.open(options, emit))
    opened.set(part, opening)
    return (await opening).facts
  },
  async close(part) {
    const one = await opened.get(part)
    opened.delete(part)
    await one?.close()
  },
  cpuSeconds() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  },
  memory() {
    globalThis.gc?.()
    return process.memoryUsage()
  },
}

/**
 * Answers the run. One that is gone hears nothing, and the parts have to be closed all the same.
 *
 * @param {object} message
 */
function tell(message) {
  process.send?.(message, undefined, {}, () => {})
}

process.on('message', (/** @type {Question} */ { id, part, question, details }) => {
  const answer = async () =>
    common[question] ? common[question](part, ...details) : (await opened.get(part))?.answers[question]?.(...details)
  answer().then(
    (value) => tell({ id, answer: value }),
    (error) => tell({ id, error: error instanceof Error ? error.stack : String(error) }),
  )
})
// A Ctrl-C reaches every process of a terminal. The run stops its processes itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.once('disconnect', async () => {
  setTimeout(() => process.exit(1), longestCloseMs).unref()
  // A part that is still opening has to be closed as well.
  await Promise.allSettled([...opened.values()].map(async (opening) => (await opening).close()))
  process.exit(0)
})
