/** Schemas of the queries of single screens. */
import { z } from 'zod'
import { type RefusalCode, refusals } from '../../core/payment/refusals.ts'
import { filterShape } from '../analytics/queries.ts'

export const refusalCodes = Object.keys(refusals) as RefusalCode[]

export const refusalsQuery = z.strictObject({
  code: z.enum(refusalCodes).optional().meta({ description: 'Only one reason.' }),
  endpoint: filterShape.endpoint,
  payer: filterShape.payer,
})
export type RefusalsQuery = z.output<typeof refusalsQuery>
