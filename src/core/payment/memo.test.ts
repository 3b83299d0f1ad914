import { describe, expect, it } from 'vitest'
import { isMemoOf, shortMemo } from './memo.ts'

const requestId = `head_of_the_request_id__________${'0123456789abcdefghijklmnopqrstuv'}`

describe('the memo of a requestId', () => {
  it('is the requestId or its last 32 characters', () => {
    expect(shortMemo(requestId)).toBe('0123456789abcdefghijklmnopqrstuv')
    expect(isMemoOf(requestId, requestId)).toBe(true)
    expect(isMemoOf(requestId, shortMemo(requestId))).toBe(true)
  })

  it.each([
    ['empty', ''],
    ['shorter than the short form', requestId.slice(-31)],
    ['longer than the short form', requestId.slice(-33)],
    ['the head', requestId.slice(0, 32)],
    ['followed by a space', `${shortMemo(requestId)} `],
    ['in other letters', shortMemo(requestId).toUpperCase()],
  ])('is not text that is %s', (_, memo) => {
    expect(isMemoOf(requestId, memo)).toBe(false)
  })

  it('is the whole requestId if that has at most 32 characters', () => {
    expect(shortMemo('rid_1')).toBe('rid_1')
    expect(isMemoOf('rid_1', 'rid_')).toBe(false)
    expect(isMemoOf('rid_1', '')).toBe(false)
  })
})
