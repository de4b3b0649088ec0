// How numbers agree with what they count (C37), and are heard so, by the system's espeak-ng.
import { execFileSync } from 'node:child_process'
import { findProgram } from '@tallystick/service-kit'
import { describe, expect, it, test } from 'vitest'
import { spokenForm } from './spoken-form.ts'
import { SPOKEN_LANGUAGES } from './spoken-rules.ts'
import { spokenWords, voiceFor } from './spoken-words.ts'
import { spokenAge } from './staleness.ts'

const espeak = findProgram('espeak-ng', process.env['PATH'] ?? '')
const say = (language: string, text: string): string | undefined =>
  spokenWords(spokenForm(text) ?? '', language)
/** Without stress, pauses and how open a vowel is. */
const phonemes = (language: string, text: string): string =>
  execFileSync(espeak ?? '', ['-q', '-x', '-v', voiceFor(language) ?? '', '--stdin'], {
    input: text,
    encoding: 'utf8',
  })
    .replaceAll(/[\s'",_|!;:%=]/g, '')
    .toLowerCase()
    .replaceAll(/[&@]/g, 'e')

describe('C37: a number is said as what it counts wants it', () => {
  test.each([
    ['pl', 'od 1 do 2 tabletek', 'od jednej do dwóch tabletek'],
    ['pl', 'Weź 1–2 tabletki rano.', 'Weź jedną do dwóch tabletek rano.'],
    ['pl', 'co 4-6 godz.', 'co 4 do sześciu godzin.'],
    ['pl', '1 tabletka zawiera 5 mg', 'jedna tabletka zawiera 5 miligramów'],
    ['pl', 'Zażyj 1 tabletkę.', 'Zażyj jedną tabletkę.'],
    ['pl', 'ok. 125 ml, do 4 g', 'około stu dwudziestu pięciu mililitrów, do czterech gramów'],
    ['pl', '1 kaps., 2 krople, 1 mg', 'jedną kapsułkę, dwie krople, 1 miligram'],
    ['pl', '1 1/2 tabl. lub 1/4 tabl.', 'półtorej tabletki lub jedną czwartą tabletki.'],
    ['pl', 'od 8:00 do 20:30', 'od godziny ósmej do godziny dwudziestej 30'],
    ['pl', 'przed godz. 22', 'przed godziną dwudziestą drugą'],
    ['de', '1 Tablette, 1 EL, 1 Glas, 1%', 'eine Tablette, einen Esslöffel, ein Glas, ein Prozent'],
    ['de', '1–2 Tbl. mit 1 Glas Wasser', 'ein bis 2 Tabletten mit einem Glas Wasser'],
    ['de', 'nach 1 Std., 1 x 500 mg', 'nach einer Stunde, einmal 500 Milligramm'],
    ['de', '2½ Tabletten, um 1:30', 'zweieinhalb Tabletten, um ein Uhr 30'],
    ['fr', '1 gélule, 1 comprimé, 21 gouttes', 'une gélule, 1 comprimé, vingt et une gouttes'],
    ['fr', '1 1/2 comprimés, 1/4 ampoule', '1 comprimé et demi, un quart d’ampoule'],
    ['fr', '1 à 2 gélules à 21h', 'une à 2 gélules à vingt et une heures'],
    ['es', '1 tableta, 1 comp.', 'una tableta, un comprimido.'],
    ['es', '1–2 comprimidos o 1 o 2 gotas', '1 a 2 comprimidos o una o 2 gotas'],
    [
      'es',
      '1 1/2 comprimidos, 200 UI',
      'un comprimido y medio, doscientas unidades internacionales',
    ],
    ['es', '1/4 tableta, 21 días', 'un cuarto de tableta, veintiún días'],
    ['it', '1 cpr, 1 bicchiere, 1 h', 'una compressa, un bicchiere, un’ ora'],
    ['it', '1½ cpr, 1/4 cpr', 'una compressa e mezza, un quarto di compressa'],
    ['nl', '1½ tabl., ½ glas', 'anderhalve tablet, een half glas'],
    ['en', 'Take 1 1/2 tabs', 'Take one and a half tablets'],
    ['tr', '1-2 tablet, 1½ tablet', '1 ila 2 tablet, 1 buçuk tablet'],
    ['ar', '١ قرص، ٢ قرص، ٣ أقراص', 'قرص واحد، قرصين، 3 أقراص'],
    ['ar', '۵ قطرات كل ۸ ساعات', 'خمس قطرات كل ثماني ساعات'],
    ['ar', '٢-٣ مرات الساعة ٨:٣٠', 'مرتين إلى ثلاث مرات الساعة الثامنة و 30 دقيقة'],
    ['ar', 'الساعة ٨ صباحا', 'الساعة الثامنة صباحا'],
    ['pl', 'o 8:00 i 20:00', 'o godzinie ósmej i dwudziestej'],
    ['pl', 'między 8:00 a 10:00', 'między godziną ósmą a dziesiątą'],
    ['pl', 'za 2 godz., po 2 tabl.', 'za dwie godziny, po dwie tabletki.'],
    ['de', '1 ml enthält 5 mg', 'ein Milliliter enthält 5 Milligramm'],
    ['fr', '71 gouttes', '71 gouttes'],
    ['en', 'Take four 5 mg tablets', 'Take four 5 milligram tablets'],
    ['es', '500 mg/8 h', '500 miligramos cada 8 horas'],
    ['it', '1 g/8 h', 'un grammo ogni 8 ore'],
    ['pl', '1 g/12 h', '1 gram co 12 godzin'],
    ['fr', '4 g/24 h', '4 grammes toutes les 24 heures'],
    ['en', '4 g/24 h', '4 grams per 24 hours'],
    ['de', '1 Tropfen enthält 2 mg.', 'ein Tropfen enthält 2 Milligramm.'],
    ['de', '1/2 Messlöffel entspricht 2 ml.', 'ein halber Messlöffel entspricht 2 Milliliter.'],
    ['de', '1 Beutel reicht für 1 Tag.', 'ein Beutel reicht für einen Tag.'],
    [
      'de',
      'Wenn es schlimmer wird, nimm tgl. 1 Beutel. Das ist genug.',
      'Wenn es schlimmer wird, nimm täglich einen Beutel. Das ist genug.',
    ],
    ['de', '1 oder 2 Tropfen sind genug.', 'ein oder 2 Tropfen sind genug.'],
    ['de', 'ab 1 Tablette, an 1 Tag', 'ab einer Tablette, an einem Tag'],
    ['de', 'innerhalb 1 Stunde', 'innerhalb einer Stunde'],
    ['en', 'Take 1-2 tabs q4-6h', 'Take 1 to 2 tablets every 4 to 6 hours'],
    ['es', '1 comp. c/8 hrs.', 'un comprimido cada 8 horas.'],
    ['nl', '1 à 2 tabletten', '1 à 2 tabletten'],
    ['de', 'Version 1 wurde durch Version 2 ersetzt.', 'Version 1 wurde durch Version 2 ersetzt.'],
  ])('%s: %s', (language, text, words) => {
    expect(say(language, text)).toBe(words)
  })

  test.each([
    ['a number whose form nobody listed', 'pl', '22 tabletki'],
    ['a number whose form nobody listed', 'es', '250 UI'],
    ['a number whose form nobody listed', 'fr', '31 gouttes'],
    ['a number whose form nobody listed', 'ar', '13 ساعة'],
    ['one of something unknown', 'de', 'Iss 1 Apfel'],
    ['one of something unknown', 'it', 'Mangi 1 mela'],
    ['a case whose form nobody listed', 'pl', 'w 5 ml wody'],
    ['a case whose form nobody listed', 'pl', 'po 1 tabl.'],
    ['after two hours, that reads as two hours each', 'pl', 'po 2 godz.'],
    ['a case that may be another', 'de', 'in 1 Glas Wasser'],
    ['a case whose form nobody listed', 'pl', 'w 1 szklance wody'],
    ['a case whose form nobody listed', 'pl', 'z 2 szklankami wody'],
    ['a case whose form nobody listed', 'pl', 'dawka 1 tabletki'],
    ['a case whose form nobody listed', 'de', 'nach 1/4 Tablette'],
    ['a case whose form nobody listed', 'de', 'innerhalb 1 Monat'],
    ['a shortened noun without digits', 'de', 'Nimm zwei Tbl. mit Wasser.'],
    ['a shortened noun without digits', 'it', 'Prenda due cpr al giorno'],
    ['a shortened noun without digits', 'es', 'Tome dos comp. con agua'],
    ['a shortened noun without digits', 'pl', 'dwie tabl. rano'],
    ['one that may be the subject', 'de', 'Es wird tgl. 1 Beutel gegeben.'],
    ['one that may be the subject', 'de', 'Die Dosis ist 1 Tropfen.'],
    ['hours that fall', 'en', 'Take one q6-4h'],
    ['days that read as a word', 'en', 'Warfarin 3 mg Mon-Fri'],
    ['a half behind a plural', 'it', '1 1/2 compresse'],
    ['a time whose form nobody listed', 'es', 'a la 1:00'],
    ['a short word that may be shortened', 'de', 'Nimm sie nach Ess.'],
    ['a short word that may be shortened', 'en', 'Take w. food prn.'],
    ['a short word that may be shortened', 'en', 'Take it with meds. Then rest.'],
    ['a short word that may be shortened', 'fr', 'Prendre avant rep.'],
    ['a longer word that no word ends as', 'de', 'Nimm sie nach der Mahlz.'],
    ['a longer word that no word ends as', 'de', 'Nimm sie vor dem Frühst.'],
    ['a longer word that no word ends as', 'en', 'Take it before breakf.'],
    ['a longer word that no word ends as', 'pl', 'Zażyj po śniadn.'],
    ['a longer word that no word ends as', 'it', 'Prenda dopo colaz.'],
    ['a longer word that no word ends as', 'es', 'Tome sin aliment.'],
  ])('%s is not spoken (%s): %s', (_what, language, text) => {
    expect(say(language, text)).toBeUndefined()
  })

  test.each([
    ['pl', 'Weź tabletki rano, dwie tabletki lub dziesięć kropel.'],
    ['pl', 'Nie więcej niż osiem tabletek i pół łyżki.'],
    ['ar', 'خذ خمسة أقراص ثلاث مرات يوميا'],
    ['ar', 'ثلاث حبات كل خمسة أيام'],
  ])('a number in words leaves the word behind it as it is (%s): %s', (language, text) => {
    expect(say(language, text)).toBe(text)
  })

  test.each([
    ['en', 'Take it with food. Then rest in bed.'],
    ['en', 'None.'],
    ['de', 'Nimm sie mit Tee. Dann ab ins Bett.'],
    ['fr', 'Avec de l’eau. Voir Roy.'],
    ['es', 'Tome con agua. Descanse más.'],
    ['it', 'Prenda con latte. Riposi bene.'],
    ['nl', 'Neem het met water. Dan naar bed.'],
    ['pl', 'Popić wodą. Potem sen.'],
    ['tr', 'Su ile al. Sonra uyu.'],
    ['ar', 'خذ قرصا مع الماء. ثم نم.'],
  ])('a sentence may end in a short word (%s): %s', (language, text) => {
    expect(say(language, text)).toBe(text)
  })

  it('every age that a service says of a record up to a hundred days is spoken', () => {
    const writtenAt = '2026-01-01T12:00:00Z'
    for (const language of SPOKEN_LANGUAGES) {
      const authorLabel = language === 'ar' ? 'أحمد' : 'Anna Osei'
      const record = { language, authorLabel, writtenAt, staleAfter: writtenAt }
      const silent = Array.from({ length: 100 }, (_, at) => at + 1).filter(
        (days) =>
          say(language, spokenAge(record, Date.parse(writtenAt) + days * 86_400_000) ?? '') ===
          undefined,
      )
      expect([language, silent]).toEqual([language, []])
    }
  })

  it.skipIf(espeak === undefined)(
    'Arabic and Persian digits are heard as the words of their numbers (skipped without espeak-ng)',
    () => {
      for (const text of ['خذ ٥ مل', 'خذ ۵ مل', 'خذ 5 مل'])
        expect(phonemes('ar', say('ar', text) ?? '')).toBe(phonemes('ar', 'خذ خَمسَ مليلتر'))
      expect(phonemes('ar', say('ar', 'خذ ۳ حبات') ?? '')).toBe(phonemes('ar', 'خذ ثلاث حبات'))
      for (const text of ['٥٠٠', '۵۰۰', '500'])
        expect(phonemes('ar', say('ar', text) ?? '')).toMatch(/^xamsum/)
    },
  )
})
