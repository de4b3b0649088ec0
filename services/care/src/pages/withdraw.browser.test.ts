/** Withdrawing a record on the clinician's page, and how the echo page hears of it (C40). */
import { describe, expect, it } from 'vitest'
import {
  describePages,
  fillWrite,
  medication,
  newest,
  text,
  USER,
  WAIT,
} from './page-browser.fixture.ts'

const BOTH_ACTS = [
  ['entered-in-error', 'It was entered in error'],
  ['wrong-person', 'It was recorded for the wrong person'],
] as const

describePages((pages) => {
  describe('C40: a withdrawal', () => {
    it.each(BOTH_ACTS)(
      'as %s takes the sentence back where it is heard, and the record off the list; the next write brings it back',
      async (act, why) => {
        const service = await pages.start()
        await service.write(medication)
        const echo = await pages.listen()
        await echo.waitForSelector('#records li', WAIT)
        const token = service.token(`care.write ${USER}`, 3_600, 'dr-okafor')
        const clinician = await pages.visit(`/clinician.html#token=${token}`)
        await fillWrite(clinician, {
          patient: 'rosa-12',
          domain: 'medication',
          authorLabel: 'Dr Okafor',
        })
        // It was typed for something else, and stays.
        await clinician.fill('#value', 'Half a sentence')
        await expect.poll(() => text(clinician, '#before'), WAIT).toContain(medication.value)
        await clinician.click('#withdraw summary')
        await clinician.click(`#withdraw [value="${act}"]`)
        await expect.poll(() => text(clinician, '#outcome-title'), WAIT).toBe('Version 2 is stored')
        expect(await clinician.inputValue('#value')).toBe('Half a sentence')
        const withdrawn = `This record was withdrawn. ${why}.`
        await expect.poll(() => text(clinician, '#before'), WAIT).toContain(withdrawn)
        expect(await text(clinician, '#before')).not.toContain('Your sentence is the same')
        expect(await clinician.isHidden('#withdraw')).toBe(true)
        await expect.poll(() => text(echo, `${newest} .now`), WAIT).toBe(withdrawn)
        expect(await text(echo, `${newest} .retraction`)).toBe(
          `Correction from Dr Okafor. Please disregard “${medication.value}” ${withdrawn}`,
        )
        await expect.poll(() => echo.locator('#records li').count(), WAIT).toBe(0)
        await service.write({ ...medication, value: 'Take none.' })
        await expect.poll(() => text(echo, '#records li .said'), WAIT).toBe('Take none.')
        expect(await text(echo, newest)).not.toContain('no longer be read')
      },
    )

    it('while the page was away is heard when it comes back, in the words of what it had shown', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen()
      await echo.waitForSelector('#records li', WAIT)
      service.network.cut()
      await service.write({ ...medication, value: undefined, status: 'entered-in-error' })
      service.network.mend()
      await expect
        .poll(() => text(echo, `${newest} .retraction`), WAIT)
        .toContain(`Please disregard “${medication.value}” This record was withdrawn`)
      expect(await echo.locator('#records li').count()).toBe(0)
      pages.forgive()
    })

    it('of what is not there is refused in words', async () => {
      const service = await pages.start()
      const page = await pages.visit(`/clinician.html#secret=${service.writeSecret}`)
      const { value: _, ...names } = medication
      await fillWrite(page, names)
      await page.click('#withdraw summary')
      await page.click('#withdraw [value="wrong-person"]')
      await expect
        .poll(() => text(page, '#outcome-title'), WAIT)
        .toBe('Not stored: there is no such record')
    })
  })
})
