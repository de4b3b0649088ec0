import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CARE_SCOPES, isCardUri, mayRead, readableAudiences } from '../domain/care-record.ts'
import { frameAudiences, frameUris, mayReceive } from './replay-buffer.ts'

const USER = ['care.read.user']
const BOTH = ['care.read.user', 'care.read.assistant']

describe('scopes', () => {
  it('care.read.user reads care:// URIs; care.read.assistant reads care-internal:// URIs', () => {
    expect(readableAudiences(USER)).toEqual(['user'])
    expect(readableAudiences(['care.read.assistant'])).toEqual(['assistant'])
    expect(readableAudiences(BOTH)).toEqual(['user', 'assistant'])
    expect(readableAudiences(['care.write', 'care.read', 'CARE.READ.USER'])).toEqual([])
    expect(mayRead(['care.read.user.extra'], 'user')).toBe(false)
  })

  it('are the three of the document', () => {
    expect(CARE_SCOPES).toEqual(['care.read.user', 'care.read.assistant', 'care.write'])
  })

  it('a card is open to all', () => {
    expect(isCardUri('ui://care/echo')).toBe(true)
    expect(isCardUri('ui://')).toBe(false)
    expect(isCardUri('care://ann/tea')).toBe(false)
  })
})

describe('a frame names URIs', () => {
  it('in params.uri, params.data.uri, result.contents[].uri and result.resources[].uri', () => {
    expect(
      frameUris({
        params: { uri: 'care://a/1', data: { uri: 'care://a/2' } },
        result: { contents: [{ uri: 'care://a/3' }], resources: [{ uri: 'care://a/4' }] },
      }),
    ).toEqual(['care://a/1', 'care://a/2', 'care://a/3', 'care://a/4'])
    expect(frameUris({ method: 'notifications/resources/list_changed' })).toEqual([])
  })
})

describe('a frame naming a URI that the principal lacks the scope for, or that cannot be parsed, is dropped', () => {
  const hidden = 'care-internal://ann/plan'
  it.each([
    { params: { uri: hidden } },
    { params: { data: { uri: hidden } } },
    { result: { contents: [{ uri: 'care://ann/tea' }, { uri: hidden }] } },
    { result: { resources: [{ uri: hidden }] } },
    { params: { uri: 'care://ann' } },
    { params: { uri: 'http://example.com' } },
    { params: { uri: 7 } },
    { params: { uri: null } },
    { result: { contents: [null] } },
    { result: { contents: [{}] } },
  ])('%j', (message) => {
    expect(mayReceive(USER, frameAudiences({ message }))).toBe(false)
  })

  it('and by what it is about, if it names none (C4)', () => {
    const message = { method: 'notifications/resources/list_changed' }
    expect(mayReceive(USER, frameAudiences({ message, about: hidden }))).toBe(false)
    expect(mayReceive(BOTH, frameAudiences({ message, about: hidden }))).toBe(true)
  })
})

describe('a frame', () => {
  it('naming no URI is replayed', () => {
    expect(
      mayReceive([], frameAudiences({ message: { method: 'x', params: { data: 'y' } } })),
    ).toBe(true)
  })

  it('C3: that names only ui:// is replayed', () => {
    const message = { result: { resources: [{ uri: 'ui://care/echo' }] } }
    expect(mayReceive([], frameAudiences({ message }))).toBe(true)
  })

  it('of any shape is judged without a throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (message) => {
        expect(typeof mayReceive(USER, frameAudiences({ message }))).toBe('boolean')
      }),
    )
  })
})
