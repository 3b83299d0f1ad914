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
  until: moment.meta({ description: 'End of the verification, unless the document renews it.' }),
}
export const developer = z.strictObject(developerLine).meta({ id: 'Developer' })
export const developerRevoked = z
  .strictObject({ host: z.string(), wallet: z.string(), revoked: z.literal(true) })
  .meta({ id: 'DeveloperRevoked' })
export const developers = z
  .strictObject({
    service: z.string().nullable().meta({ description: 'Origin in the signed messages.' }),
    id: z.string().meta({ description: 'Id that documents may use instead of the origin.' }),
    network: z.enum(networks),
    genesis: z.string(),
    time: moment.meta({ description: 'Clock of the service, which checks the time of messages.' }),
    developers: z.array(z.strictObject(developerLine)),
    hosts: z.array(z.string()).optional().meta({ description: 'Hosts that can be verified; only for an owner.' }),
  })
  .meta({ id: 'Developers' })
