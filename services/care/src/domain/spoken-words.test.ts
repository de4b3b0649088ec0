// How sentences of dosing are said (C37): in words, and heard as the same sentence written out, by the system's espeak-ng.
import { execFileSync } from 'node:child_process'
import { findProgram } from '@tallystick/service-kit'
import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { hostileText } from '../testing/hostile-text.fixture.ts'
import { spokenForm } from './spoken-form.ts'
import { SPOKEN_LANGUAGES } from './spoken-rules.ts'
import { spokenWords, voiceFor } from './spoken-words.ts'

const espeak = findProgram('espeak-ng', process.env['PATH'] ?? '')

const say = (language: string, text: string): string | undefined => {
  const form = spokenForm(text)
  return form === undefined ? undefined : spokenWords(form, language)
}

/** What is heard, without stress, pauses and how open a vowel is: a number's words are a little shorter than written ones. */
const phonemes = (language: string, text: string): string =>
  execFileSync(espeak ?? '', ['-q', '-x', '-v', voiceFor(language) ?? '', '--stdin'], {
    input: text,
    encoding: 'utf8',
  })
    .replaceAll(/[\s'",_|!;:%=]/g, '')
    .toLowerCase()
    .replaceAll(/[&@]/g, 'e')

/** Each language: what a nurse writes, and the same as it is said. */
const SAID: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  en: [
    [
      '50 mcg at noon, 1/2 tablet b.d., 75 µg.',
      'fifty micrograms at noon, one half tablet twice a day, seventy five micrograms.',
    ],
    ['Take 1.5 tablets.', 'Take one point five tablets.'],
    ['2×500 mg at 22:30', 'two times five hundred milligrams at twenty two thirty'],
    ['5–10 mg p.r.n.', 'five to ten milligrams when needed.'],
    ['1 1/2 tabs TDS, 3x/day', 'one and a half tablets three times a day, three times per day'],
    ['Take 1,000 mg at 8 am.', 'Take one thousand milligrams at eight in the morning.'],
    ['0.25 mg/kg i.v.', 'zero point two five milligrams per kilogram intravenous.'],
    ['Do NOT take it at 08:00.', "Do not take it at eight o'clock."],
  ],
  de: [
    ['Nehmen Sie 1,5 Tabletten.', 'Nehmen Sie eins Komma fünf Tabletten.'],
    ['Nimm 1/2 Tablette um 22:30 Uhr.', 'Nimm eine halbe Tablette um zweiundzwanzig Uhr dreißig.'],
    [
      '2×500 mg, 70 µg, 50 mcg',
      'zwei mal fünfhundert Milligramm, siebzig Mikrogramm, fünfzig Mikrogramm',
    ],
    ['3x tgl. 5–10 Tr. b. Bed.', 'drei mal täglich fünf bis zehn Tropfen bei Bedarf.'],
    ['max. 3 Tbl./Tag', 'höchstens drei Tabletten pro Tag'],
    ['0,25 mg/kg i.v.', 'null Komma zwei fünf Milligramm pro Kilogramm intravenös.'],
  ],
  fr: [
    ['Prenez 1,5 comprimé à 22h30.', 'Prenez un virgule cinq comprimé à vingt-deux heures trente.'],
    ['1/2 cp le matin, 75 µg', 'un demi comprimé le matin, soixante-quinze microgrammes'],
    ['2×500 mg, 3x/j', 'deux fois cinq cents milligrammes, trois fois par jour'],
    ['5-10 gttes', 'cinq à dix gouttes'],
  ],
  es: [
    ['Tome 1,5 comprimidos.', 'Tome uno coma cinco comprimidos.'],
    ['500 mg c/8 h', 'quinientos miligramos cada ocho horas'],
    ['1/2 comp., 75 mcg', 'medio comprimido, setenta y cinco microgramos'],
    ['2×500 mg a las 22:30', 'dos veces quinientos miligramos a las veintidós horas treinta'],
  ],
  it: [
    ['Prenda 1,5 compresse.', 'Prenda uno virgola cinque compresse.'],
    ['1/2 cpr, 20 gtt', 'mezza compressa, venti gocce'],
    ['75 mcg 3x/die', 'settantacinque microgrammi tre volte per giorno'],
    ['alle 22:30', 'alle ventidue e trenta'],
  ],
  nl: [
    ['Neem 1,5 tablet.', 'Neem één komma vijf tablet.'],
    ['1/2 tabl. z.n., 75 µg', 'een halve tablet zo nodig, vijfenzeventig microgram'],
    ['2×500 mg om 22:30 uur', 'twee keer vijfhonderd milligram om tweeëntwintig uur dertig'],
    ['2 dd 10 ml', 'twee keer per dag tien milliliter'],
  ],
  pl: [
    ['Proszę wziąć 1/2 tabl.', 'Proszę wziąć pół tabletki.'],
    ['5 mg', 'pięć miligramów'],
    ['2 mg', 'dwa miligramy'],
    ['co 8 godz.', 'co osiem godzin.'],
  ],
  tr: [
    ['1,5 tablet alın.', 'bir virgül beş tablet alın.'],
    ['1/2 tb. sabah', 'yarım tablet sabah'],
    ['%50', 'yüzde elli'],
  ],
  ar: [
    ['خذ قرصين 500 ملغ', 'خذ قرصين 500 مليغرام'],
    ['خذ ١٫١ قرص', 'خذ واحد فاصلة واحد قرص'],
    ['1/2 قرص', 'نصف قرص'],
  ],
}

describe.skipIf(espeak === undefined)(
  'C37: heard as what is written (skipped without espeak-ng)',
  () => {
    test.each(
      Object.entries(SAID).flatMap(([language, all]) =>
        all.map(([text, said]) => [language, text, said]),
      ),
    )('%s: %s', (language, text, said) => {
      const words = say(language, text)
      expect(words).toBeDefined()
      expect(phonemes(language, words ?? '')).toBe(phonemes(language, said))
    })

    it('a sentence of the cases is not what the voice alone would have said', () => {
      for (const [language, text] of [
        ['de', 'Nehmen Sie 1/2 Tablette b. Bed.'],
        ['en', '50 mcg b.d.'],
        ['ar', '500 ملغ'],
      ] as const)
        expect(phonemes(language, say(language, text) ?? '')).not.toBe(phonemes(language, text))
    })
  },
)

describe('C37: the words of a sentence', () => {
  test.each([
    ['de', '1½ Tabletten', 'eineinhalb Tabletten'],
    ['de', 'Um 8:00–10:00 Uhr', 'Um 8 Uhr bis 10 Uhr'],
    ['de', '1x tgl., 3-mal', 'einmal täglich, 3 mal'],
    ['de', '1.000 mg', '1000 Milligramm'],
    ['de', 'NICHT nehmen', 'nicht nehmen'],
    ['de', '38,5 °C, 50 %', '38 Komma 5 Grad Celsius, 50 Prozent'],
    ['de', 'Nach 5 Min. Dann mehr.', 'Nach 5 Minuten. Dann mehr.'],
    ['en', 'Take 5 mg/5 ml.', 'Take 5 milligrams per 5 millilitres.'],
    ['en', 'Take 2\nThen rest', 'Take 2.\nThen rest'],
    ['en', 'Dr Osei, J. Smith', 'doctor Osei, J Smith'],
    ['fr', '« Bien », dit l’infirmière.', '« Bien », dit l’infirmière.'],
    [
      'en',
      'Take t.i.d or q8h, 1st at 10:00',
      "Take three times a day or every 8 hours, 1st at 10 o'clock",
    ],
    ['en', 'Take 1 tab. twice daily, ONCE a day', 'Take 1 tablet twice daily, once a day'],
    ['en', '- Vitamin B12\n- Vitamin D', 'Vitamin B 12.\nVitamin D'],
    ['en', 'The constructor is not a prototype.', 'The constructor is not a prototype.'],
    ['de', '2–3x tägl., 3×täglich', '2 bis 3 mal täglich, 3 mal täglich'],
    ['de', '2 Tbl. à 500 mg', '2 Tabletten zu je 500 Milligramm'],
    ['de', 'Um 22.30 Uhr, alle 8 h', 'Um 22 Uhr 30, alle 8 Stunden'],
    ['de', 'Dr. Weiß: ein- bis zweimal', 'Doktor Weiß: ein bis zweimal'],
    ['nl', 'om 8.00 uur, ’s avonds', 'om 8 uur, ’s avonds'],
    ['es', 'a las 20.30 h', 'a las 20 horas 30'],
    ['es', 'a las 8:00 hs', 'a las 8 horas'],
    ['en', 'At 20:15 hrs I rest', 'At 20 15 I rest'],
    ['pl', 'o 8:00', 'o godzinie ósmej'],
    ['ar', 'ﻣﻠﻎ ١٬٠٠٠', 'مليغرام 1000'],
    ['it', 'alle 08:05', 'alle 8 e 5'],
    ['pl', '1,5 mg o godz. 8', '1 przecinek 5 miligrama o godzinie ósmej'],
    ['pl', 'o godzinie 22:30', 'o godzinie dwudziestej drugiej 30'],
    ['tr', 'saat 22:30, 1½ tablet', 'saat 22 30, 1 buçuk tablet'],
    ['ar', '2× يوميا، 5-10 مل', 'مرتين يوميا، 5 إلى 10 مليلتر'],
    ['en', 'Vitamin B12 1000 ug', 'Vitamin B 12, 1000 micrograms'],
    ['en', 'At 22:30 5 mg, at 8:30 ½ tab.', 'At 22 30, 5 milligrams, at 8 30, one half tablet.'],
    ['de', 'Um 22:30 Uhr 2 Tbl.', 'Um 22 Uhr 30, 2 Tabletten.'],
    ['en', '4 mg Tue', '4 milligrams Tuesday'],
    [
      'en',
      '1.25 tablets, 2.50 ml, 1.25 milligrams',
      '1 point 2 5 tablets, 2 point 5 0 millilitres, 1 point 2 5 milligrams',
    ],
    [
      'de',
      '1,25–2,50 mg, eine Tablette, 0,25 Tbl.',
      '1 Komma 2 5 bis 2 Komma 5 0 Milligramm, eine Tablette, 0 Komma 2 5 Tabletten.',
    ],
    [
      'en',
      '1 tab 4 hrly, 2 wkly or mthly, 1 qam',
      '1 tablet, 4 hourly, 2 weekly or monthly, 1 every morning',
    ],
    ['fr', 'à 20h 2 cp', 'à 20 heures, 2 comprimés'],
    ['fr', '1⁄2 comprimé, 1/2 verre', 'un demi comprimé, un demi verre'],
    ['fr', 'M. Dupont passe. Voir M. Roy.', 'monsieur Dupont passe. Voir monsieur Roy.'],
    ['fr', 'MM. Dupont et Mme. Roy, Pr. Hall', 'messieurs Dupont et madame Roy, professeur Hall'],
    ['fr', 'pdt 10 j., 2 sem. puis rien', 'pendant 10 jours, 2 semaines puis rien'],
    ['en', 'For 10 mos. Then 2 yrs.', 'For 10 months. Then 2 years.'],
    ['en', '1 mo, 3 mths, 15 mins', '1 month, 3 months, 15 minutes'],
    ['en', 'Once a wk, few hrs, in Dec. stop', 'Once a week, few hours, in December stop'],
    ['en', 'Ask Jan. Nothing will mar it.', 'Ask Jan. Nothing will mar it.'],
    ['de', 'Fr. Roy und Hr. Dr. Weiß', 'Frau Roy und Herr Doktor Weiß'],
    ['de', 'z. B. Tee, inkl. Milch, 2 Wo.', 'zum Beispiel Tee, inklusive Milch, 2 Wochen.'],
    ['es', 'Srta. Ruiz, Dña. Ana, 2 sem.', 'señorita Ruiz, doña Ana, 2 semanas.'],
    ['it', 'Sig.ra Neri, Sigg. Neri, 3 gg.', 'signora Neri, signori Neri, 3 giorni.'],
    ['nl', 'mej. Bos, dhr. Bos, 10 mnd.', 'mejuffrouw Bos, de heer Bos, 10 maanden.'],
    ['pl', '2 tyg., 10 mies.', '2 tygodnie, 10 miesięcy.'],
    ['fr', 'M. de Roy et M. DUPONT', 'monsieur de Roy et monsieur dupont'],
    ['en', 'Dr. J. Roy', 'doctor J Roy'],
    ['nl', '½ zakje, ½ tabl.', 'een half zakje, een halve tablet.'],
    ['tr', 'Sn. Kaya, Doç. Dr. Kaya, 2 hf.', 'sayın Kaya, doçent doktor Kaya, 2 hafta.'],
  ])('%s: %s: %s', (language, text, words) => {
    expect(say(language, text)).toBe(words)
  })

  test.each([
    ['another language’s decimal mark', 'en', 'Take 1,5 mg'],
    ['another language’s decimal mark', 'de', 'Nimm 1.5 mg'],
    ['decimals that may be thousands', 'en', 'Take 1.500 mg'],
    ['decimals that are thousands elsewhere', 'de-CH', 'Nimm 1.500 mg'],
    ['decimals that are thousands elsewhere', 'es-MX', 'Tome 1.500 mg'],
    ['decimals that are thousands elsewhere', 'en-ZA', 'Take 1,500 mg'],
    ['a date that reads as a fraction', 'en', 'On 1/2 start 5 mg'],
    ['a date that reads as a fraction', 'de', 'Am 3/4 absetzen.'],
    ['a date that reads as a fraction', 'fr', 'Du 1/4 au 3/4'],
    ['a decimal with a space in it', 'de', 'Nimm 1, 5 mg'],
    ['a decimal with a space in it', 'en', 'Take 1 . 5 mg'],
    ['a sign between two numbers', 'en', 'Take 1‚5 mg'],
    ['a sign between two numbers', 'en', 'Take 5…10 mg'],
    ['a time that reads as a decimal', 'en', 'Take it at 8.30.'],
    ['a time that reads as a decimal', 'en', '8.30 am: take it'],
    ['a time that reads as a decimal', 'en', 'Between 8.30 and 9.00 drink nothing.'],
    ['a time that reads as a decimal', 'es', 'Tome uno a las 8,30.'],
    ['a time that reads as a decimal', 'es', 'Hasta las 20,30 h nada.'],
    ['a time that reads as a decimal', 'it', 'Alle ore 20,30 prenda una compressa.'],
    ['a time that reads as a decimal', 'nl', 'Om 8,30 uur innemen.'],
    ['a time that reads as a decimal', 'tr', 'Saat 8,30’da alın.'],
    ['a time that reads as a decimal', 'ar', 'الساعة 8.30'],
    ['a half behind its own article or number', 'en', 'Take one 1/2 tablet'],
    ['a half behind its own article or number', 'de', 'Nimm eine 1/2 Tablette'],
    ['a half behind its own article or number', 'fr', 'Prenez une 1/2 gélule'],
    ['a half behind its own article or number', 'nl', 'Neem een ½ tablet'],
    ['drams or drops that read as a title', 'en', 'Take 2 dr. at night'],
    ['drams or drops that read as a title', 'nl', '3x daags 2-3 dr.'],
    ['two vitamins that read as a rate', 'en', 'Give vitamin A/D drops'],
    ['two vitamins that read as a rate', 'en', 'Calcium/D 500 mg'],
    ['two or three, that reads as two thirds', 'en', 'Take it every 2/3 days'],
    ['two or three, that reads as two thirds', 'de', 'Alle 3/4 Std. 5 mg'],
    ['one or two, that reads as a half', 'en', 'Take 1/2 tablets'],
    ['one or two, that reads as a half', 'nl', 'Neem 1/2 tabletten'],
    ['two strengths', 'en', 'Take 5 mg/10 mg'],
    ['a telephone number', 'en', 'Call 555-1234.'],
    ['half a scheme of doses', 'de', '0-1 Tbl.'],
    ['a Roman numeral', 'en', 'Take IV tablets'],
    ['a Roman numeral', 'en', 'Take Ⅳ tablets'],
    ['a Roman numeral', 'fr', 'Prenez xi gouttes'],
    ['a Roman numeral', 'en', 'Take i-ii tabs'],
    ['a Roman numeral', 'en', 'Take i tab'],
    ['a Roman numeral', 'de', 'II-III Tropfen'],
    ['a unit that means several things', 'es', '10 U.'],
    ['a unit that means several things', 'es', '1 cda'],
    ['a decimal without its zero', 'en', 'Take .5 mg'],
    ['a leading zero', 'en', 'Take 05 mg'],
    ['two numbers side by side', 'en', 'Take 2 500 mg'],
    ['two numbers side by side', 'fr', 'Prenez 1 000 mg'],
    ['a range that falls', 'en', 'Take 10-5 mg'],
    ['a scheme of doses', 'de', '1-0-1'],
    ['a date', 'de', 'Ab 28.11.2026'],
    ['a time that reads as hours', 'de', 'Um 8 h'],
    ['an ordinal', 'de', 'Am 3. März'],
    ['an ordinal', 'pl', 'Od 3. dnia'],
    ['a ratio', 'en', 'BP 120/80'],
    ['a dilution', 'en', 'Adrenaline 1:1000'],
    ['a number in a word', 'en', 'Room 12A'],
    ['a unit that means several things', 'en', '10 U insulin'],
    ['an abbreviation that means several things', 'en', 'Take it OD'],
    ['a release or a medicine that reads as a title', 'en', 'Diltiazem MR 120 mg'],
    ['a release or a medicine that reads as a title', 'en', 'Aspirin DR 75 mg'],
    ['a release or a medicine that reads as a title', 'en', 'MS 10 mg at noon'],
    ['a release or a medicine that reads as a title', 'de', 'Pantoprazol DR 40 mg'],
    ['a release or a medicine that reads as a title', 'es', 'Tome SR. 5 mg'],
    ['a release or a medicine that reads as a title', 'pl', 'Aspiryna DR 75 mg'],
    ['a letter that is a title or an initial', 'fr', 'Mme M. Roy'],
    ['a letter that is a title or an initial', 'fr', 'Avec Marie M. Roy'],
    ['a letter that is a title or an initial', 'pl', 'P. Kowalski'],
    ['a letter that is a title or an initial', 'es', 'D. Juan viene.'],
    ['a letter that is a title or an initial', 'it', 'S. Maria'],
    ['a title without a name', 'fr', 'Marcher 10 m. le soir'],
    ['a title without a name', 'fr', 'Appeler M.'],
    ['a day that reads as a title', 'de', 'Am Fr. Müller anrufen'],
    ['a day that reads as a title', 'de', 'Fr. Abend 5 mg'],
    ['a day that reads as a word', 'de', 'Am Mo. und Do.'],
    ['a day that reads as a word', 'en', '5 mg on Sat and Sun'],
    ['a title of either gender', 'ar', 'د. أحمد'],
    ['a title of either gender', 'es', 'Prof. Ruiz'],
    ['a title in another case', 'pl', 'do dr. Nowaka'],
    ['a title that reads as the end of a sentence', 'pl', 'inż. Nowak'],
    ['a title that reads as the end of a sentence', 'tr', 'Hem. Ayşe'],
    ['a title that reads as the end of a sentence', 'en', 'Capt. Hook'],
    ['a letter that is a unit or a word', 'es', 'Durante 3 a.'],
    ['litres or years', 'pl', 'Od 3 l.'],
    ['a part of a pack that reads as a word', 'en', 'Insert 2 supp.'],
    ['a part of a pack that reads as a word', 'it', 'Prenda 2 bust.'],
    ['an abbreviation that nobody listed', 'de', 'EKG am Montag'],
    ['an abbreviation that nobody listed', 'en', 'Take 2 pcs q.q.h.'],
    ['an abbreviation that nobody listed', 'it', 'Prenda il frmc'],
    ['a shortened word', 'de', 'Nimm die Tropf. morgens'],
    ['a sign', 'en', 'Take > 5 mg'],
    ['a minus', 'en', 'Take -5 mg'],
    ['twelve', 'en', 'Take it at 12 pm'],
    ['feet and inches', 'en', '5\' 10"'],
    ['an address', 'en', 'See https://clinic.example'],
    ['superscripts', 'en', '10² times'],
    ['another script', 'ar', '500 ملغ Amlodipine'],
    ['another script', 'en', 'Take амлодипин'],
    ['another script', 'de', '服用 5 mg'],
    ['a picture', 'en', 'Take 5 mg 💊'],
    ['a language without a voice', 'pt', 'Tome dois.'],
    ['no language', 'und', 'Take two.'],
  ])('%s is not spoken (%s): %s', (_what, language, text) => {
    expect(say(language, text)).toBeUndefined()
  })

  it('nine languages have a voice, for each of their regions', () => {
    expect(SPOKEN_LANGUAGES.toSorted()).toEqual([
      'ar',
      'de',
      'en',
      'es',
      'fr',
      'it',
      'nl',
      'pl',
      'tr',
    ])
    expect(voiceFor('de-AT')).toBe('de')
    expect(voiceFor('und')).toBeUndefined()
    expect(voiceFor(undefined)).toBeUndefined()
  })

  it('whatever a text is, what is said holds plain numbers, letters of one script and pauses', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SPOKEN_LANGUAGES), hostileText, (language, text) => {
        const said = say(language, text) ?? ''
        expect(said).not.toMatch(/\d[\d.,:/-]*[.,:/×x-]\d|\d\p{L}|[/%×<>=+*\\]/u)
        expect(said).toMatch(
          language === 'ar' ? /^[^\p{Script=Latin}]*$/u : /^[^\p{Script=Arabic}]*$/u,
        )
      }),
      { numRuns: 2_000 },
    )
  })

  const dose = fc.record({
    count: fc.constantFrom(
      '1',
      '2',
      '1,5',
      '1.5',
      '0,25',
      '.5',
      '05',
      '1/2',
      '7/9',
      '1 1/2',
      '½',
      '2×500',
      '2 x',
      '5-10',
      '10–5',
      '1.000',
      '1 000',
      '22:30',
      '1:1000',
      '1-0-1',
      '2²',
    ),
    unit: fc.constantFrom(
      '',
      ' mg',
      'mg',
      ' mcg',
      ' µg',
      ' ml/kg',
      ' IU',
      ' U',
      ' xyz',
      ' g',
      '%',
      ' °C',
      ' Tbl.',
      ' cp',
      ' b.d.',
      ' q.q.d.',
      ' PRN',
    ),
    rest: fc.constantFrom('', '.', ' 3x', ', 2', ' 5', '/7', '. 2', '-', ' (max. 3)'),
  })
  it('of doses nothing is left to the voice but whole numbers', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SPOKEN_LANGUAGES), dose, (language, { count, unit, rest }) => {
        const said = say(language, count + unit + rest) ?? ''
        expect(said).not.toMatch(/\d[.,:/×x-]\d|\d\p{L}|[/%×]|\bm[cgl]|\d \d{3}(?!\d)(?<!00)$/u)
      }),
      { numRuns: 2_000 },
    )
  })
})
