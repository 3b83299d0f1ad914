/** The endpoints of the facilitator, as rows of the table. */
import { endpoints } from '../http/paths.ts'
import type { Row } from '../http/route.ts'
import { facilitatorSettlement, facilitatorSupported, facilitatorVerification } from '../public/answers.ts'
import { facilitatorBody } from '../public/bodies.ts'
import type { FacilitatorEndpoints } from '../public/facilitator.ts'
import { describeFacilitator, settleFacilitated, verifyFacilitated } from '../public/facilitator.ts'

export function facilitatorRows(parts: FacilitatorEndpoints | undefined): readonly Row[] {
  if (!parts) return []
  const row = { isPrivate: false } as const
  return [
    {
      ...row,
      method: 'GET',
      path: `${endpoints.facilitator}/supported`,
      summary: 'The payments that the facilitator settles',
      answer: facilitatorSupported,
      handle: () => describeFacilitator(parts),
    },
    {
      ...row,
      method: 'POST',
      path: `${endpoints.facilitator}/verify`,
      summary: 'Check an x402 payment without settling it',
      body: facilitatorBody,
      answer: facilitatorVerification,
      handle: ({ request, visitor }) => verifyFacilitated(parts, request, visitor),
    },
    {
      ...row,
      method: 'POST',
      path: `${endpoints.facilitator}/settle`,
      summary: 'Settle an x402 payment',
      body: facilitatorBody,
      answer: facilitatorSettlement,
      handle: ({ request, visitor }) => settleFacilitated(parts, request, visitor),
    },
  ]
}
