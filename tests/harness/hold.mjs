// Loaded before a program under test (`node --import`): an answer to a proof stops half-way, says so to the test, and goes
// on when the test says so. Nothing of the program itself is changed.
import { Server } from 'node:http'

const told = new Promise((resolve) => process.once('message', resolve))
// A test that listens is no reason to go on running.
process.channel?.unref()

/** @param {import('node:http').ServerResponse} response */
function hold(response) {
  /** @type {{ write: (...args: any[]) => boolean, end: (...args: any[]) => import('node:http').ServerResponse }} */
  const { write, end } = response
  response.end = (/** @type {any[]} */ ...args) => {
    const [chunk, encoding] = args
    if (response.statusCode !== 200 || chunk === undefined || typeof chunk === 'function')
      return end.apply(response, args)
    const bytes = Buffer.from(
      chunk,
      typeof encoding === 'string' ? /** @type {BufferEncoding} */ (encoding) : undefined,
    )
    const half = Math.floor(bytes.length / 2)
    write.call(response, bytes.subarray(0, half))
    process.send?.('held')
    const done = args.findLast((argument) => typeof argument === 'function')
    void told.then(() => end.call(response, bytes.subarray(half), done))
    return response
  }
}

/** @type {(...args: any[]) => boolean} */
const emit = Server.prototype.emit
Server.prototype.emit = function (/** @type {any[]} */ ...args) {
  const [event, request, response] = args
  if (event === 'request' && request.headers['payment-proof'] !== undefined) hold(response)
  return emit.apply(this, args)
}
