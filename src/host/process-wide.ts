/**
 * State of the process, not of one copy of this code. `paystile` and `@paystile/client` contain the same modules, and a
 * process can load both. Without shared state, each copy would treat resources of the other as left by a dead process.
 */
export function shareInProcess<Value extends object>(name: string, create: () => Value): Value {
  const shared = globalThis as unknown as Record<symbol, Value | undefined>
  const key = Symbol.for(`paystile.${name}`)
  const value = shared[key] ?? create()
  shared[key] = value
  return value
}
