// Records in several languages on the pages, in Chromium against the complete service.
import { expect, it } from 'vitest'
import {
  describePages,
  fillWrite,
  medication,
  newest,
  text,
  USER,
  WAIT,
} from './page-browser.fixture.ts'

const GERMAN = { ...medication, domain: 'tropfen', value: 'Zehn Tropfen.', language: 'de' }
const ARABIC = { ...medication, domain: 'قطرات', value: 'عشر قطرات.', language: 'ar' }
const UNKNOWN = { ...medication, value: 'Take two tablets.', language: 'und' }

/** Of each element: its text, language and direction. */
const SPOKEN = (selector: string): string =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].map(({ textContent, lang, dir }) => [textContent, lang, dir])`

/** What is wider than its place: controls beyond their field, anything beyond the page, code that is not from the left. */
const SPILLING = `[
  ...Array.from(document.querySelectorAll('.field > :is(input, select, textarea)')).filter((control) => {
    const [own, place] = [control, control.parentElement].map((each) => each.getBoundingClientRect())
    return own.left < place.left - 1 || own.right > place.right + 1
  }).map(({ id }) => id),
  ...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []),
  ...Array.from(document.querySelectorAll('pre, .mono')).filter((code) => getComputedStyle(code).direction !== 'ltr').map(({ textContent }) => textContent),
]`

describePages((pages) => {
  it('C37: every text of a record says its language and direction, and claims none that is unknown', async () => {
    const service = await pages.start({ environment: { LANGUAGE: 'und' } })
    for (const record of [GERMAN, ARABIC, UNKNOWN]) await service.write(record)
    const echo = await pages.listen()
    await expect
      .poll(() => echo.evaluate(SPOKEN('#records .said')), WAIT)
      .toEqual(
        expect.arrayContaining([
          [GERMAN.value, 'de', 'ltr'],
          [ARABIC.value, 'ar', 'rtl'],
          [UNKNOWN.value, '', 'auto'],
        ]),
      )
    const ages = await echo.evaluate(SPOKEN('#records .hint'))
    expect(ages).toContainEqual(['Geändert heute von Dr Okafor.', 'de', 'ltr'])
    await service.write({ ...GERMAN, value: 'Elf Tropfen.' })
    await echo.waitForSelector(`${newest} .retraction`, WAIT)
    expect(await echo.evaluate(SPOKEN(`${newest} .retraction`))).toEqual([
      [
        'Korrektur von Dr Okafor. Bitte beachten Sie nicht mehr: „Zehn Tropfen.“ Jetzt gilt: „Elf Tropfen.“',
        'de',
        'ltr',
      ],
    ])
  })

  it('C37: a correction in the form is in the language of what it corrects, unless another one is chosen', async () => {
    const service = await pages.start()
    await service.write(GERMAN)
    const read = service.token(`${USER} care.write`)
    const clinician = await pages.visit(
      `/clinician.html#token=${read}&patient=rosa-12&domain=tropfen`,
    )
    await expect.poll(() => clinician.inputValue('#language'), WAIT).toBe('de')
    await fillWrite(clinician, { value: 'Elf Tropfen.' })
    expect(await text(clinician, '#will-say')).toMatch(
      /^Korrektur von .* Jetzt gilt: „Elf Tropfen\.“$/,
    )
    expect(await clinician.evaluate(SPOKEN('#will-say'))).toMatchObject([
      [expect.any(String), 'de', 'ltr'],
    ])
    await clinician.click('#write summary')
    await clinician.selectOption('#language', 'ar')
    expect(await clinician.evaluate(SPOKEN('#value'))).toEqual([['', 'ar', 'rtl']])
    await clinician.click('#send')
    await clinician.waitForSelector('#outcome:not([hidden])', WAIT)
    const echo = await pages.listen()
    await expect
      .poll(() => echo.evaluate(SPOKEN('#records .said')), WAIT)
      .toEqual([['Elf Tropfen.', 'ar', 'rtl']])
  })

  it.each([
    [
      'de',
      '',
      [
        'Hört zu',
        'Was jetzt gesagt werden darf',
        'Drucken',
        'Version 2',
        'Korrektur',
        '2 Einträge werden verfolgt.',
      ],
    ],
    [
      'ar',
      'rtl',
      ['يجري الاستماع', 'ما يمكن قوله الآن', 'طباعة', 'الإصدار 2', 'تصحيح', 'يُتابَع سجلان.'],
    ],
  ])('C37: the echo page is in the service’s language: %s', async (language, direction, words) => {
    const service = await pages.start({ environment: { LANGUAGE: language } })
    for (const record of [GERMAN, ARABIC]) await service.write(record)
    const echo = await pages.listen()
    expect(
      await echo.evaluate('[document.documentElement.lang, document.documentElement.dir]'),
    ).toEqual([language, direction])
    await service.write({ ...GERMAN, value: 'Elf Tropfen.' })
    await echo.waitForSelector(`${newest} .retraction`, WAIT)
    const shown = await echo.innerText('main')
    for (const word of words) expect(shown).toContain(word)
    expect(shown).not.toMatch(
      /Listening|may be said|Print|[Vv]ersion \d.*\bwas\b|As of|Shown|Say it/,
    )
    await echo.click('#stop-listening')
    await echo.click('button.main')
    expect(await text(echo, '#token-problem')).toBe(
      language === 'de' ? 'Fügen Sie zuerst ein Token ein.' : 'الصق رمزًا أولًا.',
    )
  })

  it('C37: the read log is in the service’s language', async () => {
    const service = await pages.start({ environment: { LANGUAGE: 'de', READ_AUDIT: 'all' } })
    await service.write(GERMAN)
    await pages.listen()
    const log = await pages.visit(`/reads.html#token=${service.token(USER)}&patient=rosa-12`)
    await expect.poll(() => text(log, '#signed-in'), WAIT).toMatch(/^Angemeldet als .* bis .*\.$/)
    // Reads are recorded a moment after they are answered.
    const rows = async () => {
      await log.click('button.main')
      return text(log, '#rows')
    }
    await expect.poll(rows, WAIT).toMatch(/tropfen.*gelesen/)
    expect(await text(log, '#as-of')).toMatch(/^Stand: .*, für die letzten \d+ Tage\.$/)
    expect(await text(log, '#reads-title')).toBe('Lesezugriffe auf Einträge von rosa-12')
  })

  it.each(['de', 'ar'])(
    'C37: %s: words longer than English’s spill over nothing, and code is written from the left',
    async (language) => {
      const service = await pages.start({ environment: { LANGUAGE: language } })
      await service.write(ARABIC)
      for (const path of ['/', '/clinician.html', '/echo.html', '/reads.html', '/timeline.html']) {
        const page = await pages.visit(path)
        if (path === '/') await page.waitForSelector('#chains .badge', WAIT)
        await page.evaluate(
          'for (const one of document.querySelectorAll("details")) one.open = true',
        )
        for (const width of [1_200, 390, 320]) {
          await page.setViewportSize({ width, height: 800 })
          expect(await page.evaluate(SPILLING), `${path} at ${width}`).toEqual([])
        }
      }
    },
  )
})
