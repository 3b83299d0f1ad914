/** Runs in a page: adds up how far its parts move without the reader's doing, as browsers measure it (CLS). */

interface Shifted {
  shift: number
}

export function countShifts(): void {
  Object.assign(window, { shift: 0 })
  const shifted = window as unknown as Shifted
  type Shift = PerformanceEntry & { readonly value: number; readonly hadRecentInput: boolean }
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as Shift[]) if (!entry.hadRecentInput) shifted.shift += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
}

export function readShifts(): number {
  return (window as unknown as Shifted).shift
}
