import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeText } from '../wire/text-of-others.ts'
import { retractionSentence, supersededSentence } from './retraction.ts'

describe('C10: the retraction', () => {
  it('names the previous value, the new value and the author label', () => {
    expect(
      retractionSentence({
        previousValue: 'Take one tablet.',
        value: 'Take two tablets',
        authorLabel: 'Dr Osei',
      }),
    ).toBe(
      'Correction from Dr Osei. Please disregard “Take one tablet.” It is now “Take two tablets”.',
    )
  })

  it('names all three, whatever they are', () => {
    const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((each) => each.trim() !== '')
    fc.assert(
      fc.property(text, text, text, (previousValue, value, authorLabel) => {
        fc.pre(previousValue !== value)
        const sentence = decodeText(retractionSentence({ previousValue, value, authorLabel }) ?? '')
        for (const part of [previousValue.trim(), value.trim(), authorLabel])
          expect(sentence).toContain(part)
      }),
    )
  })

  it.each([
    [
      { previousValue: 'Tea.', status: 'entered-in-error' },
      'Please disregard “Tea.” This record was withdrawn. It was entered in error.',
    ],
    [
      { previousValue: 'Tea', withdrawn: ['Milk'], corrections: 2, status: 'wrong-person' },
      'Please disregard “Tea”. Also disregard “Milk”. It was corrected 2 times. This record was withdrawn. It was recorded for the wrong person.',
    ],
    [{ previousValue: '', value: 'Milk.' }, 'It had been withdrawn. It is now “Milk.”'],
    [
      { previousValue: 'Tea.', withdrawn: [''], corrections: 2, value: 'Milk.' },
      'Please disregard “Tea.” It had been withdrawn. It was corrected 2 times. It is now “Milk.”',
    ],
    [
      { previousValue: 'Tea.', withdrawn: [''], corrections: 2, value: 'Tea.' },
      'It had been withdrawn. It was corrected 2 times. It is now “Tea.”',
    ],
  ] as const)('C40: of %o it says what was withdrawn', (correction, said) => {
    const sentence = retractionSentence({ value: '', authorLabel: 'Dr Osei', ...correction })
    expect(sentence).toBe(`Correction from Dr Osei. ${said}`)
  })

  it('exists only if the value differs', () => {
    expect(
      retractionSentence({ previousValue: 'Tea.', value: 'Tea.', authorLabel: 'Dr Osei' }),
    ).toBeUndefined()
    expect(
      retractionSentence({ previousValue: 'Tea.', value: 'Tea. ', authorLabel: 'Dr Osei' }),
    ).toBeDefined()
  })
})

const said = (language: string | undefined, corrections = 1) =>
  retractionSentence({
    previousValue: 'A.',
    value: 'B',
    withdrawn: ['C.'],
    corrections,
    authorLabel: 'Dr Osei',
    language,
  })

describe('C37: the retraction in the language of its record', () => {
  it.each([
    [
      'de',
      'Korrektur von Dr Osei. Bitte beachten Sie nicht mehr: „A.“ Auch das gilt nicht mehr: „C.“ Jetzt gilt: „B“.',
    ],
    [
      'fr-CH',
      'Correction de la part de Dr Osei. Veuillez ne plus tenir compte de «\u00a0A.\u00a0» Ne tenez plus compte non plus de «\u00a0C.\u00a0» C’est maintenant «\u00a0B\u00a0».',
    ],
    [
      'pl',
      'Korekta od: Dr Osei. Proszę nie brać już pod uwagę: „A.” Proszę nie brać pod uwagę także: „C.” Teraz obowiązuje: „B”.',
    ],
  ])('%s', (language, sentence) => {
    expect(said(language)).toBe(sentence)
  })

  it('in Arabic, what stands in a place has a direction of its own', () => {
    expect(said('ar')).toContain('«\u2068B\u2069»')
    expect(said('ar')).toContain('\u2068Dr Osei\u2069')
  })

  it.each([
    ['pl', 2, '2 razy'],
    ['pl', 5, '5 razy'],
    ['ar', 2, 'مرتين'],
    ['ar', 3, '3 مرات'],
    ['ar', 11, '11 مرة'],
    ['en', 2, 'It was corrected 2 times.'],
    ['xx', 2, 'It was corrected 2 times.'],
  ])('a number has the form of its language: %s %d', (language, corrections, words) => {
    expect(said(language, corrections)).toContain(words)
  })

  it('C34: of a replaced version too, with the age by the clinic’s calendar', () => {
    const record = {
      patient: 'ann',
      domain: 'tea',
      audience: 'user' as const,
      value: 'Zwei.',
      authorId: 'o',
      authorLabel: 'Dr Osei',
      language: 'de',
      version: 2,
      versionHash: '',
      prevHash: '',
      writtenAt: '2026-11-20T22:37:00Z',
      staleAfter: '2026-11-20T23:00:00Z',
    }
    const at = { nowMs: Date.parse('2026-11-21T21:37:00Z'), timeZone: 'Europe/Berlin' }
    expect(supersededSentence({ version: 1, value: 'Eins.' }, { version: 2, record }, at)).toBe(
      'Version 1 wurde durch Version 2 ersetzt. Jetzt gilt: „Zwei.“ Bitte beachten: Das wurde zuletzt gestern geändert, von Dr Osei. Was folgt, gilt nicht mehr.',
    )
  })
})
