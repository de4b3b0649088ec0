import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  CARE_SCOPES,
  isOfHousehold,
  isWithin,
  isWriter,
  mayRead,
  mayWrite,
  readReach,
} from '../../domain/scopes.ts'
import { type ChainSlot, chainUri } from '../../wire/record-uri.ts'
import { Happening } from './frames.ts'

const USER = ['care.read.user']
const BOTH = ['care.read.user', 'care.read.assistant']

const chain = (patient: string, audience: 'user' | 'assistant' = 'user') => ({ patient, audience })

describe('scopes', () => {
  it('care.read.user reads care:// URIs; care.read.assistant reads care-internal:// URIs', () => {
    expect(readReach(USER)).toEqual([{ audience: 'user' }])
    expect(readReach(['care.read.assistant'])).toEqual([{ audience: 'assistant' }])
    expect(readReach(BOTH)).toEqual([{ audience: 'user' }, { audience: 'assistant' }])
    expect(readReach(['care.write', 'care.read', 'CARE.READ.USER'])).toEqual([])
    const ann = { audience: 'user', patient: 'ann' } as const
    expect(mayRead(['care.read.user.extra'], ann)).toBe(false)
  })

  it('C24: one that names a patient, percent-encoded, covers that patient alone', () => {
    const scopes = ['care.read.user:heron', 'care.read.assistant:Bo%20%C3%96.', 'care.write:heron']
    expect(readReach(scopes)).toEqual([chain('heron'), chain('Bo Ö.', 'assistant')])
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
    expect(readReach([...scopes, ...USER])).toContainEqual({ audience: 'user' })
    expect(isOfHousehold([...scopes, ...USER])).toBe(false)
  })

  it.each(['', '%', '%FF', 'a%2Fb', 'a|b', '%00'])(
    'C24: one that names nobody covers nobody: %j',
    (named) => {
      const scopes = [`care.read.user:${named}`, `care.write:${named}`]
      expect([readReach(scopes), isWriter(scopes), isOfHousehold(scopes)]).toEqual([
        [],
        false,
        false,
      ])
    },
  )

  it('the reach of scopes is exactly what they may read, whatever names and scopes there are', () => {
    const patient = fc.constantFrom('heron', 'wren', 'Bo Ö.', 'a:b', '%41')
    const audience = fc.constantFrom('user' as const, 'assistant' as const)
    const scope = fc
      .tuple(fc.constantFrom(...CARE_SCOPES), fc.option(patient))
      .map(([name, options]) =>
        options === null ? name : `${name}:${encodeURIComponent(options)}`,
      )
    fc.assert(
      fc.property(fc.array(scope, { maxLength: 5 }), patient, audience, (scopes, named, each) => {
        const slot = chain(named, each)
        expect(isWithin(slot, readReach(scopes))).toBe(mayRead(scopes, slot))
      }),
    )
  })

  it('are the three of the document', () => {
    expect(CARE_SCOPES).toEqual(['care.read.user', 'care.read.assistant', 'care.write'])
  })
})

const hears = (
  scopes: readonly string[],
  {
    ownScopes = scopes,
    slot = { patient: 'ann', domain: 'tea', audience: 'user' },
    version = 2,
  }: {
    readonly ownScopes?: readonly string[]
    readonly slot?: ChainSlot
    readonly version?: number
  } = {},
): readonly string[] => {
  const at = { user: 4, assistant: 4 }
  const happening = new Happening({
    slot,
    at,
    first: 0,
    version,
    changesList: version === 1,
    serviceName: 'care',
  })
  const session = { scopes, logLevel: undefined, subscriptions: new Map([[chainUri(slot), 8]]) }
  return happening.framesFor({ session, ownScopes }, { ...at, frames: 0 }).map(({ text }) =>
    JSON.parse(text.slice(text.indexOf('{')))
      .method.split('/')
      .at(-1),
  )
}
const PLAN = { patient: 'ann', domain: 'plan', audience: 'assistant' } as const

describe('C4: a frame is for whoever may read its record', () => {
  it('by the scopes of the session, and of the stream’s own token (C48)', () => {
    expect(hears(USER)).toEqual(['updated'])
    expect(hears(USER, { slot: PLAN })).toEqual([])
    expect(hears(BOTH, { slot: PLAN })).toEqual(['updated'])
    expect(hears(BOTH, { slot: PLAN, ownScopes: USER })).toEqual([])
  })

  it('also if it names none', () => {
    expect(hears(BOTH, { slot: PLAN, version: 1 })).toEqual(['updated', 'list_changed'])
    expect(hears(USER, { slot: PLAN, version: 1 })).toEqual([])
  })

  it('C24: and not about another patient than its reader’s scopes', () => {
    const heron = ['care.read.user:heron']
    const slot = { patient: 'heron', domain: 'tea', audience: 'user' } as const
    expect(hears(heron, { slot })).toEqual(['updated'])
    expect(hears(heron, { slot: { ...slot, patient: 'wren' } })).toEqual([])
  })
})
