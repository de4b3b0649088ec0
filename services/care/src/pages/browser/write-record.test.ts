import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import golden from '../../../vectors/write-signature.json' with { type: 'json' }
import { readWriteFields } from '../../domain/write-fields.ts'
import { WRITE_BODY_BYTES_MAX } from '../../wire/write-limits.ts'
import { useEnglishHead } from '../page-head.fixture.ts'
import { alikeQuestion, canSign, checkFields, signWrite } from './write-record.ts'

useEnglishHead('clinician')

const NOW_MS = Date.UTC(2026, 10, 21, 12)
const typed = {
  patient: 'rosa-12',
  domain: 'medication',
  value: 'Take one tablet after breakfast.',
  audience: 'user',
  authorId: 'dr-okafor',
  authorLabel: 'Dr Okafor',
  staleAfter: '',
  priority: '',
  language: '',
}
const check = (changes: Partial<typeof typed>) => checkFields({ ...typed, ...changes }, NOW_MS)

describe('C38: "Ann or ann?"', () => {
  const known = [
    { patient: 'ann', domain: 'tea' },
    { patient: 'José', domain: 'medication' },
  ]
  const ask = (patient: string, domain: string) => alikeQuestion({ patient, domain }, known)

  it('is asked of a name that no record has, beside one that looks the same', () => {
    expect(ask('Ann', 'tea')).toMatchObject({
      field: 'patient',
      text: expect.stringMatching(/^“Ann” or “ann”\? .*Publish again if “Ann” is meant/) as string,
    })
    expect(ask('ann', 'Tea')).toMatchObject({ field: 'domain' })
  })

  it('is not asked of a name that is known, in whichever form it is typed, nor of an unlike one', () => {
    for (const [patient, domain] of [
      ['ann', 'tea'],
      ['Jose\u0301', 'medication'],
      ['bo', 'tea'],
      ['bo', 'Medication'],
    ] as const)
      expect([patient, ask(patient, domain)]).toEqual([patient, undefined])
  })
})

describe('ready', () => {
  it('gives the body to sign, without empty fields', () => {
    const outcome = check({ authorLabel: '' })
    expect(outcome.kind === 'ready' && JSON.parse(outcome.body)).toEqual({
      patient: 'rosa-12',
      domain: 'medication',
      value: 'Take one tablet after breakfast.',
      audience: 'user',
      authorId: 'dr-okafor',
    })
  })

  it('C37: a language is sent if one is chosen', () => {
    const readBody = (outcome: ReturnType<typeof check>): unknown =>
      outcome.kind === 'ready' && JSON.parse(outcome.body)
    expect(readBody(check({ language: 'de' }))).toMatchObject({ language: 'de' })
    expect(readBody(check({}))).not.toHaveProperty('language')
    expect(readBody(check({}))).toHaveProperty('value')
  })

  it('a review date is sent with its zone, a priority as a number', () => {
    const outcome = check({ staleAfter: '2027-01-31T09:30', priority: '0.5' })
    const body = outcome.kind === 'ready' ? JSON.parse(outcome.body) : {}
    expect(body).toMatchObject({ priority: 0.5 })
    expect(body.staleAfter).toBe(new Date('2027-01-31T09:30').toISOString())
  })

  it('a sentence is taken unchanged: line ends, spaces, any script', () => {
    const value = '  Un comprimé.\nقرص واحد بعد الفطور 💊 '
    const outcome = check({ value })
    expect(outcome.kind === 'ready' && JSON.parse(outcome.body).value).toBe(value)
  })
})

describe('refused, each with its own sentence', () => {
  it.each([
    [{ patient: '' }, { patient: 'Say whose record this is.' }],
    [{ patient: ' ' }, { patient: 'Say whose record this is.' }],
    [{ patient: 'a/b' }, { patient: 'This cannot hold “/” or “|”.' }],
    [{ domain: 'a|b' }, { domain: 'This cannot hold “/” or “|”.' }],
    [{ domain: '' }, { domain: 'Say what the record is about, for example medication.' }],
    [
      { patient: 'rosa-12 ' },
      { patient: 'This begins or ends with a space, which would make another record.' },
    ],
    [{ value: ' \n' }, { value: 'Write the sentence that is to be said.' }],
    [
      { value: 'half \ud83d' },
      { value: 'This holds half a character (a lone surrogate), which cannot be stored.' },
    ],
    [
      { authorLabel: '\udc00' },
      { authorLabel: 'This holds half a character (a lone surrogate), which cannot be stored.' },
    ],
    [{ authorId: '' }, { authorId: 'Give your id.' }],
    [
      { authorId: '\u{e0000}', authorLabel: '\u200b' },
      {
        authorId: 'This is not one line of visible characters. Type it anew.',
        authorLabel: 'This is not one line of visible characters. Type it anew.',
      },
    ],
    [{ audience: '' }, { audience: 'Choose who may hear it.' }],
    [
      { staleAfter: '2026-01-01T00:00' },
      { staleAfter: 'This is in the past: the record would be stale at once.' },
    ],
    [{ staleAfter: 'half typed' }, { staleAfter: 'This is not a date and time.' }],
    [{ staleAfter: '+012026-01-01T00:00' }, { staleAfter: 'This is not a date and time.' }],
    [{ priority: '2' }, { priority: 'Give a number from 0 (least) to 1 (most), or nothing.' }],
    [{ priority: 'high' }, { priority: 'Give a number from 0 (least) to 1 (most), or nothing.' }],
    [{ priority: ' ' }, { priority: 'Give a number from 0 (least) to 1 (most), or nothing.' }],
    [
      { patient: 'é'.repeat(400), domain: 'é'.repeat(400) },
      {
        patient: 'This is too long: 256 bytes are the most, about as many letters.',
        domain: 'This is too long: 256 bytes are the most, about as many letters.',
      },
    ],
  ])('%j', (changes, problems) => {
    expect(check(changes)).toEqual({ kind: 'refused', problems })
  })

  it('reports every problem at once', () => {
    const outcome = check({ patient: '', value: '', priority: '9' })
    expect(outcome.kind === 'refused' && Object.keys(outcome.problems)).toEqual([
      'patient',
      'value',
      'priority',
    ])
  })

  it('a body over 256 KiB: by how many bytes', () => {
    const ready = check({})
    const other = (ready.kind === 'ready' ? ready.body.length : 0) - typed.value.length
    const room = WRITE_BODY_BYTES_MAX - other
    expect(check({ value: 'x'.repeat(room) }).kind).toBe('ready')
    expect(check({ value: 'x'.repeat(room + 3) })).toEqual({
      kind: 'refused',
      problems: { value: 'This is too long by 3 bytes: a write may have 262144.' },
    })
  })
})

it('the service accepts any typed text that the form lets through', () => {
  const text = fc.string({ unit: anyCharacter })
  const typedTexts = fc.record({
    patient: text,
    domain: text,
    value: text,
    audience: fc.constantFrom('user', 'assistant'),
    authorId: text,
    authorLabel: text,
    staleAfter: fc.constantFrom('', '2027-02-28T23:59', '9999-12-31T00:00', 'nonsense'),
    priority: fc.constantFrom('', '0', '1', '0.25', '1e999', 'x'),
    language: fc.constantFrom('', 'de', 'ar'),
  })
  fc.assert(
    fc.property(typedTexts, (fields) => {
      const outcome = checkFields(fields, NOW_MS)
      if (outcome.kind === 'refused') return
      const taken = readWriteFields(JSON.parse(outcome.body))
      expect(taken.kind === 'valid' && taken.record).toMatchObject({
        patient: fields.patient.normalize('NFC'),
        domain: fields.domain.normalize('NFC'),
        value: fields.value,
        audience: fields.audience,
        authorId: fields.authorId,
      })
    }),
    { numRuns: 500 },
  )
})

describe('S3: signing', () => {
  it.each(golden.vectors)(
    'signs <timestamp>.<raw body> as openssl does: $timestamp',
    async ({ secret, timestamp, body, signature }) => {
      expect(await signWrite({ secret, timestamp, body })).toBe(signature)
    },
  )

  it('another body, timestamp or secret gives another signature', async () => {
    const write = { secret: 'a', timestamp: '2026-11-21T12:00:00.000Z', body: '{}' }
    const signatures = await Promise.all(
      [
        write,
        { ...write, secret: 'b' },
        { ...write, body: '{ }' },
        { ...write, timestamp: '2026' },
      ].map(signWrite),
    )
    expect(new Set(signatures).size).toBe(4)
  })

  it('knows that it can sign if WebCrypto is available', () => {
    expect(canSign()).toBe(true)
  })
})
