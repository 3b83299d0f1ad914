/** The protocol's two shapes of an access-granted body, written around a JSON resource as it streams. */
import { isJsonType } from '../http/http.ts'

export const envelopes = ['none', 'verified', 'result'] as const
export type Envelope = (typeof envelopes)[number]

export interface Wrapping {
  readonly prefix: string
  readonly suffix: string
}

/**
 * Headers of the original body that are wrong for the wrapped one. With a validator, a client would continue a broken
 * download in the original body, at a position of the wrapped one.
 */
export const unwrappedHeaders = [
  'accept-ranges',
  'content-digest',
  'content-md5',
  'digest',
  'etag',
  'last-modified',
  'repr-digest',
]

/** The wrapped value if the resource sent no body. */
export const emptyBody = 'null'

const wrappings: Readonly<Record<Envelope, Wrapping | undefined>> = {
  none: undefined,
  verified: { prefix: '{"status":"verified","message":"Payment verified, access granted","data":', suffix: '}' },
  result: { prefix: '{"result":"success","data":', suffix: '}' },
}

/** Only a complete, unencoded JSON body can be wrapped. Other bodies are sent unchanged. */
export function findWrapping(
  envelope: Envelope,
  response: { readonly status: number; readonly type: string | undefined; readonly encoding: string | undefined },
): Wrapping | undefined {
  const isPlain = response.encoding === undefined || response.encoding === 'identity'
  return response.status === 200 && isJsonType(response.type) && isPlain ? wrappings[envelope] : undefined
}
