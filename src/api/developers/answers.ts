/**
 * Schemas of the responses to developers, from which `/openapi.json` is made. Tests validate every response against
 * them.
 */
import { z } from 'zod'
import { networks } from '../../core/money/tokens.ts'
import { moment } from '../http/answers.ts'

const developerLine = {
  host: z.string(),
  wallet: z.string(),
  from: moment,
  until: moment.meta({ description: 'Unless its document is seen to name the wallet until then.' }),
}
export const developer = z.strictObject(developerLine).meta({ id: 'Developer' })
export const developerRevoked = z
  .strictObject({ host: z.string(), wallet: z.string(), revoked: z.literal(true) })
  .meta({ id: 'DeveloperRevoked' })
export const developers = z
  .strictObject({
    service: z.string().nullable().meta({ description: 'The origin that messages name.' }),
    id: z.string().meta({ description: 'The id that documents may name instead.' }),
    network: z.enum(networks),
    genesis: z.string(),
    time: moment.meta({ description: 'By the clock of the service, which messages are compared with.' }),
    developers: z.array(z.strictObject(developerLine)),
    hosts: z.array(z.string()).optional().meta({ description: 'Hosts that can be verified; only for an owner.' }),
  })
  .meta({ id: 'Developers' })
