import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { hostileText } from '../testing/hostile-text.fixture.ts'
import { spokenForm } from './spoken-form.ts'

describe('C45, A16: what is heard is what is seen', () => {
  test.each([
    ['Take 5\u200b0 mg.', 'Take 50 mg.'],
    ['Take 5\u00ad0\u200e0 mg.', 'Take 500 mg.'],
    ['Take 5\u31640 mg.', 'Take 5 0 mg.'],
    ['Take ５０ mg.', 'Take 50 mg.'],
    ['Take ٥٠ or ५० or ᱕᱐ or 𝟓𝟎 mg.', 'Take 50 or 50 or 50 or 50 mg.'],
    ['Take ⑤ or ②⓪ mg.', 'Take 5 or 20 mg.'],
    ['Take 1⅛ of it, ½ at night, 10² times.', 'Take 1 1/8 of it, ½ at night, 10² times.'],
    ['One.\r\nTwo.\u2028Three.\tFour.', 'One.\nTwo.\nThree. Four.'],
    ['Don’t stop – it’s “5 mg”, [page 2] <b>.', 'Don’t stop – it’s “5 mg”, [page 2] <b>.'],
  ])('%j is spoken as %j', (text, spoken) => {
    expect(spokenForm(text)).toBe(spoken)
  })

  it('what turns, controls or spells without being seen is not spoken', () => {
    for (const text of [
      '\u202e05\u202c',
      '\u206650\u2069',
      '5\u00010',
      '\u001b[2J',
      '\u{e0035}',
      '𐄉',
    ])
      expect([text, spokenForm(text)]).toEqual([text, undefined])
  })

  it('a digit of any script is the digit of its value', () => {
    const digits = Array.from({ length: 0x1_fc_00 }, (_, code) => code)
      .filter((code) => code < 0xd8_00 || code > 0xdf_ff)
      .map((code) => String.fromCodePoint(code))
      .filter((character) => /\p{Nd}/u.test(character))
    expect(digits.length % 10).toBe(0)
    for (const [at, character] of digits.entries())
      expect([character, spokenForm(character)]).toEqual([character, String(at % 10)])
  })

  it('holds no number that the program skips, and nothing that is not seen', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const said = spokenForm(text) ?? ''
        expect(said.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Default_Ignorable_Code_Point}]/u)
        expect(said.replaceAll(/[0-9½¼¾⅓⅔²³¹⁰⁴-⁹₀-₉]/gu, '')).not.toMatch(/\p{N}/u)
      }),
      { numRuns: 1_000 },
    )
  })
})
