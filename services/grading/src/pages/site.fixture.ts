/**
 * What the pages' browser tests share: one Chromium and one service over a local X Layer per file, pages that are watched
 * for faults and closed, and the few gestures that every test makes.
 */
import type { XLayerAccount } from '@tallystick/devnet'
import {
  chromiumMissing,
  launchChromium,
  type WatchedPage,
  watchPage,
} from '@tallystick/page-testing'
import type { Browser, BrowserContextOptions, ConsoleMessage, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { seedLedger } from '../seed/synthetic-fixtures.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'
import {
  type RunningService,
  startXLayerFixture,
  type XLayerFixture,
} from '../testing/xlayer.fixture.ts'
import type { CalibrationAnswer } from '../wire/calibration.ts'

/** Why the pages cannot be tested on this machine, in parentheses; undefined if they can. */
export const cannotRunReason = chromiumMissing === undefined ? undefined : `(${chromiumMissing})`

/** A name that is not a loopback name but resolves here. */
export const OTHER_HOST = 'grading.test'

/** Chromium logs every 400 and 402 as an error; here they are answers. */
const isProvoked = (message: ConsoleMessage): boolean =>
  /status of 40[02]/.test(message.text()) &&
  /\/api\/(grade|audit|coverage)$/.test(message.location().url)

/** The longest that a test's condition may take on a busy machine. */
export const WAIT = { timeout: 120_000 }
/** Enough synthetic matches for every band; a tenth of those under `npm start`. */
const SEEDED_MATCHES = 200

export const MARKET = 'soccer/epl.20260601.ars-che/1x2/ft'
/** Team names that are markup. */
export const HOSTILE = '<img src=x onerror="alert(1)">'
export const HOSTILE_MARKET = 'soccer/epl.20260602.evil/1x2/ft'
/** A real market with prices before its close, so that the real truth table is not empty. */
const hostileEvent = sampleEvent({
  path: 'soccer/epl.20260602.evil',
  home: HOSTILE,
  away: 'Villa',
  startAtSeconds: START_SECONDS + 86_400,
})

/** The service's pages in a browser, one page per visit. */
export type Site = {
  readonly service: () => RunningService
  readonly xlayer: () => XLayerFixture
  /** What the service says of every recorded price by the fair close. */
  calibration(): Promise<{
    readonly column: CalibrationAnswer['columns'][number]
    readonly ledger: CalibrationAnswer['ledger']
    readonly study: CalibrationAnswer['reference_study']
  }>
  visit(path: string, options?: BrowserContextOptions): Promise<Page>
  /** Opens the forms through a link that carries the key of a local chain's agent. */
  visitWithKey(name: string, options?: BrowserContextOptions): Promise<Page>
  /** An account's token balance, base units. */
  balanceOf(account: XLayerAccount): Promise<bigint>
  /** Forgets the faults so far: the test provoked them, not the page. */
  forgive(): void
}

async function fillLedger({ store }: RunningService): Promise<void> {
  await seedLedger({ store, nowSeconds: Date.now() / 1_000, pastMatches: SEEDED_MATCHES })
  const ourMatch = sampleObservation({ closes: [samplePrices()], outcomes: scored(2, 1) })
  const hostile = sampleObservation({
    event: hostileEvent,
    closes: [samplePrices({ capturedAtSeconds: hostileEvent.startAtSeconds - 300 })],
    outcomes: scored(0, 0),
  })
  await store.ingest(sampleBatch([ourMatch, hostile]))
}

/** Registers the hooks of a file; a fault on any page fails the current test. */
export function useSite(): Site {
  let browser: Browser
  let xlayer: XLayerFixture
  let service: RunningService
  const opened: WatchedPage[] = []
  beforeAll(async () => {
    browser = await launchChromium([`--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`])
    xlayer = await startXLayerFixture()
    service = await xlayer.startService('pages.db')
    await fillLedger(service)
  })
  afterAll(async () => {
    await browser.close()
    await xlayer.stop()
  })
  afterEach(async () => {
    const faults = opened.flatMap((watched) => watched.faults)
    for (const { page } of opened.splice(0)) await page.context().close()
    if (faults.length > 0) throw new Error(`The pages had faults:\n${faults.join('\n')}`)
  })
  const visit = async (path: string, context: BrowserContextOptions = {}): Promise<Page> => {
    const { port } = new URL(service.baseUrl)
    const watched = await watchPage(browser, { context, isProvoked, port })
    opened.push(watched)
    await watched.page.goto(new URL(path, service.baseUrl).href)
    return watched.page
  }
  return {
    service: () => service,
    xlayer: () => xlayer,
    async calibration() {
      const answer = await fetch(`${service.baseUrl}/api/calibration`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ filters: { basis: 'fair', population: 'mechanical' } }),
      })
      const read = (await answer.json()) as CalibrationAnswer
      const [column] = read.columns
      if (column === undefined) throw new Error('calibration has no column')
      return { column, ledger: read.ledger, study: read.reference_study }
    },
    visit,
    async visitWithKey(name, options) {
      const page = await visit(`/try#key=${xlayer.account(name).privateKey}`, options)
      await page.waitForSelector('#payer-words:has-text("development key")', WAIT)
      return page
    },
    balanceOf: ({ address }) => xlayer.chain.controls.balanceOf(address),
    forgive() {
      for (const watched of opened) watched.faults.length = 0
    },
  }
}

/** Fills a pick into the form, bypassing the lookup. */
export async function fillPick(
  page: Page,
  pick: { readonly market?: string; readonly selection?: string; readonly odds: string },
): Promise<void> {
  await page.fill('#market', pick.market ?? MARKET)
  await page.fill('#selection', pick.selection ?? 'home')
  await page.fill('#odds', pick.odds)
}

/** Submits the form and waits for a card with that outcome. */
export async function payFor(page: Page, outcome: string): Promise<void> {
  await page.click(outcome === 'AUDIT' ? '#audit-send' : '#grade-send')
  await page.waitForSelector(`#outcome [data-outcome="${outcome}"]`, WAIT)
}

export const text = (page: Page, selector: string): Promise<string | null> =>
  page.textContent(selector)
