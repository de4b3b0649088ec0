/** The timeline of one record in Chromium: what became of it and who heard, for whom, and in which looks. */
import { axeFindings } from '@tallystick/page-testing'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import {
  corrected,
  describePages,
  fillWrite,
  medication,
  text,
  USER,
  WAIT,
} from './page-browser.fixture.ts'

const NAMES = { patient: medication.patient, domain: medication.domain }

/** Asks for the record and waits for the answer. */
async function ask(page: Page, names: Readonly<Record<string, string>> = NAMES): Promise<string> {
  await fillWrite(page, names)
  await page.click('#ask .main')
  await expect.poll(() => text(page, '#as-of'), WAIT).toMatch(/^(As of|There is no|The )/)
  return (await text(page, '#timeline')) ?? ''
}

async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOT_FOLDER']
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

describePages((pages) => {
  it('C52: shows versions, what each took back, a withdrawal, and who read them', async () => {
    const service = await pages.start({
      environment: {
        READ_AUDIT: 'all',
        BEARER_AUTHOR: 'sub',
        AUTHOR_LABELS: '{"device-1":"Kitchen"}',
      },
    })
    await service.write(medication)
    const echo = await pages.listen()
    await service.write({ ...medication, value: corrected })
    await echo.waitForSelector('article[data-kind="correction"]', WAIT)
    await service.write({ ...medication, value: corrected })
    await service.write({ ...medication, value: undefined, status: 'entered-in-error' })
    const token = service.token(USER, 3_600, 'ann')
    const page = await pages.visit(`/timeline.html#token=${token}`)
    // Reads are recorded a moment after they are answered.
    await expect.poll(() => ask(page), WAIT).toMatch(/Read by .*Kitchen/)
    const kinds = await page.evaluate<string[]>(
      'Array.from(document.querySelectorAll("#timeline > li"), (item) => item.dataset.kind)',
    )
    expect(kinds).toEqual(['withdrawn', 'confirmed', 'corrected', 'begun'])
    const items = await page.locator('#timeline > li').allTextContents()
    expect(items[0]).toContain('This record was withdrawn. It was entered in error.')
    expect(items[2]).toContain(`Please disregard “${medication.value}”`)
    expect(items[2]).toContain('No longer holds: version 4 is the newest.')
    expect(items[3]).toContain('Version 1: begun by Dr Okafor')
    expect(await axeFindings(page, { inDarkToo: true })).toEqual([])
    await keepPicture(page, 'timeline-light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await keepPicture(page, 'timeline-dark')
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' })
    await keepPicture(page, 'timeline-forced')
    await page.emulateMedia({ forcedColors: 'none', media: 'print' })
    await keepPicture(page, 'timeline-print')
    await page.emulateMedia({ media: 'screen' })
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 800 })
      const spill = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect(spill, String(width)).toBeLessThanOrEqual(0)
      await keepPicture(page, `timeline-${width}`)
    }
    await page.click('#sign-out')
    expect(await text(page, '#timeline')).toBe('')
  })

  it('C52: a record that the token may not read is like one that is not there, whatever else the page asks', async () => {
    const service = await pages.start({ environment: { READ_AUDIT: 'all' } })
    await service.write({ ...medication, audience: 'assistant', domain: 'suspicion' })
    await service.write(medication)
    const page = await pages.visit(`/timeline.html#token=${service.token(USER)}`)
    const shownTimes = () => text(page, '#as-of')
    for (const domain of ['suspicion', 'nothing-there']) {
      expect(await ask(page, { ...NAMES, domain })).toBe('')
      expect(await shownTimes()).toBe('There is no such record, or not for this token.')
      expect(await page.isVisible('#hearing')).toBe(false)
    }
    expect(await page.content()).not.toContain('Dr Okafor')
    const other = await pages.visit(`/timeline.html#token=${service.token(`${USER}:ann`)}`)
    expect(await ask(other)).toBe('')
    expect(await text(other, '#as-of')).toBe('There is no such record, or not for this token.')
    const both = `${USER} care.read.assistant`
    const assistant = await pages.visit(`/timeline.html#token=${service.token(both)}`)
    expect(await ask(assistant, { ...NAMES, domain: 'suspicion' })).toContain('begun by Dr Okafor')
  })

  it('C52: only the newest are read of a long chain, a service that is gone is said, and where nothing is recorded', async () => {
    const service = await pages.start()
    for (let version = 1; version <= 23; version += 1)
      await service.write({ ...medication, value: `Sentence ${version}.` })
    const page = await pages.visit(`/timeline.html#token=${service.token(USER)}`)
    expect(await ask(page)).toContain('Sentence 23.')
    expect(await page.locator('#timeline > li').count()).toBe(20)
    expect(await text(page, '#older')).toBe('Versions before 4 are not shown.')
    expect(await text(page, '#hearing')).toContain('does not record reads now')
    service.network.cut()
    await page.click('#ask .main')
    await expect.poll(() => text(page, '#as-of'), WAIT).toBe('The service does not answer.')
    expect(await text(page, '#timeline')).toBe('')
    pages.forgive()
  })
})
