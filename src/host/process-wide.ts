/**
 * State of the process rather than of one copy of this code. `paystile` and `@paystile/client` contain the same modules, and a
 * process may load both: without this, each copy would take what the other holds for abandoned by a dead process.
 */
export function shareInProcess<Value extends object>(name: string, create: () => Value): Value {
  const shared = globalThis as unknown as Record<symbol, Value | undefined>
  const key = Symbol.for(`paystile.${name}`)
  const value = shared[key] ?? create()
  shared[key] = value
  return value
}
