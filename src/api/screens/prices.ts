/** The prices in the file of a gateway: their list, the change before it is saved, and the record of changes. */
import { z } from 'zod'
import type { KeyValueStore } from '../../core/ports/kv.ts'
import type { Clock, Log } from '../../core/runtime.ts'
import { type Access, turnAway } from '../http/access.ts'
import { answer, problem } from '../http/errors.ts'
import { readPosted } from '../http/posted.ts'

export interface PriceFile {
  readonly file: string
  /** Names the text of the file. A change must name the version that it is made for. */
  readonly version: string
  readonly routes: readonly {
    readonly route: number
    readonly name: string
    readonly price: string
    readonly token: string
    /** The reason if this price cannot be edited. Empty otherwise. */
    readonly why: string
  }[]
  /** The reason if no price can be edited. Empty otherwise. */
  readonly why: string
}

/** A checked change that is not saved yet. */
export interface PriceEdit {
  readonly lines: readonly {
    readonly route: number
    readonly name: string
    readonly line: number
    readonly before: string
    readonly after: string
  }[]
  /** Writes the file and loads it. If it cannot be loaded, the old text is written back. */
  save(): Promise<
    | { readonly kind: 'saved'; readonly version: string }
    | { readonly kind: 'stale' }
    | { readonly kind: 'failed'; readonly why: string }
  >
}

/** The gateway's file as a port. */
export interface PriceEditor {
  read(): Promise<PriceFile>
  prepare(
    version: string,
    prices: readonly { readonly route: number; readonly price: string }[],
  ): Promise<
    | { readonly kind: 'edit'; readonly edit: PriceEdit }
    | { readonly kind: 'stale' }
    | { readonly kind: 'refused'; readonly problems: readonly string[] }
  >
}

const mostRoutes = 1_000
const keptMs = 400 * 86_400_000
const mostShown = 10
const prefix = 'price-change:'

export const pricesBody = z.strictObject({
  version: z.string().max(64).meta({ description: 'The version of the file from `GET /api/service`.' }),
  prices: z
    .array(
      z.strictObject({
        route: z.int().min(0).max(mostRoutes).meta({ description: 'The place of the route in the file, from 0.' }),
        price: z.string().regex(/^(?:0|[1-9]\d{0,11})(?:\.\d{1,18})?$/, 'must be a decimal number such as 0.01'),
      }),
    )
    .min(1)
    .max(mostRoutes)
    .refine((prices) => new Set(prices.map(({ route }) => route)).size === prices.length, 'must name each route once'),
  save: z.boolean().meta({ description: 'false: only checks the change and shows it.' }),
})

const record = z.object({
  at: z.string(),
  wallet: z.string(),
  name: z.string(),
  before: z.string(),
  after: z.string(),
})

export interface PricesParts {
  /** Undefined if prices cannot be edited. */
  readonly editor: PriceEditor | undefined
  readonly kv: KeyValueStore
  readonly clock: Clock
  readonly log: Log
}

/** Null without `edit: true`. The file and the changes are for owners who are signed in. */
export async function readPrices({ editor, kv }: PricesParts, access: Access) {
  if (!editor) return null
  if (access.kind !== 'owner') return { file: null, changes: [] }
  const [file, kept] = await Promise.all([editor.read(), kv.list(prefix)])
  const changes = kept.flatMap(({ value }) => record.array().parse(JSON.parse(value)))
  return { file, changes: changes.toReversed().slice(0, mostShown) }
}

export async function changePrices(parts: PricesParts, request: Request, access: Access): Promise<Response> {
  if (/^(?:cross|same)-site$/.test(request.headers.get('sec-fetch-site') ?? '')) return problem('cross_site')
  // On the machine itself everyone may read without a wallet, but a change has an author.
  if (access.kind !== 'owner') return turnAway(access)
  if (!parts.editor) return problem('edit_missing')
  const posted = await readPosted(request, pricesBody)
  if (posted instanceof Response) return posted
  const reading = await parts.editor.prepare(posted.version, posted.prices)
  if (reading.kind === 'stale') return problem('prices_stale')
  if (reading.kind === 'refused') {
    const { problems } = reading
    // The person who typed the price knows of no body.
    return problem('body_invalid', { detail: `The file would be invalid: ${problems.join('; ')}.`, problems })
  }
  const { edit } = reading
  if (!posted.save) return answer({ version: posted.version, isSaved: false, lines: edit.lines })
  const undo = await recordChange(parts, edit, access.wallet)
  const saved = await edit.save()
  if (saved.kind === 'saved') {
    for (const { name, before, after } of edit.lines)
      parts.log.info('price.changed', { wallet: access.wallet, route: name, before, after })
    return answer({ version: saved.version, isSaved: true, lines: edit.lines })
  }
  await undo()
  if (saved.kind === 'stale') return problem('prices_stale')
  parts.log.error('price.not_changed', { wallet: access.wallet, why: saved.why })
  return problem('prices_not_saved', { detail: saved.why })
}

/** Records the change before it is made, so that no change is without a record, also after a crash. */
async function recordChange({ kv, clock }: PricesParts, { lines }: PriceEdit, wallet: string) {
  const now = clock.now()
  const at = new Date(now).toISOString()
  const kept = lines.map(({ name, before, after }): z.output<typeof record> => ({ at, wallet, name, before, after }))
  const name = `${prefix}${at}:${crypto.randomUUID()}`
  await kv.put(name, JSON.stringify(kept), now + keptMs)
  return () => kv.remove(name)
}
