/**
 * Shared by the pages' browser tests: one Chromium per file, one service per test, pages that are watched for faults and
 * closed, and the few gestures that every test makes.
 */
import {
  chromiumMissing,
  launchChromium,
  type WatchedPage,
  watchPage,
} from '@tallystick/page-testing'
import { findProgram } from '@tallystick/service-kit'
import type { Browser, BrowserContextOptions, ConsoleMessage, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { type PageService, startPageService } from './page-service.fixture.ts'

const espeakMissing =
  findProgram('espeak-ng', process.env['PATH'] ?? '') === undefined
    ? 'no espeak-ng in PATH'
    : undefined
const missing = [chromiumMissing, espeakMissing].filter((reason) => reason !== undefined)
/** Why the pages cannot be tested on this machine, in parentheses; undefined if they can. */
export const cannotRunReason = missing.length === 0 ? undefined : `(${missing.join(', ')})`

/** A name that is not a loopback name but still leads here. */
export const OTHER_HOST = 'care.test'

/** Starts Chromium; by default sounds start without a gesture. */
export async function startBrowser(
  options: { readonly mayAutoplay?: boolean } = {},
): Promise<Browser> {
  const { mayAutoplay = true } = options
  const autoplay = mayAutoplay ? 'no-user-gesture-required' : 'document-user-activation-required'
  return await launchChromium([
    `--autoplay-policy=${autoplay}`,
    `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`,
  ])
}

/** What tests provoke on purpose, as Chromium reports it: a cut network, and refusals from these three routes. */
const isProvoked = (message: ConsoleMessage): boolean =>
  message.text().includes('net::ERR_') ||
  (message.text().includes('status of 4') &&
    /\/(mcp|write|principal)$/.test(message.location().url))

/** Opens a page in its own context. */
export async function openPage(
  browser: Browser,
  context: BrowserContextOptions = {},
): Promise<WatchedPage> {
  return await watchPage(browser, { context, isProvoked })
}

/** Longest time that a condition may take on a busy machine. */
export const WAIT = { timeout: 120_000 }
export const USER = 'care.read.user'

export const medication = {
  patient: 'rosa-12',
  domain: 'medication',
  value: 'Take two tablets of amlodipine after breakfast.',
  authorId: 'dr-okafor',
  authorLabel: 'Dr Okafor',
}
export const corrected = 'Take one tablet of amlodipine after breakfast.'
/** The newest entry of the live region. */
export const newest = '#announcement article:first-child'

export const text = (page: Page, selector: string): Promise<string | null> =>
  page.textContent(selector)
export const focusedId = (page: Page): Promise<string> =>
  page.evaluate<string>('document.activeElement?.id ?? ""')

/** Fills fields by their ids. */
export async function fillWrite(
  page: Page,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`#${name}`, value)
}

type Visit = BrowserContextOptions & {
  /** A browser other than the file's. */
  readonly browser?: Browser
  /** A script that runs before the page's own, to take something away from the browser. */
  readonly before?: string
  /** Whether the test moves the page's clock. */
  readonly hasClock?: boolean
}

type PageTests = {
  /** Starts the service of this test. */
  start(options?: {
    readonly hasVoice?: boolean
    readonly environment?: Readonly<Record<string, string>>
  }): Promise<PageService>
  visit(path: string, options?: Visit): Promise<Page>
  /** Opens the echo page by a link with a token, and waits until it listens and has read everything. */
  listen(options?: Visit & { readonly scope?: string }): Promise<Page>
  /** Forgets errors so far: what a test provoked is not a fault of the page. */
  forgive(): void
}

/** Registers a file's hooks; a fault on any page fails the test in which it happened. */
function usePages(): PageTests {
  let browser: Browser
  let service: PageService
  const opened: WatchedPage[] = []
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
  })
  afterEach(async () => {
    const faults = opened.flatMap((watched) => watched.faults)
    for (const { page } of opened.splice(0)) await page.context().close()
    await service.close()
    if (faults.length > 0) throw new Error(`The pages had faults:\n${faults.join('\n')}`)
  })
  const visit = async (path: string, options: Visit = {}): Promise<Page> => {
    const { before, browser: other = browser, hasClock = false, ...context } = options
    const watched = await openPage(other, context)
    opened.push(watched)
    if (before !== undefined) await watched.page.addInitScript(before)
    if (hasClock) await watched.page.clock.install()
    await watched.page.goto(new URL(path, service.url).href)
    return watched.page
  }
  return {
    visit,
    async start({ hasVoice = true, environment = {} } = {}) {
      service = await startPageService({ hasVoice, environment })
      return service
    },
    async listen({ scope = USER, ...options } = {}) {
      const page = await visit(`/echo.html#token=${service.token(scope)}`, options)
      await page.waitForSelector('#state[data-state="live"]', WAIT)
      await page.waitForSelector('#records[aria-busy="false"]', WAIT)
      return page
    },
    forgive() {
      for (const watched of opened) watched.faults.length = 0
    },
  }
}

/** The tests of a file, skipped with the reason if this machine lacks what they need. */
export function describePages(tests: (pages: PageTests) => void): void {
  describe.skipIf(cannotRunReason !== undefined)(
    `pages in a browser ${cannotRunReason ?? ''}`,
    () => {
      tests(usePages())
    },
  )
}
