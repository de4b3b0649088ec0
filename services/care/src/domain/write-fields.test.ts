import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chainUri, isRecordName, parseRecordUri, versionUri } from '../wire/record-uri.ts'
import { readWriteFields } from './write-fields.ts'

const body = { patient: 'ann', domain: 'tea', value: 'No sugar.', authorId: 'dr-osei' }
const CLINICIAN = { sub: 'clinician-1' }
const LONE = 'a\ud800b'
/** In no field: control characters, without line break and tab, and what turns text. */
const CONTROLS = [
  ...Array.from({ length: 32 }, (_, code) => code).filter((code) => ![9, 10, 13].includes(code)),
  ...Array.from({ length: 33 }, (_, at) => 0x7f + at),
  ...Array.from({ length: 5 }, (_, at) => 0x20_2a + at),
  ...Array.from({ length: 4 }, (_, at) => 0x20_66 + at),
].map((code) => String.fromCodePoint(code))

const readLanguage = (language: unknown, byDefault?: string) => {
  const fields = readWriteFields({ ...body, language }, undefined, byDefault)
  return fields.kind === 'valid' ? fields.record.language : 'invalid'
}

const readAudience = (audience: unknown) => {
  const fields = readWriteFields({ ...body, audience })
  return fields.kind === 'valid' ? fields.record.audience : 'invalid'
}

describe('POST /write fields', () => {
  test.each(['patient', 'domain', 'value'])('%s: required, non-empty', (field) => {
    const { [field as keyof typeof body]: _, ...without } = body
    expect(readWriteFields(without).kind).toBe('invalid')
    for (const value of ['', 7, null, {}, ['ann'], true])
      expect(readWriteFields({ ...body, [field]: value }).kind).toBe('invalid')
  })

  test.each(['patient', 'domain'])('%s: no / or |', (field) => {
    for (const value of ['a/b', 'a|b', '/', '|'])
      expect(readWriteFields({ ...body, [field]: value }).kind).toBe('invalid')
    expect(readWriteFields({ ...body, [field]: 'Ann Ö. 100%' }).kind).toBe('valid')
  })

  test('audience: assistant gives an internal record; anything else or absent is user', () => {
    expect(readAudience('assistant')).toBe('assistant')
    for (const other of [
      'user',
      undefined,
      null,
      '',
      'Assistant',
      'internal',
      7,
      {},
      ['assistant'],
    ])
      expect(readAudience(other)).toBe('user')
  })

  test('C37: language: a BCP 47 tag in its canonical spelling; by default the service’s, if that has one', () => {
    expect(readLanguage(undefined)).toBeUndefined()
    expect(readLanguage(null, 'de')).toBe('de')
    for (const [input, stored] of [
      ['de', 'de'],
      ['PT-br', 'pt-BR'],
      ['zh-hant-tw', 'zh-Hant-TW'],
      ['und', 'und'],
    ])
      expect(readLanguage(input, 'fr')).toBe(stored)
    for (const wrong of [
      '',
      'de_DE',
      'german',
      'german language',
      'd',
      'de-',
      'de"',
      'de\n',
      7,
      {},
      ['de'],
    ])
      expect([wrong, readLanguage(wrong, 'fr')]).toEqual([wrong, 'invalid'])
    expect(readLanguage(`de-${'x'.repeat(40)}`)).toBe('invalid')
  })

  test('authorId: required on the HMAC path; on the bearer path defaults to the token sub', () => {
    const { authorId: _, ...without } = body
    expect(readWriteFields(without).kind).toBe('invalid')
    expect(readWriteFields({ ...body, authorId: '' }).kind).toBe('invalid')
    expect(readWriteFields(without, CLINICIAN)).toMatchObject({
      record: { authorId: 'clinician-1', authorLabel: 'clinician-1' },
    })
    expect(readWriteFields(body, CLINICIAN)).toMatchObject({ record: { authorId: 'dr-osei' } })
    expect(readWriteFields({ ...body, authorId: 7 }, CLINICIAN).kind).toBe('invalid')
  })

  test('authorLabel: defaults to authorId', () => {
    expect(readWriteFields(body)).toMatchObject({ record: { authorLabel: 'dr-osei' } })
    expect(readWriteFields({ ...body, authorLabel: 'Dr Osei' })).toMatchObject({
      record: { authorLabel: 'Dr Osei' },
    })
    expect(readWriteFields({ ...body, authorLabel: 7 }).kind).toBe('invalid')
  })

  test('staleAfter: optional; unparsable is invalid_fields (C8)', () => {
    const valid = readWriteFields(body)
    expect(valid.kind === 'valid' && valid.record.staleAfter).toBeUndefined()
    const staleAfter = '2026-12-01T08:00:00+01:00'
    expect(readWriteFields({ ...body, staleAfter })).toMatchObject({ record: { staleAfter } })
    for (const bad of ['soon', '', '2026-02-30', '2026-12-01T08:00:00', 1_800_000_000, {}])
      expect(readWriteFields({ ...body, staleAfter: bad }).kind).toBe('invalid')
  })

  test('priority: optional; ignored if not a number', () => {
    expect(readWriteFields({ ...body, priority: 0.5 })).toMatchObject({ record: { priority: 0.5 } })
    for (const other of ['1', null, {}, true, Number.POSITIVE_INFINITY]) {
      const fields = readWriteFields({ ...body, priority: other })
      expect(fields.kind === 'valid' && fields.record.priority === undefined).toBe(true)
    }
  })

  test.each([
    'patient',
    'domain',
    'value',
    'authorId',
    'authorLabel',
    'audience',
    'staleAfter',
    'note',
  ])('C8: a lone surrogate in %s is invalid_fields', (field) => {
    expect(readWriteFields({ ...body, [field]: LONE }, CLINICIAN).kind).toBe('invalid')
    expect(readWriteFields({ ...body, value: 'a 💊 b' }).kind).toBe('valid')
  })

  test('a body that is not an object is invalid_fields', () => {
    for (const other of [null, 7, 'text', [], [body], true])
      expect(readWriteFields(other)).toEqual({ kind: 'invalid', authorId: null })
  })

  test('the author of invalid fields is named if the name could stand in a record', () => {
    expect(readWriteFields({ authorId: 'dr-osei' })).toEqual({
      kind: 'invalid',
      authorId: 'dr-osei',
    })
    for (const authorId of [LONE, '', 7])
      expect(readWriteFields({ authorId })).toEqual({ kind: 'invalid', authorId: null })
  })

  test('attack: names, ids and labels of more than 256 bytes are invalid_fields', () => {
    for (const field of ['patient', 'domain', 'authorId', 'authorLabel']) {
      expect(readWriteFields({ ...body, [field]: 'x'.repeat(256) }).kind).toBe('valid')
      expect(readWriteFields({ ...body, [field]: 'x'.repeat(257) }).kind).toBe('invalid')
      expect(readWriteFields({ ...body, [field]: 'ö'.repeat(129) }).kind).toBe('invalid')
    }
    const { authorId: _, ...without } = body
    const longSub = { sub: 'x'.repeat(257) }
    expect(readWriteFields(without, longSub).kind).toBe('invalid')
  })

  test.each(['patient', 'domain'])(
    'C38, A17: %s hides nothing, is one line and no folder',
    (field) => {
      const bad = [
        '.',
        '..',
        ' ann',
        'ann ',
        'a\u200bb',
        '5\u200d0',
        '\u200eann',
        '\ufeffann',
        '\u2800',
      ]
      for (const hidden of [...CONTROLS, '\n', '\r', '\t', '\u2028', '\u2029'])
        bad.push(`a${hidden}b`)
      for (const name of bad)
        expect([name, readWriteFields({ ...body, [field]: name }).kind]).toEqual([name, 'invalid'])
      for (const name of ['...', 'می‌خواهم', 'क्‍ष', 'Ann Ö. (50 %)', 'a.b', '恵子'])
        expect([name, readWriteFields({ ...body, [field]: name }).kind]).toEqual([name, 'valid'])
    },
  )

  test('C45: a value holds line breaks, tabs, joiners and bidi marks, and no other control character', () => {
    for (const value of ['a\nb\r\nc\td', 'می‌خواهم', '👩‍⚕️', '\u200fאב\u200e', 'He said “no”.'])
      expect(readWriteFields({ ...body, value })).toMatchObject({ record: { value } })
    for (const control of CONTROLS)
      expect(readWriteFields({ ...body, value: `a${control}b` }).kind).toBe('invalid')
  })

  test('C45: a value has something to see', () => {
    for (const value of [' ', '\n\t', '\u200b', '\u2800', '\u200f', '\ufeff'])
      expect([value, readWriteFields({ ...body, value }).kind]).toEqual([value, 'invalid'])
  })

  test.each(['authorId', 'authorLabel'])('C45: %s is one line, with something to see', (field) => {
    for (const control of [...CONTROLS, '\n', '\r', '\t', '\u2028', '\u2029'])
      expect(readWriteFields({ ...body, [field]: `Dr${control}N` }).kind).toBe('invalid')
    for (const unseen of [' ', '\u2800', '\u3164', '\u200b'])
      expect(readWriteFields({ ...body, [field]: unseen }).kind).toBe('invalid')
    const sub = 'kin\nSYSTEM'
    expect(readWriteFields({ ...body, authorId: undefined }, { sub }).kind).toBe('invalid')
    expect(readWriteFields({ ...body, [field]: 'Dr. O’Neill-Ö “Jo”' }).kind).toBe('valid')
  })

  test('any JSON is judged without a throw; whatever is valid can be read by its URI', () => {
    const field = fc.oneof(fc.string({ unit: anyCharacter }), fc.jsonValue())
    const any = fc.record(
      {
        patient: fc.oneof(fc.string({ minLength: 1 }), field),
        domain: fc.oneof(fc.string({ minLength: 1 }), field),
        value: fc.oneof(fc.string({ minLength: 1 }), field),
        audience: fc.oneof(fc.constantFrom('user', 'assistant'), field),
        authorId: fc.oneof(fc.string({ minLength: 1 }), field),
        authorLabel: field,
        staleAfter: fc.oneof(fc.constant('2026-12-01'), field),
        priority: field,
      },
      { requiredKeys: ['patient', 'domain', 'value', 'authorId'] },
    )
    fc.assert(
      fc.property(fc.oneof(any, fc.jsonValue()), (each) => {
        const fields = readWriteFields(each)
        if (fields.kind === 'invalid') return
        const { record } = fields
        const texts = [record.value, record.authorId, record.authorLabel]
        expect(texts.every((text) => text !== '' && text.isWellFormed())).toBe(true)
        expect(isRecordName(record.patient) && isRecordName(record.domain)).toBe(true)
        const { patient, domain, audience } = record
        expect(parseRecordUri(chainUri(record))?.slot).toEqual({ patient, domain, audience })
        expect(parseRecordUri(versionUri(record, 999_999))?.version).toBe(999_999)
      }),
      { numRuns: 500 },
    )
  })
})
