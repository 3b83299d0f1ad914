import { expect, it } from 'vitest'
import { openapiDocument } from './openapi.ts'
import { verification } from './public/answers.ts'
import { verifyBody } from './public/bodies.ts'
import type { DiscoveryParts } from './public/discovery.ts'

it('T126: schemas are made once, however often strangers ask for the document', () => {
  const service = { catalog: { entries: () => [] }, config: { service: 'shop', network: 'localnet' } }
  const parts = { service, mints: () => ({}), publicUrl: undefined } as unknown as DiscoveryParts
  const row = { method: 'POST', path: '/x', summary: 'x', isPrivate: false, body: verifyBody, answer: verification }
  const schemasOf = () => {
    const { components } = openapiDocument(parts, [row]) as { components: { schemas: Record<string, object> } }
    return Object.values(components.schemas)
  }
  const [first, second] = [schemasOf(), schemasOf()]
  expect(first.length).toBeGreaterThan(1)
  for (const [index, schema] of first.entries()) expect(second[index]).toBe(schema)
})
