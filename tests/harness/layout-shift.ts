/** How far the parts of a page move without the reader's doing, as browsers measure it (CLS). */
import type { Page } from 'playwright-core'
import { undoAtLeave } from './left-pages.ts'

interface Shifted {
  shift: number
}

/** `slowness`: how many times as slow as this machine the browser is. A slow one paints every state in between. */
export async function watchShifts(page: Page, slowness: number): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowness })
  undoAtLeave(page, { dispose: () => session.detach() })
  undoAtLeave(page, await page.addInitScript(countShifts))
}

/** Runs in the page. */
function countShifts(): void {
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
