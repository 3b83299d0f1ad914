/** The resources of a route that are JSON, as their last responses told. Memory of this process only. */
export interface ResourceTypes {
  note(target: string, isJson: boolean): void
  /** Undefined before the first complete response. */
  isJson(target: string): boolean | undefined
}

/** A route can have any number of paths. */
const mostPaths = 1_000

export function createResourceTypes(): ResourceTypes {
  const known = new Map<string, boolean>()
  const pathOf = (target: string): string => {
    const end = target.indexOf('?')
    return end < 0 ? target : target.slice(0, end)
  }
  return {
    note: (target, isJson) => {
      const path = pathOf(target)
      if (known.get(path) === isJson) return
      if (known.size >= mostPaths) known.clear()
      known.set(path, isJson)
    },
    isJson: (target) => known.get(pathOf(target)),
  }
}
