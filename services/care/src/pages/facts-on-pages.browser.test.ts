// What a reader must hear of a record, on every page, in Chromium; the rows of the table of facts and doors that need a browser.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFault } from '../testing/doors.fixture.ts'
import { aboutFact, FACTS, type Facts, startFacts } from '../testing/facts.fixture.ts'
import { PAGE_ROWS } from '../testing/pages.fixture.ts'
import { cannotRunReason, openPage, startBrowser } from './page-browser.fixture.ts'

describe.skipIf(cannotRunReason !== undefined)(`C39: pages ${cannotRunReason ?? ''}`, () => {
  let browser: Browser
  let facts: Facts
  beforeAll(async () => {
    ;[browser, facts] = await Promise.all([startBrowser(), startFacts()])
  })
  afterAll(async () => {
    await browser.close()
    await facts.close()
  })

  it.each(Object.keys(PAGE_ROWS))(
    'C34, C37, C40: %s shows what it must of every fact',
    async (name) => {
      const row = PAGE_ROWS[name]
      const { faults, page } = await openPage(browser)
      for (const fact of FACTS) {
        const about = aboutFact(fact)
        const shown = (await row?.ask(page, facts, about)) ?? ''
        expect([fact, findFault(shown, about, row?.[fact] ?? 'nothing')]).toEqual([fact, undefined])
      }
      expect(faults).toEqual([])
      await page.context().close()
    },
  )
})
