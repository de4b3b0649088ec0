/** What holds on every page, in Chromium against the complete service: real stores, sessions, signatures, speech and network. */
import { axeFindings, policyBreaches, tryPolicy } from '@tallystick/page-testing'
import { describe, expect, it } from 'vitest'
import {
  corrected,
  describePages,
  fillWrite,
  medication,
  newest,
  text,
  USER,
  WAIT,
} from './page-browser.fixture.ts'

const IN_BOTH = { inDarkToo: true }

describePages((pages) => {
  describe('C19: record text reaches a page as text', () => {
    const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>{{baseUrl}}&amp;\u200f'

    it('values, labels and names that are markup are shown verbatim; none of it runs', async () => {
      const service = await pages.start()
      const record = {
        patient: '<b>rosa<script>alert(1)<',
        domain: '"onload=alert(1) x="',
        value: hostile,
        authorId: 'x',
        authorLabel: '<img src=x onerror=alert(3)>',
      }
      await service.write({ ...record, patient: '<b>rosa<svg onload=alert(1)>', value: 'before' })
      await service.write({ ...record, patient: '<b>rosa<svg onload=alert(1)>' })
      const echo = await pages.listen()
      expect(await text(echo, '#records li .said')).toBe(hostile)
      expect(await text(echo, '#records h3')).toBe('<b>rosa<svg onload=alert(1)>')
      await service.write({
        ...record,
        patient: '<b>rosa<svg onload=alert(1)>',
        value: `${hostile}!`,
      })
      await echo.waitForSelector('article[data-kind="correction"]', WAIT)
      expect(await text(echo, `${newest} .now`)).toBe(`${hostile}!`)
      expect(await text(echo, `${newest} .retraction`)).toContain('<img src=x onerror=alert(3)>')
      const overview = await pages.visit('/')
      await overview.waitForSelector('#chains .badge', WAIT)
      const clinician = await pages.visit(`/clinician.html#token=${service.token(USER)}`)
      await fillWrite(clinician, {
        patient: '<b>rosa<svg onload=alert(1)>',
        domain: record.domain,
      })
      await expect.poll(() => text(clinician, '#before'), WAIT).toContain(hostile)
      for (const page of [echo, overview, clinician])
        expect(await page.locator('main img, main b, main svg, main script').count()).toBe(0)
    })

    it('the policy stops injected markup, scripts, styles and requests elsewhere from running', async () => {
      await pages.start()
      const page = await pages.visit('/echo.html')
      expect(await tryPolicy(page)).toEqual({
        markup: 'TypeError',
        elsewhere: 'kept',
        shown: 'block',
        ran: false,
      })
      await expect
        .poll(() => policyBreaches(page))
        .toEqual(
          expect.arrayContaining([
            'connect-src',
            'img-src',
            'style-src-elem',
            'require-trusted-types-for',
          ]),
        )
      pages.forgive()
    })
  })

  describe('the overview', () => {
    it('shows the chains with their verdicts, the checkpoint and the sessions, and holds no sentence', async () => {
      const service = await pages.start()
      await service.write(medication)
      await service.write({ ...medication, value: corrected })
      await service.write({ ...medication, domain: 'plan', audience: 'assistant', value: 'secret' })
      await pages.listen()
      const page = await pages.visit('/')
      await page.waitForSelector('#verdict.good', WAIT)
      expect(await text(page, '#verdict-words')).toBe('The one chain is intact')
      expect(await text(page, '#chains')).toContain('care://rosa-12/medication')
      expect(await text(page, '#version-count')).toBe('2')
      await expect.poll(() => text(page, '#sessions'), WAIT).toBe('1')
      await expect.poll(() => text(page, '#checkpoint-size'), WAIT).toBe('2')
      expect(await text(page, '#checkpoint-root')).toMatch(/^[A-Za-z0-9+/]{43}=$/)
      const whole = await page.content()
      for (const word of ['tablet', 'okafor', 'Okafor', 'care-internal', 'secret'])
        expect(whole).not.toContain(word)
      expect(whole).toContain('curl https://care.test/verify')
    })

    it('an altered chain comes first, BROKEN, with its version', async () => {
      const service = await pages.start()
      await service.write({ ...medication, patient: 'anna-1' })
      await service.write(medication)
      await service.write({ ...medication, value: corrected })
      const slot = {
        patient: medication.patient,
        domain: medication.domain,
        audience: 'user',
      } as const
      await service.place.tamper({
        slot,
        version: 2,
        change: (entry) => entry.replace('one tablet', 'ten tablets'),
      })
      const page = await pages.visit('/')
      await page.waitForSelector('#verdict.bad', WAIT)
      expect(await text(page, '#verdict-words')).toBe('One chain is BROKEN')
      expect(await text(page, '#chains tr:first-child')).toContain('BROKEN at 2')
      expect(await text(page, '#chains tr:first-child')).toContain('rosa-12')
      const echo = await pages.listen()
      expect(await echo.content()).not.toContain('ten tablets')
      expect(await text(echo, newest)).toContain('is not served')
    })
  })

  describe('designed with care', () => {
    it('axe finds nothing on any page, light or dark', async () => {
      const service = await pages.start()
      await service.write(medication)
      await service.write({ ...medication, domain: 'visit', staleAfter: '2020-01-01' })
      const reducedMotion = 'reduce'
      const echo = await pages.listen({ reducedMotion })
      await service.write({ ...medication, value: corrected })
      await echo.waitForSelector('article[data-kind="correction"]', WAIT)
      const overview = await pages.visit('/', { reducedMotion })
      await overview.waitForSelector('#verdict.good', WAIT)
      const clinician = await pages.visit('/clinician.html#secret=wrong', {
        reducedMotion,
      })
      expect(await axeFindings(clinician, IN_BOTH), 'the form').toEqual([])
      await clinician.click('#send')
      expect(await axeFindings(clinician, IN_BOTH), 'the form with problems').toEqual([])
      await fillWrite(clinician, medication)
      await clinician.click('#send')
      await clinician.waitForSelector('text=Refused', WAIT)
      expect(await axeFindings(clinician, IN_BOTH), 'a refusal').toEqual([])
      await clinician.fill('#secret', service.writeSecret)
      await clinician.click('#send')
      await clinician.waitForSelector('text=Version 3 is stored', WAIT)
      expect(await axeFindings(clinician, IN_BOTH), 'an accepted write').toEqual([])
      expect(await axeFindings(echo, IN_BOTH), 'echo, listening').toEqual([])
      expect(await axeFindings(overview, IN_BOTH), 'overview').toEqual([])
      const waiting = await pages.visit('/echo.html', { reducedMotion })
      await waiting.click('#listen button')
      expect(await axeFindings(waiting, IN_BOTH), 'echo, asking for a token').toEqual([])
    })

    it.each(['/', '/clinician.html', '/echo.html'])(
      '%s fits a phone, 390 wide, and zooms to 320',
      async (path) => {
        const service = await pages.start()
        await service.write({ ...medication, patient: 'a'.repeat(80), value: 'w'.repeat(300) })
        const hash = path === '/echo.html' ? `#token=${service.token(USER)}` : ''
        const page = await pages.visit(path + hash, { viewport: { width: 390, height: 800 } })
        if (path === '/') await page.waitForSelector('#chains .badge', WAIT)
        if (hash !== '') await page.waitForSelector('#records li', WAIT)
        await page.evaluate(
          'for (const one of document.querySelectorAll("details")) one.open = true',
        )
        for (const width of [390, 320]) {
          await page.setViewportSize({ width, height: 800 })
          const spill = await page.evaluate<number>(
            'document.documentElement.scrollWidth - innerWidth',
          )
          expect(spill, `${path} at ${width}`).toBeLessThanOrEqual(0)
        }
      },
    )

    it('with reduced motion nothing moves', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen({ reducedMotion: 'reduce' })
      await service.write({ ...medication, value: corrected })
      await echo.waitForSelector('#records .changed', WAIT)
      expect(await echo.evaluate<number>('document.getAnimations().length')).toBe(0)
    })

    it('a correction moves nothing above the records by more than its own text needs', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen({ viewport: { width: 1200, height: 900 } })
      const recordsTop = async () => (await echo.locator('#records').boundingBox())?.y ?? Number.NaN
      const latestHeight = async () =>
        (await echo.locator('#latest').boundingBox())?.height ?? Number.NaN
      const [topBefore, heightBefore] = [await recordsTop(), await latestHeight()]
      await service.write({ ...medication, value: corrected })
      await echo.waitForSelector('#latest[data-voice="speaking"]', WAIT)
      // The fonts decide how many lines the sentence takes.
      const needed = (await latestHeight()) - heightBefore
      expect((await recordsTop()) - topBefore).toBeCloseTo(Math.max(0, needed), 0)
    })
  })
})
