/** What holds on every page, and the read-only pages but calibration's, in Chromium against the whole service on a local X Layer. */
import { axeFindings, policyBreaches, tryPolicy } from '@tallystick/page-testing'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { cannotRunReason, fillPick, MARKET, payFor, text, useSite, WAIT } from './site.fixture.ts'

const grouped = (count: number): string => new Intl.NumberFormat('en-GB').format(count)

const isOnPage = (link: string): boolean => new URL(link).hash !== ''

/** The typefaces of a page's numbers, hashes aside, and those that have a hyphen for a minus. */
const NUMBERS = `(() => {
  const parts = [...document.querySelectorAll('.number, .big, dd, #bands strong, svg .tick')]
    .filter((part) => /\\d/.test(part.textContent) && part.closest('.mono, code, pre, .long') === null && part.querySelector('.mono, code') === null && !/[0-9a-f]{16}/.test(part.textContent))
  return {
    faces: [...new Set(parts.map((part) => getComputedStyle(part).fontFamily.split(',')[0]))],
    hyphens: parts.map((part) => part.textContent).filter((text) => /(^|[\\s(])-\\d/.test(text)),
  }
})()`

const IN_BOTH = { inDarkToo: true }

async function linksLead(page: Page): Promise<void> {
  const links = await page.evaluate<string[]>(
    '[...document.querySelectorAll("a[href]")].map((link) => link.href)',
  )
  const inside = links.filter(isOnPage).map((link) => new URL(link).hash)
  for (const id of inside) expect(await page.locator(id).count(), id).toBe(1)
  const outside = [...new Set(links.filter((link) => !isOnPage(link)))]
  for (const link of outside) {
    const { status } = await fetch(link)
    // A service that is not ready answers 503: all that counts is that the path exists.
    expect([200, 503], link).toContain(status)
  }
}

const PATHS = ['/', '/calibration', '/try', '/ledger', '/method'] as const

describe.skipIf(cannotRunReason !== undefined)(
  `pages in a browser ${cannotRunReason ?? ''}`,
  () => {
    const site = useSite()

    describe('the overview', () => {
      it('S4: shows live figures, what each grade returned, and a first paid request to copy', async () => {
        const { column, ledger } = await site.calibration()
        const page = await site.visit('/')
        await expect.poll(() => text(page, '#settled'), WAIT).toBe(grouped(column.total.n))
        expect(await text(page, '#entries')).toBe(grouped(ledger.as_of_seq))
        expect(await text(page, '#bands li[data-band="F"]')).toContain(
          `${grouped(column.bands[5]?.n ?? 0)} settled picks`,
        )
        expect(await page.locator('#bands li').count()).toBe(6)
        await expect.poll(() => text(page, '#signer'), WAIT).toMatch(/ledger/)
        expect(await page.content()).toContain('client.setSpendControls(')
      })

      it('marks synthetic data', async () => {
        const page = await site.visit('/')
        await expect.poll(() => page.isVisible('#synthetic'), WAIT).toBe(true)
      })
    })

    describe('the overview and the forms', () => {
      it.each(['/', '/try'])('%s begins with an example card, marked as made up', async (path) => {
        const page = await site.visit(path)
        await page.waitForSelector('[data-outcome="GRADED"]', WAIT)
        expect(await text(page, '[data-outcome="GRADED"] .sides')).toContain('Won')
        expect(await text(page, 'main')).toMatch(/made[- ]up/)
        expect(await page.locator('[data-outcome="GRADED"] a').count()).toBe(0)
      })
    })

    describe('the ledger', () => {
      it('G7: an entry is read in words, turned to by its address, and checked in the browser by the code that is shown', async () => {
        const page = await site.visit('/ledger')
        await page.waitForSelector('#rows tr', WAIT)
        expect(await page.locator('#rows tr').count()).toBe(20)
        await page.click('#rows tr:nth-child(3) a')
        await page.waitForSelector('#entry article', WAIT)
        await page.click('#check')
        await page.waitForSelector('#checks li', WAIT)
        const outcomes = await page.evaluate<string[]>(
          '[...document.querySelectorAll("#checks li")].map((item) => item.dataset.outcome)',
        )
        expect(outcomes).toEqual(['holds', 'holds', 'holds', 'holds'])
        await page.click('#code-details summary')
        await expect.poll(() => text(page, '#code'), WAIT).toContain('function checkEntry')
        const served = await fetch(
          `${site.service().baseUrl}/pages/@tallystick/grading/src/domain/closes/verify-entry.js`,
        )
        expect(await text(page, '#code')).toBe(await served.text())
      })

      it('an attack: an answer with another price fails its check, and says where', async () => {
        const page = await site.visit('/ledger?entry=0')
        await page.waitForSelector('#entry article', WAIT)
        await page.route('**/api/ledger/0', async (route) => {
          const answer = await route.fetch()
          await route.fulfill({
            response: answer,
            json: { ...(await answer.json()), hash: '0'.repeat(64) },
          })
        })
        await page.click('#check')
        await page.waitForSelector('#checks [data-outcome="fails"]', WAIT)
        expect(await text(page, '#checks')).toContain('Its proof leads from the leaf to the root')
      })

      it('pages turn, and a number that is none is asked about', async () => {
        const page = await site.visit('/ledger')
        await page.waitForSelector('#rows tr', WAIT)
        const newest = await text(page, '#rows tr:first-child td')
        await page.click('#pages a')
        await page.waitForSelector('#rows tr', WAIT)
        expect(await text(page, '#rows tr:first-child td')).not.toBe(newest)
        await page.fill('#number', 'x')
        await page.click('#go button')
        expect(await text(page, '#number-problem')).toContain('number of an entry')
      })
    })

    describe('an audit’s own page', () => {
      it('G5: is shared by its link, shows the cards, and checks them in the browser', async () => {
        const payer = await site.visitWithKey('agent-2')
        await payer.check('input[value="audit"]')
        await payer.fill('#picks', `${MARKET}, home, 1.95\n${MARKET}, draw, 3.60`)
        await payFor(payer, 'AUDIT')
        const link = await payer.getAttribute('#outcome a[href^="/audit/"]', 'href')
        const page = await site.visit(link ?? '')
        await page.waitForSelector('#audit [data-outcome="AUDIT"]', WAIT)
        expect(await page.locator('#audit [aria-label="The cards"] tbody tr').count()).toBe(2)
        await page.click('#check')
        await expect.poll(() => text(page, '#progress'), WAIT).toContain('Everything')
        expect(await page.locator('#checks [data-outcome="fails"]').count()).toBe(0)
        expect(await axeFindings(page)).toEqual([])
        await page.setViewportSize({ width: 390, height: 800 })
        const width = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect(width).toBeLessThanOrEqual(390)
      })

      it('an address without an audit says so, without a script', async () => {
        const page = await site.visit('/audit/none', { javaScriptEnabled: false })
        site.forgive()
        expect(await text(page, 'main')).toContain('There is no audit under this address')
      })
    })

    describe('the method', () => {
      it('works the case: won, price worse than the close, a poor grade', async () => {
        const page = await site.visit('/method')
        const sides = await text(page, '.sides')
        expect(sides).toContain('Won')
        expect(sides).toContain('D')
        expect(await text(page, 'main')).toContain('4.9 % worse than the close')
      })
    })

    describe('every page', () => {
      it.each(PATHS)(
        '%s fits a phone of 360 px, its links lead somewhere, its numbers are of one typeface with one minus, and its policy keeps injected markup, scripts, styles and requests elsewhere from running',
        async (path) => {
          const page = await site.visit(path, { viewport: { width: 360, height: 740 } })
          if (path === '/calibration') await page.waitForSelector('#study-plot .mark', WAIT)
          const width = await page.evaluate<number>('document.documentElement.scrollWidth')
          expect(width).toBeLessThanOrEqual(360)
          await linksLead(page)
          const { faces, hyphens } = await page.evaluate<Record<string, string[]>>(NUMBERS)
          expect(faces?.slice(1)).toEqual([])
          expect(hyphens).toEqual([])
          const { shown, ...trial } = await tryPolicy(page)
          expect(trial).toEqual({ markup: 'TypeError', elsewhere: 'kept', ran: false })
          expect(shown).not.toBe('none')
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
          site.forgive()
        },
      )

      it.each(PATHS)(
        '%s is answered 304 while it has not changed, and 405 to a POST',
        async (path) => {
          const url = `${site.service().baseUrl}${path}`
          const first = await fetch(url)
          const etag = first.headers.get('etag') ?? ''
          const second = await fetch(url, { headers: { 'if-none-match': etag } })
          expect([first.status, second.status]).toEqual([200, 304])
          expect((await fetch(url, { method: 'POST' })).status).toBe(405)
          const head = await fetch(url, { method: 'HEAD' })
          expect(head.headers.get('content-security-policy')).toContain("default-src 'none'")
        },
      )

      it('axe finds nothing on any page, light or dark', async () => {
        const page = await site.visit('/', { colorScheme: 'light', reducedMotion: 'reduce' })
        await page.waitForSelector('#synthetic:visible', WAIT)
        expect(await axeFindings(page, IN_BOTH), '/').toEqual([])
        const ready = {
          '/calibration': '#study-plot .mark',
          '/method': '.sides',
          '/ledger': '#rows tr',
          '/ledger?entry=0': '#rows tr',
        }
        for (const [path, selector] of Object.entries(ready)) {
          await page.goto(new URL(path, page.url()).href)
          await page.waitForSelector(selector, WAIT)
          expect(await axeFindings(page, IN_BOTH), path).toEqual([])
        }
        const form = await site.visitWithKey('agent-2', { reducedMotion: 'reduce' })
        expect(await axeFindings(form, IN_BOTH), 'the forms').toEqual([])
        await form.fill('#find-text', 'synthetic')
        await form.click('#find button[type=submit]')
        await form.waitForSelector('.found li', WAIT)
        await fillPick(form, { odds: 'none' })
        await form.click('#grade-send')
        await form.waitForSelector('#odds[aria-invalid]', WAIT)
        expect(await axeFindings(form, IN_BOTH), 'the forms with a problem').toEqual([])
        await fillPick(form, { odds: '1.90' })
        await payFor(form, 'GRADED')
        expect(await axeFindings(form, IN_BOTH), 'a card').toEqual([])
        await form.check('input[value="audit"]')
        await form.fill('#picks', `${MARKET}, home, 1.95\n${MARKET}, draw, 3.60`)
        await payFor(form, 'AUDIT')
        expect(await axeFindings(form, IN_BOTH), 'an audit').toEqual([])
      })
    })
  },
)
