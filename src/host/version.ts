/** The version of this package. */
import { createRequire } from 'node:module'

/** 'unknown' in an application that was bundled into one script, where there is no package. */
export function readVersion(): string {
  try {
    const { name, version } = createRequire(import.meta.url)('../../package.json') as Readonly<Record<string, string>>
    return name === 'paystile' && version !== undefined ? version : 'unknown'
  } catch {
    return 'unknown'
  }
}
