// Loaded before a program under test (`node --import`): an answer to a proof stops half-way, says so to the test, and goes
// on when the test says so. Nothing of the program itself is changed.
import { ServerResponse } from 'node:http'

/** @type {{ write: (...args: any[]) => boolean, end: (...args: any[]) => ServerResponse }} */
const { write, end } = ServerResponse.prototype
const told = new Promise((resolve) => process.once('message', resolve))
// A test that listens is no reason to go on running.
process.channel?.unref()

ServerResponse.prototype.end = function (...args) {
  const [chunk, encoding] = args
  const isHeld = this.statusCode === 200 && this.req.headers['payment-proof'] !== undefined
  if (!isHeld || chunk === undefined || typeof chunk === 'function') return end.apply(this, args)
  const bytes = Buffer.from(chunk, typeof encoding === 'string' ? /** @type {BufferEncoding} */ (encoding) : undefined)
  const half = Math.floor(bytes.length / 2)
  write.call(this, bytes.subarray(0, half))
  process.send?.('held')
  const done = args.findLast((argument) => typeof argument === 'function')
  void told.then(() => end.call(this, bytes.subarray(half), done))
  return this
}
