import { describe, expect, it } from 'vitest'
import { createOriginCheck, type OriginCheck } from './origins.ts'

/** The origins that are tried for a client that signed `signed`. */
function listTried(isOrigin: OriginCheck, signed: string, seen = 'http://shop.test:80') {
  const tried: string[] = []
  const isValid = isOrigin({ origin: () => seen }, (origin) => {
    tried.push(origin)
    return origin === signed
  })
  return { isValid, tried }
}

const [plain, secure] = ['http://shop.test:80', 'https://shop.test:80']

describe('the origin of a signed proof', () => {
  it('is verified once in a row of clients of the same scheme', () => {
    const isOrigin = createOriginCheck(undefined)
    expect(listTried(isOrigin, plain)).toEqual({ isValid: true, tried: [secure, plain] })
    expect(listTried(isOrigin, plain)).toEqual({ isValid: true, tried: [plain] })
    expect(listTried(isOrigin, secure)).toEqual({ isValid: true, tried: [plain, secure] })
    expect(listTried(isOrigin, secure)).toEqual({ isValid: true, tried: [secure] })
    expect(listTried(isOrigin, secure, secure)).toEqual({ isValid: true, tried: [secure] })
  })

  it('T81: is not that of another host, and an invalid proof changes nothing', () => {
    const isOrigin = createOriginCheck(undefined)
    expect(listTried(isOrigin, 'https://other.test')).toEqual({ isValid: false, tried: [secure, plain] })
    expect(listTried(isOrigin, 'https://other.test')).toEqual({ isValid: false, tried: [secure, plain] })
  })

  it('is the public one alone where the provider names it', () => {
    const isOrigin = createOriginCheck('https://public.test/base')
    expect(listTried(isOrigin, plain)).toEqual({ isValid: false, tried: ['https://public.test'] })
    expect(listTried(isOrigin, 'https://public.test').isValid).toBe(true)
  })
})
