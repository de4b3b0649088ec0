import { describe, expect, it } from 'vitest'
import { areAlike, isWritableName } from './record-uri.ts'

describe('C38: a name', () => {
  it.each([
    ['outer blanks', [' ann', 'ann ', '\u3000ann', 'ann\u2800']],
    ['other spaces', ['Ann\u00A0Lee', 'Ann\u2009Lee', 'Ann\u3000Lee', 'Ann\u202FLee', 'a\u2800b']],
    ['control characters', ['a\u0000b', 'a\nb', 'a\u001Bb', 'a\u0085b', 'a\u2028b']],
    [
      'what is not seen',
      ['ann\u200B', 'a\u00ADnn', '\uFEFFann', 'a\u2060b', 'a\u{E0041}b', 'a\u115Fb'],
    ],
    ['what turns text', ['\u202Eann', 'ann\u200E', 'a\u2066b', 'a\u061Cb']],
    ['full and half widths', ['Ａｎｎ', 'ward１', 'ｱﾝ', 'a／b', 'a！']],
    ['folders', ['.', '..']],
    ['another form than NFC', ['Jose\u0301', 'A\u030Angstro\u0308m', '\u212B']],
    [
      'joiners that no script needs',
      ['a\u200Db', 'a\u200Cb', '5\u200D0', '\u200Dann', '👨\u200D👩'],
    ],
    ['ZWNJ behind a letter that joins nothing', ['د\u200Cم', 'ا\u200Cب']],
    ['ZWNJ at an end', ['می\u200C', '\u200Cمی']],
    ['ZWJ without a virama', ['م\u200Dی', 'क\u200Dष']],
  ])('never holds %s', (_, names) => {
    for (const name of names) expect([name, isWritableName(name)]).toEqual([name, false])
  })

  it('keeps what its script needs, RFC 5892 appendix A.1 and A.2', () => {
    for (const name of [
      'می\u200Cخواهم',
      'مَ\u200Cی', // a mark between
      'क\u094D\u200Dष', // virama, ZWJ
      'क\u094D\u200Cष', // virama, ZWNJ
      'ශ\u0DCA\u200Dරී',
    ])
      expect([name, isWritableName(name)]).toEqual([name, true])
  })

  it('is any plain text of any script', () => {
    for (const name of [
      'José',
      'Ann Ö. (50 %)',
      '...',
      'ward:A',
      'ยา',
      '恵子',
      'دواء',
      'नमस्ते',
      'a.b',
      '👍',
    ])
      expect([name, isWritableName(name)]).toEqual([name, true])
  })

  it('is nothing that stands for nothing, nor a mark without a letter', () => {
    for (const name of [
      '\u0301ann',
      'an\uFFFCn',
      'an\uFFFDn',
      'an\uFFFFn',
      'an\u0378n',
      'an\uE000n',
    ])
      expect([name, isWritableName(name)]).toEqual([name, false])
  })

  it.each([
    ['Ann', 'ann'],
    ['ann', 'аnn'], // Cyrillic а
    ['José', 'Jose'],
    ['WARD-1', 'WARD-l'],
    ['Room O', 'Room 0'],
    ['bernard', 'bemard'],
    ['Straße', 'STRASSE'],
    ["O'Brien", 'O’Brien'],
    ['Anne-Marie', 'Anne‑Marie'],
    ['Müller', 'Mueller'],
    ['Müller', 'Muller'],
    ['Muller', 'Mueller'],
    ['Großmüller', 'Grossmueller'],
    ['Åse', 'Ase'],
    ['Aase', 'Ase'],
    ['Kœnig', 'Konig'],
    ['שָׁרָה', 'שרה'],
    ['יִצְחָק', 'יצחק'],
    ['फ़रीद', 'फरीद'],
    ['ऩ', 'न'], // one code point, which no normal form takes apart
    ['चाँद', 'चांद'],
    ['রাড়', 'রাড'],
    ['مُحَمَّد', 'محمد'],
    ['ܝܘܿܣܦ', 'ܝܘܣܦ'],
    ['Семён', 'Семен'],
    ['ward ١', 'ward 1'],
    ['क्\u200Dष', 'क्ष'],
    ['あや', 'アヤ'],
    ['MÜLLER', 'mueller'],
    ['محـمد', 'محمد'],
    ['SØREN', 'Soeren'],
    ['Øyvind', 'Oyvind'],
    ['Cœline', 'Coeline'],
    ['Þór', 'Thor'],
    ['Mary Ann', 'Mary-Ann'],
    ['Mary Ann', 'MaryAnn'],
    ['St. John', 'St John'],
    ["O'Brien", 'OBrien'],
    ['علي', 'علی'], // a Persian keyboard's
    ['أحمد', 'احمد'],
    ['فاطمة', 'فاطمه'],
  ])('%s may be taken for %s', (left, right) => {
    expect([areAlike(left, right), areAlike(right, left)]).toEqual([true, true])
  })

  it.each([
    ['Ann', 'Anna'],
    ['Ali', 'Eli'],
    ['कि', 'की'],
    ['फ़रीद', 'फ़रीदा'],
    ['שרה', 'שרית'],
    ['Mull', 'Mule'],
    ['ann', 'ann'],
  ])('%s is not asked about beside %s', (left, right) => {
    expect(areAlike(left, right)).toBe(false)
  })
})
