/** The endpoints for developers, as rows of the table. */
import { developer, developerRevoked, developers as developersAnswer } from '../developers/answers.ts'
import { developerBody, revokeBody } from '../developers/bodies.ts'
import type { Developers } from '../developers/developers.ts'
import { endpoints } from '../http/paths.ts'
import type { Row } from '../http/route.ts'

export function developerRows(developers: Developers | undefined): readonly Row[] {
  if (!developers) return []
  const isPrivate = false
  return [
    {
      method: 'GET',
      path: endpoints.developers,
      summary: 'Verified hosts and their wallets',
      isPrivate,
      answer: developersAnswer,
      handle: ({ request, access }) => developers.list(request, access),
    },
    {
      method: 'POST',
      path: endpoints.developers,
      summary: 'Verify a host for the wallet that signed',
      isPrivate,
      body: developerBody,
      answer: developer,
      handle: ({ request, visitor }) => developers.register(request, visitor),
    },
    {
      method: 'POST',
      path: `${endpoints.developers}/revoke`,
      summary: 'End the verification of a host, by its wallet or a signed-in owner',
      isPrivate,
      body: revokeBody,
      answer: developerRevoked,
      handle: ({ request, visitor, access }) => developers.revoke(request, visitor, access),
    },
  ]
}
