// Processes under measurement, and what they say.
import { fork, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** With two cores or more, server and load do not share one. */
const taskset = spawnSync('taskset', ['--version']).status === 0

export function startServer(framework, mode, options = {}) {
  return startProcess('./server.mjs', [framework, mode, JSON.stringify(options)])
}

/** Runs a script of this folder that says `ready` and can be asked. */
export function startProcess(script, args) {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  if (taskset) spawnSync('taskset', ['-cp', '1', String(child.pid)])
  const waiting = []
  const events = []
  child.on('message', (message) => {
    if (message.kind === 'event') events.push(message)
    else waiting.shift()?.resolve(message)
  })
  child.once('exit', (code) => {
    for (const one of waiting) one.reject(new Error(`${script} ${args[0]} ended with code ${code}`))
  })
  const next = () => new Promise((resolve, reject) => waiting.push({ resolve, reject }))
  return {
    ready: next().then(({ url }) => url),
    events,
    /** What it has used so far: `cpu` or `memory`. */
    usage: (what) => {
      const answer = next()
      child.send(what)
      return answer
    },
    stop: () => {
      child.send('stop')
      return new Promise((resolve) => child.once('exit', resolve))
    },
  }
}

/** Keeps the load away from the servers' core. */
export function pinSelf() {
  if (taskset) spawnSync('taskset', ['-cp', '0', String(process.pid)])
}
