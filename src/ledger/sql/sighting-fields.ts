/** The columns of a sighting, in the order of `sightingColumns`. */
import type { Sighting } from '../../core/ports/journal.ts'
import { formatText } from '../stored-text.ts'
import type { Columns } from './work.ts'

export const sightingFields: Columns<Sighting> = {
  tx: ['bytea', ({ tx }) => tx],
  recipient: ['text', ({ recipient }) => recipient],
  request: ['text', ({ request }) => request],
  payer: ['text', ({ payer }) => payer],
  token: ['text', ({ token }) => token],
  received: ['numeric', ({ received }) => String(received)],
  slot: ['bigint', ({ slot }) => slot],
  paid_at: ['bigint', ({ paidAt }) => paidAt],
  endpoint: ['text', ({ endpoint }) => formatText(endpoint)],
  claimable_until: ['bigint', ({ claimableUntil }) => claimableUntil],
  required: ['numeric', ({ required }) => (required === undefined ? null : String(required))],
  payable_until: ['bigint', ({ payableUntil }) => payableUntil],
}
