import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCardUri } from '../domain/care-record.ts'
import {
  CARE_SCOPES,
  isOfHousehold,
  isWithin,
  isWriter,
  mayRead,
  mayWrite,
  reachOf,
} from '../domain/scopes.ts'
import { frameNames, frameUris, mayReceive } from './replay-buffer.ts'

const USER = ['care.read.user']
const BOTH = ['care.read.user', 'care.read.assistant']

const chain = (patient: string, audience: 'user' | 'assistant' = 'user') => ({ patient, audience })

describe('scopes', () => {
  it('care.read.user reads care:// URIs; care.read.assistant reads care-internal:// URIs', () => {
    expect(reachOf(USER)).toEqual([{ audience: 'user' }])
    expect(reachOf(['care.read.assistant'])).toEqual([{ audience: 'assistant' }])
    expect(reachOf(BOTH)).toEqual([{ audience: 'user' }, { audience: 'assistant' }])
    expect(reachOf(['care.write', 'care.read', 'CARE.READ.USER'])).toEqual([])
    const ann = { audience: 'user', patient: 'ann' } as const
    expect(mayRead(['care.read.user.extra'], ann)).toBe(false)
  })

  it('C24: one that names a patient, percent-encoded, covers that patient alone', () => {
    const scopes = ['care.read.user:heron', 'care.read.assistant:Bo%20%C3%96.', 'care.write:heron']
    expect(reachOf(scopes)).toEqual([chain('heron'), chain('Bo Ö.', 'assistant')])
    expect(mayRead(scopes, chain('heron'))).toBe(true)
    for (const slot of [
      chain('heron2'),
      chain('wren'),
      chain('heron', 'assistant'),
      chain('Bo Ö.'),
      chain(''),
    ])
      expect(mayRead(scopes, slot)).toBe(false)
    expect([mayWrite(scopes, 'heron'), mayWrite(scopes, 'wren'), isWriter(scopes)]).toEqual([
      true,
      false,
      true,
    ])
    expect([isOfHousehold(scopes), isOfHousehold(USER), isOfHousehold(['openid'])]).toEqual([
      true,
      false,
      false,
    ])
    // A scope that covers all does so beside one that names somebody.
    expect(reachOf([...scopes, ...USER])).toContainEqual({ audience: 'user' })
    expect(isOfHousehold([...scopes, ...USER])).toBe(false)
  })

  it.each(['', '%', '%FF', 'a%2Fb', 'a|b', '%00'])(
    'C24: one that names nobody covers nobody: %j',
    (named) => {
      const scopes = [`care.read.user:${named}`, `care.write:${named}`]
      expect([reachOf(scopes), isWriter(scopes), isOfHousehold(scopes)]).toEqual([[], false, false])
    },
  )

  it('the reach of scopes is exactly what they may read, whatever names and scopes there are', () => {
    const patient = fc.constantFrom('heron', 'wren', 'Bo Ö.', 'a:b', '%41')
    const audience = fc.constantFrom('user' as const, 'assistant' as const)
    const scope = fc
      .tuple(fc.constantFrom(...CARE_SCOPES), fc.option(patient))
      .map(([name, of]) => (of === null ? name : `${name}:${encodeURIComponent(of)}`))
    fc.assert(
      fc.property(fc.array(scope, { maxLength: 5 }), patient, audience, (scopes, named, one) => {
        const slot = chain(named, one)
        expect(isWithin(slot, reachOf(scopes))).toBe(mayRead(scopes, slot))
      }),
    )
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
    expect(mayReceive(USER, frameNames({ message }))).toBe(false)
  })

  it('C24: and one naming another patient than its reader’s scopes', () => {
    const heron = ['care.read.user:heron']
    const message = { params: { uri: 'care://heron/tea' } }
    expect(mayReceive(heron, frameNames({ message }))).toBe(true)
    expect(mayReceive(heron, frameNames({ message: { params: { uri: 'care://wren/tea' } } }))).toBe(
      false,
    )
    expect(mayReceive(heron, frameNames({ message, about: 'care://wren/tea' }))).toBe(false)
  })

  it('and by what it is about, if it names none (C4)', () => {
    const message = { method: 'notifications/resources/list_changed' }
    expect(mayReceive(USER, frameNames({ message, about: hidden }))).toBe(false)
    expect(mayReceive(BOTH, frameNames({ message, about: hidden }))).toBe(true)
  })
})

describe('a frame', () => {
  it('naming no URI is replayed', () => {
    expect(mayReceive([], frameNames({ message: { method: 'x', params: { data: 'y' } } }))).toBe(
      true,
    )
  })

  it('C3: that names only ui:// is replayed', () => {
    const message = { result: { resources: [{ uri: 'ui://care/echo' }] } }
    expect(mayReceive([], frameNames({ message }))).toBe(true)
  })

  it('of any shape is judged without a throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (message) => {
        expect(typeof mayReceive(USER, frameNames({ message }))).toBe('boolean')
      }),
    )
  })
})
