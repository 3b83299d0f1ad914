/** Edits the prices in the YAML file of a running gateway, and lets the gateway load the file again. */
import { basename } from 'node:path'
import type { PriceEdit, PriceEditor, PriceFile } from '../api/screens/prices.ts'
import { ConfigurationError } from '../core/errors/configuration-error.ts'
import { formatUnits } from '../core/money/money.ts'
import type { Environment } from '../paywall/config/config.ts'
import { readText } from './config/file.ts'
import type { Plan } from './config/plan.ts'
import { readPlanText } from './config/plan-text.ts'
import { editPrices, listPrices } from './config/prices.ts'
import { replaceFile } from './config/replace-file.ts'
import { nameVersion } from './config/source.ts'

export interface PriceEditorParts {
  readonly path: string
  readonly environment: Environment
  /** The plan that the gateway runs. */
  readonly plan: () => Plan
  /** Loads the file. Rejects if the gateway keeps the previous configuration. */
  readonly reload: () => Promise<void>
}

const notLoaded = 'The file has changes that the gateway has not loaded. Reload the gateway, then edit the prices.'

export function createPriceEditor({ path, environment, plan, reload }: PriceEditorParts): PriceEditor {
  const name = basename(path)
  const nameRoute = (route: number): string => plan().routes[route]?.name ?? ''

  /** The file as it is now. Refused if the gateway runs another text: an edit would also load the other changes. */
  const read = (): PriceFile => {
    const text = readText(path)
    const version = nameVersion(text)
    if (version !== plan().version) return { file: name, version, routes: [], why: notLoaded }
    const routes = listPrices(text).map(({ route, price, why }) => {
      const pricing = plan().routes[route]?.config?.route.pricing
      const units = typeof pricing?.price === 'bigint' ? formatUnits(pricing.price, pricing.decimals) : price
      return { route, name: nameRoute(route), price: units, token: pricing?.token ?? '', why }
    })
    return { file: name, version, routes, why: '' }
  }

  const save = async (before: string, after: string): Promise<Awaited<ReturnType<PriceEdit['save']>>> => {
    try {
      if ((await replaceFile(path, before, after)) === 'changed') return { kind: 'stale' }
    } catch (error) {
      return { kind: 'failed', why: `${name} was not written: ${describe(error)}` }
    }
    try {
      await reload()
      return { kind: 'saved', version: nameVersion(after) }
    } catch (error) {
      const restored = await replaceFile(path, after, before).catch(() => 'failed' as const)
      const state = restored === 'replaced' ? 'Its old text is restored.' : 'Its old text could not be restored.'
      return { kind: 'failed', why: `The gateway did not accept ${name}: ${describe(error)} ${state}` }
    }
  }

  return {
    read: async () => read(),
    prepare: async (version, changes) => {
      const text = readText(path)
      if (nameVersion(text) !== version || version !== plan().version) return { kind: 'stale' }
      const editing = editPrices(text, changes)
      if (editing.kind === 'refused') return editing
      try {
        readPlanText(editing.text, name, environment)
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error
        return { kind: 'refused', problems: error.problems }
      }
      const lines = editing.lines.map((line) => ({ ...line, name: nameRoute(line.route) }))
      return { kind: 'edit', edit: { lines, save: () => save(text, editing.text) } }
    },
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
