import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostileText } from '../testing/hostile-text.fixture.ts'
import { readsAs } from './reads-as.ts'
import { decodeText, lineText, quotedValue, valueText } from './text-of-others.ts'
import { ENGLISH, MESSAGES, say, sayCount, TEXTS, textsIn } from './texts.ts'
import { requireTexts, textsFault } from './texts-schema.ts'

const LANGUAGES = ['ar', 'de', 'en', 'es', 'fr', 'it', 'nl', 'pl', 'tr']

describe('C37: what the service says, in each language', () => {
  it('nine languages have every message, with its places and its forms of number', () => {
    expect([...TEXTS.keys()].toSorted()).toEqual(LANGUAGES)
    expect(() => requireTexts(MESSAGES)).not.toThrow()
  })

  it('a message that is missing, loses a place, gains one, or lacks a form is found', () => {
    const messages = MESSAGES['en'] ?? {}
    const { now, ...without } = ENGLISH
    for (const wrong of [
      without,
      { ...messages, now: 'It is now' },
      { ...messages, now: `${now} {author}` },
      { ...messages, more: '' },
      { ...messages, corrected: { other: '{count}' } },
      { ...messages, quotes: ["'", "'"] },
      { ...messages, extra: 'x' },
    ])
      expect(textsFault('en', wrong)).toMatch(/^texts of en: /)
  })

  it('no message but English’s is English’s, and each names who wrote', () => {
    for (const [language, texts] of TEXTS)
      for (const key of [
        'correction',
        'disregard',
        'now',
        'replaced',
        'over',
        'data',
        'withdrawn',
        'withdrawnBy',
        'wasWithdrawn',
        'inError',
        'wrongPerson',
      ] as const)
        expect([language, key, texts[key] === ENGLISH[key]]).toEqual([
          language,
          key,
          language === 'en',
        ])
  })

  it('a tag finds its language; one that nobody translated, and none, has English', () => {
    for (const [tag, language] of [
      ['de-AT', 'de'],
      ['ar-EG', 'ar'],
      ['en', 'en'],
      ['pt-BR', 'en'],
      ['und', 'en'],
      ['constructor', 'en'],
      [undefined, 'en'],
    ] as const)
      expect(textsIn(tag).language).toBe(language)
  })
})

describe.each([...TEXTS])('C45: in %s', (_language, texts) => {
  const author = 'Dr N'
  const forged = [
    say(texts, 'correction', { author }),
    say(texts, 'disregard', { value: quotedValue('5 mg.', texts) }),
    say(texts, 'now', { value: quotedValue('50 mg.', texts) }),
  ].join(' ')
  const ages = ['ageFresh', 'ageStale'].map((key) =>
    say(texts, key as 'ageFresh', { author, days: 0, when: 'x' }),
  )
  const marks = texts.quotes.map((mark) => mark.trim())

  it('no value ends its quotation', () => {
    for (const [, around] of TEXTS) {
      const { quotes } = around
      const tail = `5 mg.${quotes[1]} ${say(around, 'now', { value: `${quotes[0]}50 mg` })}`
      const shown = quotedValue(tail, texts)
      const inside = shown.slice(texts.quotes[0]?.length, -(texts.quotes[1]?.length ?? 0))
      for (const mark of ['“', '”', ...marks.filter((each) => each !== '„')])
        expect([tail, inside.includes(mark)]).toEqual([tail, false])
      expect(inside).not.toMatch(/["«»]/)
      expect(decodeText(inside)).toBe(tail)
    }
  })

  it('whatever a value is, it comes back from its quotation, and its end is not in it', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const shown = quotedValue(text, texts)
        const inside = shown.slice(texts.quotes[0]?.length, -(texts.quotes[1]?.length ?? 0))
        expect(inside).not.toContain(marks[1])
        expect(decodeText(inside)).toBe(text)
      }),
      { numRuns: 300 },
    )
  })

  it('an ordinary quotation inside one stays one for a reader, and comes back', () => {
    for (const value of [
      'Say “good morning”.',
      'Sag „guten Morgen“.',
      'Dites « bonjour ».',
      'قل «صباح الخير».',
    ]) {
      const shown = quotedValue(value, texts)
      const inside = shown.slice(texts.quotes[0]?.length, -(texts.quotes[1]?.length ?? 0))
      expect(inside).not.toContain('\\u{')
      expect(inside).not.toContain(marks[1])
      expect(decodeText(inside)).toBe(value)
    }
  })

  it('no line of a value begins as its sentences do, and no age stands in one', () => {
    const lines = [
      forged,
      say(texts, 'replaced', { old: 1, new: 2 }),
      say(texts, 'spokenStale', { when: 'x', author }),
      say(texts, 'withdrawn'),
      say(texts, 'withdrawnBy', { old: 1, new: 2 }),
      `${say(texts, 'correction', { author })} ${say(texts, 'wasWithdrawn')}`,
      say(texts, 'data'),
    ]
    for (const line of lines) {
      const shown = valueText(line)
      expect([line, shown === line]).toEqual([line, false])
      expect(readsAs(shown).startsWith(readsAs(line).slice(0, 8))).toBe(false)
      expect(decodeText(shown)).toBe(line)
    }
    for (const age of ages)
      for (const shown of [valueText(`x ${age}`), quotedValue(age, texts), lineText(`x ${age}`)])
        expect([age, shown.includes('[')]).toEqual([age, false])
  })

  it('no label goes on as the service does', () => {
    for (const key of ['disregard', 'now', 'over', 'withdrawn', 'wasWithdrawn'] as const) {
      const label = `Dr N. ${say(texts, key, { value: '' })} x`
      expect([label, /[\s.;:]/u.test(lineText(label))]).toEqual([label, false])
      expect(decodeText(lineText(label))).toBe(decodeText(label))
    }
  })

  it('its numbers have forms', () => {
    for (const count of [0, 1, 2, 3, 11, 100]) {
      expect(sayCount(texts, 'revisions', { count })).not.toMatch(/[{}]/)
      expect(sayCount(texts, 'changedOf', { count, patient: 'ann', since: '' })).toContain('ann')
    }
  })
})
