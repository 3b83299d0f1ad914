import { describe, expectTypeOf, it } from 'vitest'
import type { ProviderOptions } from './options.ts'

/** Whether the compiler takes these options, beside the ones that every paywall has. */
type Accepts<Options> = Options & { price: number; token: 'USDC' } extends ProviderOptions ? true : false

describe('the types of prices', () => {
  it('take every form of per', () => {
    expectTypeOf<Accepts<object>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ per: 'request' }>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ per: 'megabyte' }>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ per: 'minute' }>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ per: 'hour' }>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ per: 'day' }>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ per: { seconds: number } }>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ per: { requests: number } }>>().toEqualTypeOf<true>()
  })

  it('refuse another per', () => {
    expectTypeOf<Accepts<{ per: 'week' }>>().toEqualTypeOf<false>()
    expectTypeOf<Accepts<{ per: { minutes: number } }>>().toEqualTypeOf<false>()
  })

  it('take size and prepay by the megabyte only', () => {
    expectTypeOf<Accepts<{ per: 'megabyte'; size: number; prepay: number }>>().toEqualTypeOf<true>()
    expectTypeOf<Accepts<{ size: number }>>().toEqualTypeOf<false>()
    expectTypeOf<Accepts<{ per: 'request'; prepay: number }>>().toEqualTypeOf<false>()
    expectTypeOf<Accepts<{ per: 'hour'; size: number }>>().toEqualTypeOf<false>()
    expectTypeOf<Accepts<{ per: { requests: number }; prepay: number }>>().toEqualTypeOf<false>()
  })
})
