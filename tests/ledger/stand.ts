/**
 * A small server that sells from one payment over several streams at once, and counts for itself what it sends.
 *
 * It keeps to what every server has to keep to: it sends nothing that it does not hold or after its lease is over, and
 * has a lease renewed while bytes under it are not accounted for. Only in a crash does it forget what it has sent.
 */
import { equal, ok } from 'node:assert/strict'
import type { Unit } from '../../src/core/payment/allowance.ts'
import type { DeliveryOutcome } from '../../src/core/payment/delivery.ts'
import type { Grant } from '../../src/core/ports/ledger.ts'
import { createPayment, createTestClock } from './payments.ts'
import { createReferenceLedger } from './reference/ledger.ts'

/** What it may do, with which stream, and how much or where. */
export const deeds = ['open', 'send', 'advance', 'finish', 'abort', 'forget', 'heads', 'wait', 'renew', 'rest'] as const
/** What no server wants to do: die, or stand still for longer than its leases last. */
export const mishaps = ['crash', 'pause'] as const
export type Deed = readonly [
  act: (typeof deeds)[number] | (typeof mishaps)[number],
  which: number,
  size: number,
  place: number,
]

export interface Goods {
  readonly unit: Unit
  readonly amount: number
  /** How many bytes go for one, where bytes are sold. */
  readonly scale: number
}

interface Stream {
  readonly grant: Grant
  /** In all since its beginning. */
  sent: number
  /** How much of that it has accounted for on the way. */
  told: number
  /** Up to where it may send, as far as it knows. */
  limit: number
  /** What it holds, which it may not have heard. */
  held: number
  deadline: number
}

const leaseMs = 100
const [mostSends, mostFree] = [3, 20]

export function createShopFixture({ unit, amount, scale }: Goods) {
  const clock = createTestClock()
  const ledger = createReferenceLedger({ clock })
  const payment = createPayment({ allowance: { unit, amount: BigInt(amount) } })
  const streams: Stream[] = []
  // The truth. What is lost was sent, and whoever sent it could not tell the ledger any more.
  const places = Array.from({ length: unit === 'file' ? amount : 0 }, () => ({ sent: 0, lost: 0, arrived: false }))
  let [sent, lost, settled, counted, free, freeCosts] = [0, 0, 0, 0, 0, 0]
  let registeredAt: number | undefined

  const isLive = ({ deadline }: Stream) => deadline > clock.now()
  const drop = (stream: Stream) => void streams.splice(streams.indexOf(stream), 1)
  const placesOf = ({ grant }: Stream, from: number, to: number) =>
    unit === 'file' ? places.slice(Number(grant.from) + from, Number(grant.from) + to) : []
  const lose = (stream: Stream) => {
    ok(stream.sent - stream.told <= stream.held, 'a crash costs more than one lease')
    lost += stream.sent - stream.told
    for (const place of placesOf(stream, 0, stream.sent)) place.lost += 1
    drop(stream)
  }
  const take = (size: number, place: number) => {
    registeredAt ??= clock.now()
    const part = unit === 'file' ? { amount: BigInt(size), from: BigInt(place % amount) } : { amount: BigInt(size) }
    return ledger.take({ tx: payment.tx, request: payment.request, payment, leaseMs, ...part })
  }
  const open = async (size: number, place: number): Promise<Stream | undefined> => {
    const taken = await take(size, place)
    if (taken.kind !== 'granted') return undefined
    const { grant } = taken
    const held = unit === 'file' || unit === 'byte' ? Number(grant.amount) : 1_000_000
    const stream = { grant, sent: 0, told: 0, limit: held, held, deadline: clock.now() + leaseMs }
    streams.push(stream)
    return stream
  }
  const send = (stream: Stream, size: number) => {
    if (!isLive(stream)) return
    const to = Math.min(stream.sent + size, stream.limit)
    for (const place of placesOf(stream, stream.sent, to)) place.sent += 1
    sent += to - stream.sent
    stream.sent = to
  }
  const end = async (stream: Stream, outcome: DeliveryOutcome) => {
    // Who has sent all that it held may think that it was even more.
    const extra = stream.sent - stream.told === stream.held ? 7 : 0
    const used = unit === 'request' ? 1n : BigInt(stream.sent + extra)
    const done = await ledger.end(stream.grant, outcome, used)
    equal(await ledger.end(stream.grant, outcome, used), false)
    if (isLive(stream)) ok(done, 'a live lease was lost')
    if (!done) return lose(stream)
    drop(stream)
    if (outcome === 'no_body') {
      free += 1
      const price = unit === 'byte' ? Math.min(1_000, stream.held) : unit === 'request' ? 1 : 0
      if (free >= mostFree) freeCosts += price
      // As if it had been sent.
      if (free >= mostFree) for (const place of placesOf(stream, 0, stream.held)) place.sent += 1
    }
    if (outcome === 'partial') counted += 1
    if (outcome !== 'delivered') return
    settled += 1
    for (const place of placesOf(stream, 0, stream.sent)) place.arrived = true
  }
  const abort = (stream: Stream) =>
    end(stream, stream.sent === 0 ? 'no_body' : unit === 'byte' ? 'delivered' : 'partial')
  /** Accounts for what was sent, once or as often as the answer is lost; the last time it may be lost, too. */
  const advance = async (stream: Stream, size: number, dice: number) => {
    const isHeard = dice % 3 !== 0
    // Who sends on before the answer asks for no less than that.
    const more = isHeard ? size : Math.max(size, stream.limit - stream.sent)
    let got: bigint | undefined
    for (let times = 0; times <= dice % 4; times += 1) {
      const again = await ledger.advance(stream.grant, BigInt(stream.sent), BigInt(more))
      if (times > 0) equal(again, got, 'said again, it was answered otherwise')
      got = again
    }
    if (isLive(stream)) ok(got !== undefined, 'a live lease was lost')
    if (got === undefined) return lose(stream)
    stream.told = stream.sent
    stream.held = Number(got)
    if (isHeard) stream.limit = stream.sent + stream.held
    else ok(stream.limit - stream.sent <= stream.held, 'what was held was taken away')
  }
  const renew = async (stream: Stream) => {
    const kept = await ledger.renew(stream.grant, leaseMs)
    if (isLive(stream)) ok(kept, 'a live lease was lost')
    if (kept) stream.deadline = Math.max(stream.deadline, clock.now() + leaseMs)
    else lose(stream)
  }
  const wait = async (ms: number) => {
    for (const stream of [...streams]) if (stream.sent > stream.told && isLive(stream)) await renew(stream)
    clock.advance(ms)
  }
  /** Nobody sends any more, and whatever was forgotten has lapsed. */
  const rest = async () => {
    for (const stream of [...streams]) await (stream.grant.fence % 2n === 0n ? end(stream, 'delivered') : abort(stream))
    clock.advance(leaseMs)
    await checkUsable()
  }

  /** What it may still send is part of what was paid, and no position is under way for the fourth time. */
  const checkSold = () => {
    const live = streams.filter(isLive)
    // A stream whose lease is over may yet be lost.
    const doubtful = streams.filter((stream) => !isLive(stream))
    if (unit === 'byte') {
      const sendable = live.reduce((sum, stream) => sum + stream.limit - stream.sent, 0)
      const inDoubt = doubtful.reduce((sum, stream) => sum + stream.sent - stream.told, 0)
      ok(sent - lost - inDoubt + freeCosts + sendable <= amount, 'more bytes than were paid')
    }
    if (unit === 'request') ok(settled + freeCosts + live.length <= amount, 'more requests than were paid')
    if (unit !== 'file') return
    for (const [index, place] of places.entries()) {
      const isIn = ({ grant }: Stream, from: number, to: number) =>
        index >= Number(grant.from) + from && index < Number(grant.from) + to
      const underWay = live.filter((stream) => isIn(stream, stream.sent, stream.limit)).length
      const inDoubt = doubtful.filter((stream) => isIn(stream, 0, stream.sent)).length
      ok(place.sent - place.lost - inDoubt + underWay <= mostSends, 'a position more than three times')
    }
  }
  /** With nobody at it, all that was paid and not sent can be had. */
  const checkUsable = async () => {
    if (registeredAt === undefined) return
    const standing = await ledger.peek(payment.tx)
    const had = async (place = 0) => {
      const taken = await take(amount, place)
      if (taken.kind !== 'granted') return taken.kind
      ok(await ledger.end(taken.grant, 'not_started', 0n))
      if (unit === 'file') equal(taken.grant.from, BigInt(place))
      return Number(taken.grant.amount)
    }
    if (unit === 'second') {
      return equal(await had(), clock.now() < registeredAt + amount * 1000 ? 0 : 'spent')
    }
    if (unit !== 'file') {
      const isWorn = unit === 'request' && counted >= mostSends * amount
      const left = isWorn ? 0 : amount - (unit === 'byte' ? sent - lost : settled) - freeCosts
      equal(standing?.remaining, BigInt(left))
      return equal(await had(), left === 0 ? 'spent' : left)
    }
    const times = places.map((place) => place.sent - place.lost)
    const missing = places.filter(({ arrived }) => !arrived).length
    const isOver = times.every((sent) => sent >= mostSends)
    equal(standing?.remaining, BigInt(isOver ? 0 : missing))
    for (const [place, sent] of times.entries()) {
      // Between two positions that were sent as often nothing changes, but how far it is.
      if (place > 0 && place < amount - 1 && sent === times[place - 1]) continue
      const next = times.findIndex((later, index) => index >= place && later >= mostSends)
      const reach = (next < 0 ? amount : next) - place
      equal(await had(place), isOver || sent >= mostSends ? 'spent' : reach)
    }
  }
  /** To the millisecond. */
  const seeWindowEnd = async (endsAt: number) => {
    for (const moment of [endsAt - 1, endsAt]) {
      clock.advance(Math.max(0, moment - clock.now()))
      await checkUsable()
    }
  }

  const act = async ([act, which, steps, place]: Deed): Promise<void> => {
    const size = unit === 'byte' ? steps * scale : unit === 'file' ? steps : 1
    const stream = streams[which]
    if (act === 'open') return void (await open(size, place))
    if (act === 'rest') return rest()
    if (act === 'wait') return wait(steps * 8)
    if (act === 'pause') return clock.advance(steps * 16)
    if (act === 'heads') {
      // Rarely so many that they cost something.
      for (let head = which === 0 ? steps * 2 : 1; head > 0; head -= 1) {
        const asked = await open(size, place)
        if (asked) await end(asked, 'no_body')
      }
      return
    }
    if (!stream) return
    if (act === 'send') return send(stream, size)
    if (act === 'advance') return unit === 'byte' ? advance(stream, size, place) : send(stream, size)
    if (act === 'finish') {
      if (place % 2 === 0) send(stream, stream.limit)
      return end(stream, 'delivered')
    }
    if (act === 'abort') return abort(stream)
    if (act === 'renew') return renew(stream)
    if (act === 'crash') return lose(stream)
    // Its process ended before it sent anything that it did not account for.
    if (stream.sent === stream.told) drop(stream)
  }
  return {
    /** Does all of it, and looks after each deed whether too much was sold, and in the end whether anything was lost. */
    async play(deeds: readonly Deed[]): Promise<void> {
      for (const deed of deeds) {
        await act(deed)
        checkSold()
      }
      await rest()
      checkSold()
      if (unit === 'second' && registeredAt !== undefined) await seeWindowEnd(registeredAt + amount * 1000)
    },
    /** How many bytes were sent that the ledger does not know of. */
    lost: () => lost,
  }
}
