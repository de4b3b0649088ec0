import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeText } from '../wire/text-of-others.ts'
import { retractionSentence } from './retraction.ts'

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
    const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((one) => one.trim() !== '')
    fc.assert(
      fc.property(text, text, text, (previousValue, value, authorLabel) => {
        fc.pre(previousValue !== value)
        const sentence = decodeText(retractionSentence({ previousValue, value, authorLabel }) ?? '')
        for (const part of [previousValue.trim(), value.trim(), authorLabel])
          expect(sentence).toContain(part)
      }),
    )
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
