/** C39: a list on paper: ink on white, whose it is, of which clinic, of when, and the age of every line. */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePages, medication, WAIT } from './page-browser.fixture.ts'

const OLD = { ...medication, domain: 'visit', value: 'The nurse comes at ten.' }

/** Text that is not hidden, as paper shows it. */
const onPaper = (page: Page): Promise<string> => page.evaluate<string>('document.body.innerText')
const colours = (page: Page, selector: string): Promise<readonly string[]> =>
  page.evaluate<readonly string[]>(
    `(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.querySelector('${selector}')))`,
  )

describePages((pages) => {
  it.each(['light', 'dark'] as const)(
    'C39: the list of a person is ink on white, dated, with name, clinic and every line’s age: %s',
    async (colorScheme) => {
      const service = await pages.start({ environment: { CLINIC_NAME: 'Hill Clinic' } })
      await service.write(medication)
      await service.write({ ...OLD, staleAfter: '2020-01-01T00:00:00Z' })
      const echo = await pages.listen({ colorScheme })
      await echo.emulateMedia({ media: 'print', colorScheme })
      expect(await colours(echo, 'body')).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)'])
      expect(await colours(echo, '#records .said')).toContain('rgb(0, 0, 0)')
      const paper = await onPaper(echo)
      const year = new Date().getFullYear()
      expect(paper).not.toMatch(/today|ago/)
      expect(paper).toMatch(/Written on .* by Dr Okafor\./)
      expect(paper).toContain('rosa-12')
      // The clinic's zone, wherever it is read.
      expect(paper).toMatch(new RegExp(`Hill Clinic\\. As of .*${year}.* UTC\\.`))
      expect(paper.match(new RegExp(`Written on .*${year}`, 'g'))).toHaveLength(2)
      expect(paper).toContain('Past its review date')
      expect(paper).toContain(medication.value)
      expect(paper).not.toMatch(/Listening|Stop|Print|Sound|No correction|Echo| now\b/)
      expect((await echo.pdf()).subarray(0, 5).toString()).toBe('%PDF-')
    },
  )

  it('C39: one person’s list is printed alone, and the others come back', async () => {
    const service = await pages.start()
    await service.write(medication)
    await service.write({ ...medication, patient: 'wren', value: 'Walk.' })
    const echo = await pages.listen()
    await echo.evaluate(
      `window.print = () => { globalThis.printed = document.querySelector('.printed h3').textContent }`,
    )
    await echo.click('[data-patient="wren"] button')
    expect(await echo.evaluate('printed')).toBe('wren')
    expect(await echo.locator('.printed, .printed-alone').count()).toBe(0)
    await echo.evaluate(`{
      document.querySelector('#records').classList.add('printed-alone')
      document.querySelector('[data-patient="wren"]').classList.add('printed')
    }`)
    await echo.emulateMedia({ media: 'print' })
    const paper = await onPaper(echo)
    expect(paper).toContain('Walk.')
    expect(paper).not.toContain('rosa-12')
  })

  it('C39: without a connection the paper says of when the list is', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen()
    service.network.cut()
    await echo.waitForSelector('#state[data-state="waiting"]', WAIT)
    await echo.emulateMedia({ media: 'print' })
    const paper = await onPaper(echo)
    expect(paper).not.toMatch(/ now\b/)
    // Nobody has named the clinic.
    expect(paper).toMatch(/(?:^|\n)As of .*A sentence may have been corrected since\./)
    expect(paper).not.toContain('care.test')
  })
})
