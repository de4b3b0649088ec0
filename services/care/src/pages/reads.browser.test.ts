/** The read log of a person in Chromium: what it says, for whom, and that it keeps nothing of another token. */
import { axeFindings } from '@tallystick/page-testing'
import { expect, it } from 'vitest'
import { corrected, describePages, medication, text, USER, WAIT } from './page-browser.fixture.ts'

describePages((pages) => {
  it('C30: shows who read what and when by name, as of when, and more on request', async () => {
    const environment = {
      READ_AUDIT: 'all',
      BEARER_AUTHOR: 'sub',
      AUTHOR_LABELS: '{"device-1":"Kitchen"}',
    }
    const service = await pages.start({ environment })
    await service.write(medication)
    const echo = await pages.listen()
    await service.write({ ...medication, value: corrected })
    await echo.waitForSelector('article[data-kind="correction"]', WAIT)
    const page = await pages.visit(`/reads.html#token=${service.token(USER)}`)
    await expect.poll(() => text(page, '#signed-in'), WAIT).toContain('Signed in as Kitchen')
    await expect.poll(() => page.locator('#patients option').count(), WAIT).toBe(1)
    await page.fill('#patient', medication.patient)
    const shown = async (): Promise<string> => {
      await page.click('#ask .main')
      await page.waitForSelector('#reads-title:has-text("rosa-12")', WAIT)
      return (await text(page, '#rows')) ?? ''
    }
    await expect.poll(shown, WAIT).toMatch(/Kitchenmedication, version 2read/)
    expect(await text(page, '#as-of')).toMatch(/^As of .*\d.*, for the last 365 days\.$/)
    expect(await page.content()).not.toMatch(/tablet|care:\/\//)
    expect(await axeFindings(page, { inDarkToo: true })).toEqual([])
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 })
      const spill = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect(spill, String(width)).toBeLessThanOrEqual(0)
    }
    await page.click('#sign-out')
    expect(await text(page, '#rows')).toBe('')
  })

  it('C30: refuses a person whom the token does not cover, and says where nothing is recorded', async () => {
    const service = await pages.start()
    const page = await pages.visit(`/reads.html#token=${service.token(`${USER}:ann`)}&patient=bob`)
    await page.click('#ask .main')
    await expect
      .poll(() => text(page, '#as-of'), WAIT)
      .toBe('This token may not read the records of that person.')
    await page.fill('#patient', 'ann')
    await page.click('#ask .main')
    await page.waitForSelector('#not-recorded:visible', WAIT)
    expect(await text(page, '#as-of')).toMatch(/^No read is recorded\. As of /)
    pages.forgive()
  })
})
