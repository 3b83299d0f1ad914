/** A stall with some sales, a browser, and those who look at its dashboard. */
import { type Gallery, openGallery, type Viewer } from '../harness/gallery.ts'
import { openStall, type Stall, type StallOptions } from './stall.ts'

export const screens = [
  '',
  '/payments',
  '/endpoints',
  '/payers',
  '/rewards',
  '/settlement',
  '/problems',
  '/sign-in',
] as const

export interface Counter {
  readonly stall: Stall
  /** Opens the dashboard at this path below it. */
  visit(path?: string, options?: Parameters<Gallery['visit']>[1]): Promise<Viewer>
  /** Closes what was opened, and gives back all that was complained of and not forgiven. */
  leave(): Promise<readonly string[]>
  close(): Promise<void>
}

export async function openCounter(options: StallOptions = {}): Promise<Counter> {
  const [stall, gallery] = await Promise.all([openStall(options), openGallery()])
  await stall.buy('/api/moon')
  await stall.buy('/api/weather')
  await stall.buy('/api/moon', 'SOL')
  let viewers: Viewer[] = []
  return {
    stall,
    visit: async (path = '', options = {}) => {
      const viewer = await gallery.visit(`${stall.url}/dashboard${path}`, options)
      viewers.push(viewer)
      return viewer
    },
    leave: async () => {
      const complaints = viewers.flatMap((viewer) => viewer.complaints)
      for (const viewer of viewers) await viewer.close()
      viewers = []
      return complaints
    },
    close: async () => {
      await gallery.close()
      await stall.close()
    },
  }
}
