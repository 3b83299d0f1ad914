/**
 * An async context in use makes every promise of its process dearer on Node 20. The browser's driver and the Next
 * adapter use one, so each test file ends the contexts that it used.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type ChannelListener, channel } from 'node:diagnostics_channel'

/** Notes the contexts that come into use from now on, and returns the function that ends them. */
export function watchContexts(): () => void {
  const used = new Set<AsyncLocalStorage<unknown>>()
  const { prototype } = AsyncLocalStorage
  const { run, enterWith } = prototype
  prototype.run = function (this: AsyncLocalStorage<unknown>, ...call: Parameters<typeof run>) {
    used.add(this)
    return run.apply(this, call)
  } as typeof run
  prototype.enterWith = function (this: AsyncLocalStorage<unknown>, store) {
    used.add(this)
    enterWith.call(this, store)
  }
  return () => {
    Object.assign(prototype, { run, enterWith })
    const requests = channel('http.server.request.start')
    // The Next adapter subscribes again in the next file that uses it.
    const { _subscribers: subscribers = [] } = requests as { readonly _subscribers?: readonly ChannelListener[] }
    for (const subscriber of [...subscribers]) requests.unsubscribe(subscriber)
    for (const context of used) context.disable()
  }
}
