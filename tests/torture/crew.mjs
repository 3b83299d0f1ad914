/** The processes that are tortured. Each one that is killed has a successor that has already started, so that work goes on. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../harness/free-port.mjs'
import { writeBundle } from '../harness/write-bundle.mjs'

/**
 * @typedef {{ child: import('node:child_process').ChildProcess, notes: string, isReady: boolean, isUsed: boolean, diedAt: number | undefined }} Member
 * @typedef {{ port: number, member: Member | undefined, entering: Promise<void> | undefined }} Place
 */

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/** `entry` is the script that they run, with `provider` as its options. `spares` of them have started and wait. */
export async function createCrew({ home, provider, count, entry = 'server.mjs', spares = 3 }) {
  const bundled = await writeBundle(home, here(entry))
  /** Every process that ever sold something: its notes, and when it was killed. */
  /** @type {Member[]} */
  const processes = []
  /** @type {Promise<Member>[]} */
  const waiting = []
  const call = () => {
    const notes = join(home, `notes-${processes.length}`)
    const args = [bundled, JSON.stringify({ ...provider, notes })]
    const child = fork(here('launch.cjs'), args, { stdio: ['ignore', 2, 2, 'ipc'] })
    /** @type {Member} */
    const member = { child, notes, isReady: false, isUsed: false, diedAt: undefined }
    processes.push(member)
    return once(child, 'message').then(() => {
      member.isReady = true
      return member
    })
  }
  const refill = () => {
    while (waiting.length < spares) waiting.push(call())
  }
  const enter = async (/** @type {Place} */ place) => {
    refill()
    const member = await waiting.shift()
    if (!member) throw new Error('nobody waits')
    member.isUsed = true
    refill()
    member.child.send({ port: place.port })
    await once(member.child, 'message')
    place.member = member
  }
  const hasSpare = () => processes.some(({ isReady, isUsed }) => isReady && !isUsed)
  // The first leaves behind what V8 has compiled.
  const first = call()
  waiting.push(first)
  await first
  const places = await Promise.all(
    Array.from(
      { length: count },
      /** @returns {Promise<Place>} */ async () => ({ port: await freePort(), member: undefined, entering: undefined }),
    ),
  )
  await Promise.all(places.map(enter))

  return {
    ports: places.map(({ port }) => port),
    /** Whether a process is ready to follow one that is killed. */
    hasSpare,
    /** False when there is nobody to be killed in that place at the moment, or nobody ready to follow: load would stop. */
    async kill(turn) {
      const place = places[turn % places.length]
      const member = place?.member
      if (!member || !hasSpare()) return false
      place.member = undefined
      const ended = once(member.child, 'exit')
      member.child.kill('SIGKILL')
      member.diedAt = Date.now()
      await ended
      place.entering = enter(place)
      return true
    },
    /** Stands still for a while in the middle of whatever it does, and then goes on as if nothing had been. */
    async freeze(turn, ms) {
      const member = places[turn % places.length]?.member
      if (!member) return false
      member.child.kill('SIGSTOP')
      await new Promise((resolve) => setTimeout(resolve, ms))
      member.child.kill('SIGCONT')
      return true
    },
    complete: () => Promise.all(places.map(({ entering }) => entering)),
    /** By transaction: what was sent, by whom, and when. */
    sends() {
      const sends = new Map()
      for (const [server, { notes, diedAt }] of processes.entries()) {
        const open = new Map()
        for (const line of readNotes(notes)) {
          const [what, tx, at] = line.split(' ')
          if (what === 'last') {
            open.get(tx).last = Number(at)
            continue
          }
          const send = { server, first: Number(at), last: undefined, diedAt }
          open.set(tx, send)
          sends.set(tx, [...(sends.get(tx) ?? []), send])
        }
      }
      return sends
    },
    async close() {
      await Promise.all(waiting)
      for (const { child } of processes) child.kill('SIGKILL')
    },
  }
}

function readNotes(path) {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1)
  } catch {
    return []
  }
}
