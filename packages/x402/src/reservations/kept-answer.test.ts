import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keptAnswer, readKeptAnswer } from './kept-answer.ts'

const JSON_FORM = { answersJson: true } as const
const settlement = { success: true, transaction: '0x1', network: 'eip155:196' }
/** Answers that try to look like the end of a kept one. */
const misleading = [
  { settlement: { settlement } },
  [',"settlement":{}}', '\\",\\"settlement\\":{}}'],
  { answer: 1, settlement },
]

describe('an answer that is JSON text', () => {
  test('is kept as the value that it says', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (answer) => {
        const asText = { answer: JSON.stringify(answer), settlement }
        expect(keptAnswer(asText, JSON_FORM)).toBe(keptAnswer({ answer, settlement }, {}))
      }),
    )
  })

  test('is read again as it was, and so is its settlement, whatever is in them', () => {
    const any = fc.oneof(fc.jsonValue(), fc.constantFrom(...misleading))
    fc.assert(
      fc.property(any, any, (answer, added) => {
        const extensions = { added, settlement: { settlement: added } }
        const paid = {
          answer: JSON.stringify(answer),
          settlement: JSON.parse(JSON.stringify({ ...settlement, extensions })),
        }
        expect(readKeptAnswer(keptAnswer(paid, JSON_FORM), JSON_FORM)).toEqual(paid)
      }),
    )
  })

  test('a text that holds no settlement is no kept answer', () => {
    expect(() => readKeptAnswer('{"answer":1}', JSON_FORM)).toThrow('no settlement')
  })
})

test('any other answer is read as a value', () => {
  const paid = { answer: { granted: 'a' }, settlement }
  expect(readKeptAnswer(keptAnswer(paid, {}), {})).toEqual(paid)
})
