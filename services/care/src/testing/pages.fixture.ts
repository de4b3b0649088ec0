// What each page shows of each fact of a record, in a browser.
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { fillWrite, text, WAIT } from '../pages/page-browser.fixture.ts'
import type { Shown } from './doors.fixture.ts'
import type { About, Fact, Facts } from './facts.fixture.ts'

type PageRow = Readonly<Record<Fact, Shown>> & {
  /** Opens the page at its address, shows the record on it if it is there, and gives the text. */
  readonly ask: (page: Page, facts: Facts, about: About) => Promise<string>
}

const AGES = {
  stale: /Past its review date: last changed 2 days ago by Dr Osei\./,
  age: /Changed 2 days ago by Dr Osei\./,
  language: /Geändert vorgestern von Dr Osei\./,
} as const
const NAMED = {
  superseded: 'name alone',
  withdrawn: 'name alone',
  erased: 'name alone',
  stale: 'name alone',
  age: 'name alone',
  language: 'name alone',
} as const

/** By the name of its markup. */
export const PAGE_ROWS: Readonly<Record<string, PageRow>> = {
  // Where /verify is public: the names of all chains.
  overview: {
    ask: async (page, { url }) => {
      await page.goto(url)
      await page.waitForSelector('#chains .badge', WAIT)
      return (await text(page, '#chains')) ?? ''
    },
    ...NAMED,
  },
  echo: {
    ask: async (page, { token, url }, { uri }) => {
      await page.goto(`${url}/echo.html#token=${token}`)
      await page.waitForSelector('#records[aria-busy="false"]', WAIT)
      const card = page.locator(`#records li[data-uri="${uri}"]`)
      return (await card.allTextContents()).join()
    },
    superseded: /^(?!.*one sachet).*Take two sachets\./,
    withdrawn: 'nothing',
    erased: 'nothing',
    ...AGES,
  },
  clinician: {
    ask: async (page, { token, url }, { domain, patient }) => {
      await page.goto(`${url}/clinician.html#token=${token}`)
      const before = async () => (await text(page, '#before')) ?? ''
      const without = await before()
      await fillWrite(page, { patient, domain })
      await expect.poll(before, WAIT).not.toBe(without)
      return before()
    },
    superseded: /^(?!.*one sachet).*Take two sachets\./,
    withdrawn: /This record was withdrawn\. It was entered in error\./,
    erased: 'nothing',
    ...AGES,
  },
  reads: {
    ask: async (page, { noteRead, token, url }, about) => {
      await noteRead(about)
      await page.goto(`${url}/reads.html#token=${token}`)
      await page.fill('#patient', about.patient)
      await page.click('#ask .main')
      await page.waitForSelector('#rows td', WAIT)
      return (await text(page, '#rows')) ?? ''
    },
    ...NAMED,
  },
  timeline: {
    ask: async (page, { token, url }, { domain, patient }) => {
      await page.goto(`${url}/timeline.html#token=${token}`)
      await fillWrite(page, { patient, domain })
      await page.click('#ask .main')
      const state = async () => (await text(page, '#as-of')) ?? ''
      await expect.poll(state, WAIT).toMatch(/^As of|^There is no/)
      return (await text(page, '#timeline')) ?? ''
    },
    superseded: /Take two sachets\..*Take one sachet\..*No longer holds: version 2 is the newest\./,
    withdrawn: /This record was withdrawn\. It was entered in error\./,
    erased: 'nothing',
    ...AGES,
  },
}
