/** Finds the browser before the browser tests start, so that a machine without one is told so once. */
import type { TestProject } from 'vitest/node'
import { findBrowser } from '../../scripts/browser.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the browser. */
    readonly browser: string
  }
}

export async function setup(project: TestProject): Promise<void> {
  project.provide('browser', await findBrowser())
}
