// Access's pages in a browser, beside a ledger on which an agent has paid: what they show, in light, dark, forced colours and on
// paper, on a phone and without a script.
import {
  axeFindings,
  chromiumMissing,
  launchChromium,
  policyBreaches,
  tryPolicy,
  type WatchedPage,
  watchPage,
} from '@tallystick/page-testing'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { payForAccess } from './pay-on-stack.ts'

const { access, agents } = inject('stack').description
/** A condition's longest, milliseconds, on a busy machine. */
const WAIT = { timeout: 120_000 }

let browser: Browser
let address = ''
const opened: WatchedPage[] = []

async function visit(path: string, context: BrowserContextOptions = {}): Promise<Page> {
  const { port } = new URL(access.baseUrl)
  const watched = await watchPage(browser, { context, port })
  opened.push(watched)
  await watched.page.goto(access.baseUrl + path)
  return watched.page
}

async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOT_FOLDER']
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

const PAGES = ['/', '/agent', '/earnings'] as const
const withAgent = (path: (typeof PAGES)[number]): string =>
  path === '/agent' ? `/agent?agent=${address}` : path

describe.skipIf(chromiumMissing !== undefined)(
  `access’s pages in a browser ${chromiumMissing ?? ''}`,
  () => {
    beforeAll(async () => {
      browser = await launchChromium()
      const agent = agents.at(-1)
      if (agent === undefined) throw new Error('the stack has no agent')
      address = agent.evmAddress
      const paid = await payForAccess(agent, access)
      if (!paid.ok) throw new Error(`the payment was answered ${paid.status}`)
    })
    afterAll(() => browser.close())
    afterEach(async () => {
      const faults = opened.flatMap((watched) => watched.faults)
      for (const { page } of opened.splice(0)) await page.context().close()
      if (faults.length > 0) throw new Error(`the pages had faults:\n${faults.join('\n')}`)
    })

    it('A28: an agent’s window runs down, renews itself before the reader’s eyes, and its opening is told', async () => {
      const page = await visit('/agent')
      await page.fill('#agent', address)
      await page.click('form button')
      await expect.poll(() => page.locator('[data-kind="opened"]').count(), WAIT).toBe(1)
      const timeLeft = () => page.textContent('#time-left')
      const first = await timeLeft()
      await expect.poll(timeLeft, WAIT).not.toBe(first)
      await expect.poll(() => page.locator('[data-kind="renewed"]').count(), WAIT).not.toBe(0)
    })

    it('A28: earnings and costs are columns and rows of the same windows', async () => {
      const page = await visit('/earnings', { javaScriptEnabled: false })
      const rows = () => page.locator('tbody tr').count()
      await expect
        .poll(async () => {
          await page.reload()
          return (await rows()) > 0 && (await page.locator('rect.up[height="0"]').count()) < 24
        }, WAIT)
        .toBe(true)
      expect([await rows(), await page.locator('rect.up').count()]).toEqual([24, 24])
      expect(await page.getAttribute('figure svg', 'aria-label')).toMatch(/earned [\d.]+ HBAR/)
    })

    it('without a script the form asks, and the page has everything', async () => {
      const page = await visit('/agent', { javaScriptEnabled: false })
      await page.fill('#agent', address)
      await page.click('form button')
      expect(page.url()).toContain(`/agent?agent=${address}`)
      expect(await page.textContent('#time-left')).toMatch(/^\d+ s of \d+ s$/)
      expect(await page.locator('#events-title').count()).toBe(1)
    })

    it('a service that is gone leaves a sentence beside what was shown', async () => {
      const page = await visit(withAgent('/agent'))
      await page.context().setOffline(true)
      await expect
        .poll(() => page.textContent('#silence'), WAIT)
        .toContain('The service does not answer. This is as it was at')
      expect(await page.locator('#time-left').count()).toBe(1)
      for (const watched of opened) watched.faults.length = 0
    })

    it.each(PAGES)(
      '%s: axe finds nothing in light or dark, it fits a phone, and its policy holds',
      async (path) => {
        const page = await visit(withAgent(path), { viewport: { width: 390, height: 844 } })
        expect(await axeFindings(page, { inDarkToo: true })).toEqual([])
        const width = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect(width).toBeLessThanOrEqual(390)
        const name = `access${path.replace('/', '-')}`
        await keepPicture(page, `${name}-phone`)
        await page.setViewportSize({ width: 1_200, height: 900 })
        await keepPicture(page, `${name}-light`)
        await page.emulateMedia({ colorScheme: 'dark' })
        await keepPicture(page, `${name}-dark`)
        await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' })
        await keepPicture(page, `${name}-forced`)
        await page.emulateMedia({ forcedColors: 'none', media: 'print' })
        await keepPicture(page, `${name}-print`)
        await page.emulateMedia({ media: 'screen' })
        const { shown, ...trial } = await tryPolicy(page)
        expect(trial).toEqual({ markup: 'TypeError', elsewhere: 'kept', ran: false })
        expect(shown).not.toBe('none')
        await expect
          .poll(() => policyBreaches(page))
          .toEqual(expect.arrayContaining(['style-src-elem', 'img-src', 'connect-src']))
        for (const watched of opened) watched.faults.length = 0
      },
    )
  },
)
