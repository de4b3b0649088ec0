import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { audioUri, chainUri, isRecordName, parseRecordUri, versionUri } from './record-uri.ts'
import { TEXT_BYTES_MAX } from './write-limits.ts'

const name = fc.string({ minLength: 1, unit: anyCharacter }).filter(isRecordName)
const slot = fc.record({
  patient: name,
  domain: name,
  audience: fc.constantFrom('user' as const, 'assistant' as const),
})

describe('C38: URIs', () => {
  it.each([
    'ward:A',
    'ann@home',
    'a,b;c=d',
    'José',
    '李 四',
    'a#b?c',
    '[::1]',
    'a%b',
    "O'Hara",
    'Ann',
  ])('of %j are valid by RFC 3986, for any program, and read back', (text) => {
    const named = { patient: text, domain: text, audience: 'user' } as const
    const uri = versionUri(named, 2)
    // RFC 3986: scheme, authority without a port or a user, path-absolute.
    expect(uri).toMatch(
      /^care:\/\/(?:[\w.~!$&'()*+,;=-]|%[\dA-F]{2})+\/(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2})+\/2$/,
    )
    expect(new URL(uri).href).toBe(uri)
    expect(parseRecordUri(uri)?.slot).toEqual(named)
  })

  it.each([
    ['care://ward:A/medication', 'care://ward%3AA/medication'],
    ['care://a@b/c:d', 'care://a%40b/c:d'],
    ['CARE://ann/tea', 'care://ann/tea'],
    ['Care-Internal://ann/plan', 'care-internal://ann/plan'],
    ['care://Jos%C3%A9/caf%c3%a9', 'care://Jos%C3%A9/caf%C3%A9'],
  ])('a host may have kept %s: it still names %s', (stored, canonical) => {
    const named = parseRecordUri(stored)?.slot
    expect(named && chainUri(named)).toBe(canonical)
    expect(parseRecordUri(canonical)?.slot).toEqual(named)
  })
})

describe('C7', () => {
  it('a name holds no U+0000, which no text of PostgreSQL does', () => {
    expect(isRecordName('a\u0000')).toBe(false)
    expect(parseRecordUri('care://ann%00/tea')).toBeUndefined()
  })

  it('URIs take /<n> and /v<n>, and emit /<n>', () => {
    const read = parseRecordUri('care://ann/medication/v3')
    expect(read).toEqual(parseRecordUri('care://ann/medication/3'))
    expect(read).toEqual({
      slot: { patient: 'ann', domain: 'medication', audience: 'user' },
      version: 3,
      isAudio: false,
    })
    expect(versionUri({ patient: 'ann', domain: 'medication', audience: 'user' }, 3)).toBe(
      'care://ann/medication/3',
    )
  })

  it('patient and domain are percent-encoded where needed', () => {
    const odd = { patient: 'Ann Ö.', domain: '50% dose?', audience: 'assistant' } as const
    expect(chainUri(odd)).toBe('care-internal://Ann%20%C3%96./50%25%20dose%3F')
    expect(parseRecordUri(chainUri(odd))?.slot).toEqual(odd)
  })

  it('the longest names that may be written make URIs that are read', () => {
    const longest = '%'.repeat(TEXT_BYTES_MAX)
    const each = { patient: longest, domain: longest, audience: 'user' } as const
    const version = 999_999_999_999_999
    expect(parseRecordUri(audioUri(each, version))).toEqual({ slot: each, version, isAudio: true })
  })

  it('what is emitted is read back, for every name', () => {
    fc.assert(
      fc.property(slot, fc.integer({ min: 1, max: 1e9 }), (each, version) => {
        expect(parseRecordUri(chainUri(each))).toEqual({ slot: each, isAudio: false })
        expect(parseRecordUri(versionUri(each, version))).toEqual({
          slot: each,
          version,
          isAudio: false,
        })
      }),
    )
  })
})

describe('record URIs', () => {
  it('an internal record uses care-internal and is never spoken', () => {
    expect(parseRecordUri('care-internal://ann/plan')?.slot.audience).toBe('assistant')
    expect(parseRecordUri('care-internal://ann/plan/1/audio')).toBeUndefined()
  })

  it('a blob is the audio of one version', () => {
    const user = { patient: 'ann', domain: 'tea', audience: 'user' } as const
    expect(audioUri(user, 2)).toBe('care://ann/tea/2/audio')
    expect(parseRecordUri('care://ann/tea/2/audio')?.isAudio).toBe(true)
    expect(parseRecordUri('care://ann/tea/audio')).toBeUndefined()
  })

  it.each([
    'care://ann',
    'care:///tea',
    'care://ann/',
    'care://ann/tea/',
    'care://ann/tea/0',
    'care://ann/tea/01',
    'care://ann/tea/-1',
    'care://ann/tea/1/2',
    'care://a%2Fb/tea',
    'care://a%7Cb/tea',
    'care://ann/%zz',
    'care://ann/%C3',
    'http://ann/tea',
    'ui://care/echo',
    '',
  ])('%j names no record', (uri) => {
    expect(parseRecordUri(uri)).toBeUndefined()
  })

  it('any text is read or refused without a throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const read = parseRecordUri(`care://${text}`)
        expect(read === undefined || isRecordName(read.slot.patient)).toBe(true)
      }),
    )
  })
})
